//! One run: the next thing that happens is at the application, a client who leaves, a time limit of
//! the gate, a refused client who comes again, or a new client, whichever is first.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::time::Duration;

use weir_sched::{Abandoned, BackendGate, Call, CallNext, CallSpec, Time};

use super::application::{Application, Work};
use super::clients::{Client, Clients, Counts, Try};
use super::model::{LONGEST_RETRY_AFTER, Prepared, span, time};
use super::recovery::Newcomers;
use super::tally::Tally;
use crate::dtoc::{Stream, class};

/// The route of all calls.
const ROUTE: u32 = 0;

/// What happened to the clients in one run.
pub(super) fn run(prepared: &Prepared, seed: u64) -> Tally {
    let capacity = prepared.model.capacity();
    let mut stream = Stream::new(&prepared.shape, capacity, prepared.nobody_after, seed);
    let clients = std::iter::from_fn(|| {
        let at = stream.next();
        at.is_finite().then(|| (time(at), prepared.sizes.size(stream.uniform())))
    });
    run_with(prepared, clients)
}

/// The same for clients of whom it is given when they come, in this order, and how many bytes they
/// ask for.
pub(super) fn run_with(prepared: &Prepared, clients: impl Iterator<Item = (Time, f64)>) -> Tally {
    Run::new(prepared, clients).run()
}

struct Run<'a, I: Iterator> {
    prepared: &'a Prepared,
    gate: BackendGate,
    /// When the gate wants to be asked even if nothing happens.
    ask: Time,
    application: Application,
    clients: Clients,
    /// Refused clients who come again, by when, then by the order in which they were refused.
    later: BTreeMap<(Time, u64), Client>,
    coming: Peekable<I>,
    /// Clients who came so far, in the whole run.
    came: u64,
    tally: Tally,
    now: Time,
    /// Clients who count and have no outcome yet.
    open: u64,
}

impl<'a, I: Iterator<Item = (Time, f64)>> Run<'a, I> {
    fn new(prepared: &'a Prepared, coming: I) -> Run<'a, I> {
        let model = &prepared.model;
        let steps = model.drop.map_or(0.0, |drop| drop.watched / Newcomers::STEP);
        Run {
            prepared,
            gate: BackendGate::new(model.gate),
            ask: Time::NEVER,
            application: Application::new(model.workers, span(model.gap), prepared.window),
            clients: Clients::new(span(model.patience)),
            later: BTreeMap::new(),
            coming: coming.peekable(),
            came: 0,
            tally: Tally {
                seconds: model.duration,
                intervals: vec![0; model.intervals()],
                newcomers: vec![Newcomers::default(); steps.round() as usize],
                ..Tally::default()
            },
            now: Time::ZERO,
            open: 0,
        }
    }

    fn run(mut self) -> Tally {
        while self.now < self.prepared.until || self.open > 0 {
            let (application, deadline) = (self.application.due(), self.clients.deadline());
            let later = self.later.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let arrival = self.coming.peek().map_or(Time::NEVER, |(at, _)| *at);
            let next = application.min(deadline).min(self.ask).min(later).min(arrival);
            if next == Time::NEVER {
                break;
            }
            self.advance(next);
            if application <= next {
                self.application_steps();
            } else if deadline <= next {
                self.leaves();
            } else if self.ask <= next {
                self.ask_gate();
            } else if later <= next {
                if let Some((_, client)) = self.later.pop_first() {
                    self.asks(client);
                }
            } else if let Some((_, size)) = self.coming.next() {
                self.comes(size);
            }
        }
        self.advance(self.now.max(self.prepared.until));
        self.tally.busy_seconds = self.application.busy.as_secs_f64();
        self.tally.work_seconds = self.application.work.as_secs_f64();
        self.tally.limits.push(self.gate.limit());
        self.tally.patiences.extend(self.gate.patience(ROUTE).map(|time| time.as_secs_f64()));
        self.tally.unfinished = self.open;
        self.tally
    }

    /// Time goes on to `next`.
    fn advance(&mut self, next: Time) {
        let (start, end) = self.prepared.window;
        let in_window = next.min(end).since(self.now.max(start)).as_secs_f64();
        self.tally.limit_seconds += f64::from(self.gate.limit()) * in_window;
        self.now = next;
    }

    /// A new client comes, who asks for so many bytes.
    fn comes(&mut self, size: f64) {
        let Prepared { model, window: (start, end), drops, until, .. } = self.prepared;
        let now = self.now;
        let counts = if (*start..*end).contains(&now) {
            Counts::InWindow
        } else if (*drops..*until).contains(&now) {
            Counts::Newcomer
        } else {
            Counts::Not
        };
        self.came += 1;
        let client = Client {
            address: if model.one_address { 0 } else { self.came },
            came: now,
            size,
            service: Duration::from_nanos((size * self.prepared.nanos_per_byte).max(1.0) as u64),
            retries: model.retries,
            counts,
        };
        self.open += u64::from(counts != Counts::Not);
        self.tally.clients[class(size)] += u64::from(client.in_window());
        self.asks(client);
    }

    /// A client asks, for the first time or again.
    fn asks(&mut self, client: Client) {
        self.tally.events += 1;
        self.tally.tries += u64::from(client.in_window());
        let number = self.clients.next_number();
        let spec = CallSpec {
            tag: number,
            route: ROUTE,
            priority: 0,
            client: client.address,
            kind: if self.prepared.model.known { client.size.to_bits() } else { 0 },
            deadline: None,
        };
        let call = self.gate.arrive(self.now, spec);
        self.clients.wait(Try { client, asked: self.now, call });
        self.tally.most_waiting = self.tally.most_waiting.max(self.clients.waiting());
        self.ask_gate();
    }

    /// Does what the gate says until it says nothing more.
    fn ask_gate(&mut self) {
        self.ask = loop {
            match self.gate.next(self.now) {
                CallNext::Start { call, tag } => self.start(call, tag),
                CallNext::Refuse { tag, retry_after, .. } => self.refuse(tag, retry_after),
                // Time goes on before it is asked again.
                CallNext::Full { until: Some(until) } => {
                    break until.max(self.now + Duration::from_nanos(1));
                }
                CallNext::Full { until: None } | CallNext::Idle => break Time::NEVER,
            }
        };
    }

    /// A call goes to the application.
    fn start(&mut self, call: Call, number: u64) {
        let Some(one) = self.clients.get(number) else {
            self.tally.faults += 1;
            self.gate.failed(self.now, call);
            return;
        };
        self.tally.started += u64::from(one.client.in_window());
        self.application.send(self.now, Work { number, call, service: one.client.service });
    }

    /// A client is answered that it cannot be served.
    fn refuse(&mut self, number: u64, retry_after: Duration) {
        self.tally.events += 1;
        let Some(Try { client, .. }) = self.clients.answer(number) else {
            self.tally.faults += 1;
            return;
        };
        self.tally.tries_refused += u64::from(client.in_window());
        let again = client.again().filter(|_| {
            self.prepared.model.retry_refused && retry_after <= span(LONGEST_RETRY_AFTER)
        });
        if let Some(again) = again {
            // The number of the request is as good an order as any, and its own.
            self.later.insert((self.now + retry_after, number), again);
        } else {
            self.tally.refused += u64::from(client.in_window());
            self.unanswered(&client);
        }
    }

    /// Something is due at the application.
    fn application_steps(&mut self) {
        let Some(Work { number, call, .. }) = self.application.step(self.now) else { return };
        self.tally.events += 1;
        if let Some(one) = self.clients.answer(number) {
            self.answered(&one);
        }
        self.gate.answered(self.now, call);
        self.gate.ended(self.now, call);
        self.ask_gate();
    }

    fn answered(&mut self, one: &Try) {
        let (start, end) = self.prepared.window;
        if let Some(length) = self.prepared.model.interval
            && (start..end).contains(&self.now)
        {
            let place = (self.now.since(start).as_secs_f64() / length) as usize;
            if let Some(count) = self.tally.intervals.get_mut(place) {
                *count += 1;
            }
        }
        let client = &one.client;
        let response = self.now.since(client.came).as_secs_f64();
        match client.counts {
            Counts::Not => return,
            Counts::Newcomer => self.newcomer(client, response, false),
            Counts::InWindow => {
                let answer = self.now.since(one.asked).as_secs_f64();
                self.tally.successful[class(client.size)] += 1;
                self.tally.useful_seconds += client.service.as_secs_f64();
                self.tally.useful_bytes += client.size;
                self.tally.response_seconds += response;
                self.tally.answer_seconds += answer;
                self.tally.answers.add(answer);
            }
        }
        self.open -= 1;
    }

    /// A client has waited long enough: it leaves, and may ask again.
    fn leaves(&mut self) {
        let Some(Try { client, call, .. }) = self.clients.leave() else { return };
        self.tally.events += 1;
        let counted = u64::from(client.in_window());
        self.tally.tries_timed_out += counted;
        match self.gate.abandoned(self.now, call) {
            Abandoned::Waiting => {}
            Abandoned::UnderWay => {
                self.tally.left_under_way += counted;
                if client.in_window() {
                    self.tally.wasted_seconds += client.service.as_secs_f64();
                }
            }
            Abandoned::Unknown => self.tally.faults += 1,
        }
        if let Some(again) = client.again() {
            self.asks(again);
        } else {
            self.tally.timed_out += counted;
            self.unanswered(&client);
        }
    }

    /// The client has its outcome, and it is no answer.
    fn unanswered(&mut self, client: &Client) {
        if client.counts == Counts::Newcomer {
            self.newcomer(client, self.prepared.model.whole_patience(), true);
        }
        self.open -= u64::from(client.counts != Counts::Not);
    }

    fn newcomer(&mut self, client: &Client, seconds: f64, lost: bool) {
        let after = client.came.since(self.prepared.drops).as_secs_f64();
        if let Some(step) = self.tally.newcomers.get_mut((after / Newcomers::STEP) as usize) {
            step.add(&Newcomers { clients: 1, lost: u64::from(lost), seconds });
        }
    }
}
