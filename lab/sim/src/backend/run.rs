//! One run of an application behind the gate: the next thing that happens is at the application, a
//! client who leaves, a time limit of the gate, a refused client who comes again, or a new client,
//! whichever is first.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::time::Duration;

use weir_sched::{Abandoned, BackendGate, Call, CallNext, CallSpec, Time};

use super::application::{Application, Work};
use super::client::{Client, Counted, Request};
use super::model::{LONGEST_RETRY_AFTER, Prepared, span, time};
use super::recovery::Newcomers;
use super::tally::Tally;
use crate::impatient::{Counts, Stream, Waiting, class};

/// The route of all calls.
const ROUTE: u32 = 0;

impl Prepared {
    /// What becomes of the clients; the same for the same seed.
    pub fn run(&self, seed: u64) -> Tally {
        let capacity = self.model.capacity();
        let mut stream = Stream::new(&self.shape, capacity, self.nobody_after, seed);
        let clients = std::iter::from_fn(|| {
            let at = stream.next();
            at.is_finite().then(|| (time(at), self.sizes.size(stream.uniform())))
        });
        run_with(self, clients)
    }
}

/// What becomes of given clients: when they come, in this order, and how many bytes they ask for.
pub(super) fn run_with(prepared: &Prepared, clients: impl Iterator<Item = (Time, f64)>) -> Tally {
    Run::new(prepared, clients).run()
}

struct Run<'a, I: Iterator> {
    prepared: &'a Prepared,
    gate: BackendGate,
    /// When the gate wants to be asked even if nothing happens.
    ask: Time,
    application: Application,
    waiting: Waiting<Request>,
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
            waiting: Waiting::new(0),
            later: BTreeMap::new(),
            coming: coming.peekable(),
            came: 0,
            tally: Tally {
                counts: Counts::new(model.duration, model.interval),
                newcomers: vec![Newcomers::default(); steps.round() as usize],
                ..Tally::default()
            },
            now: Time::ZERO,
            open: 0,
        }
    }

    fn run(mut self) -> Tally {
        while self.now < self.prepared.until || self.open > 0 {
            let (application, deadline) = (self.application.due(), self.deadline());
            let later = self.later.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let arrival = self.coming.peek().map_or(Time::NEVER, |(at, _)| *at);
            let next = application.min(deadline).min(self.ask).min(later).min(arrival);
            if next == Time::NEVER {
                break;
            }
            self.advance(next);
            if application <= next {
                self.application_advances();
            } else if deadline <= next {
                self.client_leaves();
            } else if self.ask <= next {
                self.ask_gate();
            } else if later <= next {
                if let Some((_, client)) = self.later.pop_first() {
                    self.send(client);
                }
            } else if let Some((_, size)) = self.coming.next() {
                self.client_arrives(size);
            }
        }
        self.advance(self.now.max(self.prepared.until));
        self.tally.counts.busy_seconds = self.application.busy.as_secs_f64();
        self.tally.work_seconds = self.application.work.as_secs_f64();
        self.tally.limits.push(self.gate.limit());
        self.tally.patiences.extend(self.gate.patience(ROUTE).map(|time| time.as_secs_f64()));
        self.tally.unfinished = self.open;
        self.tally
    }

    /// When the next client leaves.
    fn deadline(&self) -> Time {
        let patience = span(self.prepared.model.patience);
        self.waiting.front().map_or(Time::NEVER, |request| request.asked + patience)
    }

    /// Time goes on to `next`.
    fn advance(&mut self, next: Time) {
        let (start, end) = self.prepared.window;
        let in_window = next.min(end).since(self.now.max(start)).as_secs_f64();
        self.tally.limit_seconds += f64::from(self.gate.limit()) * in_window;
        self.now = next;
    }

    /// A new client comes, who asks for so many bytes.
    fn client_arrives(&mut self, size: f64) {
        let Prepared { model, window: (start, end), drops, until, .. } = self.prepared;
        let now = self.now;
        let counted = if (*start..*end).contains(&now) {
            Counted::InWindow
        } else if (*drops..*until).contains(&now) {
            Counted::Newcomer
        } else {
            Counted::Not
        };
        self.came += 1;
        let client = Client {
            address: if model.one_address { 0 } else { self.came },
            came: now,
            size,
            service: Duration::from_nanos((size * self.prepared.nanos_per_byte).max(1.0) as u64),
            retries: model.retries,
            counted,
        };
        self.open += u64::from(counted != Counted::Not);
        self.tally.counts.clients[class(size)] += u64::from(client.in_window());
        self.send(client);
    }

    /// A client asks, for the first time or again.
    fn send(&mut self, client: Client) {
        self.tally.counts.events += 1;
        self.tally.counts.tries += u64::from(client.in_window());
        let number = self.waiting.next_number();
        let spec = CallSpec {
            tag: number,
            route: ROUTE,
            priority: 0,
            client: client.address,
            kind: if self.prepared.model.known { client.size.to_bits() } else { 0 },
            deadline: None,
        };
        let call = self.gate.arrive(self.now, spec);
        self.waiting.push(Request { client, asked: self.now, call });
        self.tally.most_waiting = self.tally.most_waiting.max(self.waiting.count());
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
        let Some(one) = self.waiting.get(number) else {
            self.tally.faults += 1;
            self.gate.failed(self.now, call);
            return;
        };
        self.tally.started += u64::from(one.client.in_window());
        self.application.send(self.now, Work { number, call, service: one.client.service });
    }

    /// A client is answered that it cannot be served.
    fn refuse(&mut self, number: u64, retry_after: Duration) {
        self.tally.counts.events += 1;
        let Some(Request { client, .. }) = self.waiting.answer(number) else {
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
            self.count_unanswered(&client);
        }
    }

    /// Something is due at the application.
    fn application_advances(&mut self) {
        let Some(Work { number, call, .. }) = self.application.step(self.now) else { return };
        self.tally.counts.events += 1;
        if let Some(one) = self.waiting.answer(number) {
            self.count_answer(&one);
        }
        self.gate.answered(self.now, call);
        self.gate.ended(self.now, call);
        self.ask_gate();
    }

    fn count_answer(&mut self, one: &Request) {
        let (start, end) = self.prepared.window;
        if let Some(length) = self.prepared.model.interval
            && (start..end).contains(&self.now)
        {
            self.tally.counts.answer_at(self.now.since(start).as_secs_f64(), length);
        }
        let client = &one.client;
        let response = self.now.since(client.came).as_secs_f64();
        match client.counted {
            Counted::Not => return,
            Counted::Newcomer => self.count_newcomer(client, response, false),
            Counted::InWindow => {
                let answer = self.now.since(one.asked).as_secs_f64();
                let service = client.service.as_secs_f64();
                self.tally.counts.answered(client.size, service, response);
                self.tally.answer_seconds += answer;
                self.tally.answers.add(answer);
            }
        }
        self.open -= 1;
    }

    /// A client has waited long enough: it leaves, and may ask again.
    fn client_leaves(&mut self) {
        let Some((_, Request { client, call, .. })) = self.waiting.leave() else { return };
        self.tally.counts.events += 1;
        let counted = u64::from(client.in_window());
        self.tally.counts.tries_timed_out += counted;
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
            self.send(again);
        } else {
            self.tally.counts.timed_out += counted;
            self.count_unanswered(&client);
        }
    }

    /// The client has its outcome, and it is no answer.
    fn count_unanswered(&mut self, client: &Client) {
        if client.counted == Counted::Newcomer {
            self.count_newcomer(client, self.prepared.model.whole_patience(), true);
        }
        self.open -= u64::from(client.counted != Counted::Not);
    }

    fn count_newcomer(&mut self, client: &Client, seconds: f64, lost: bool) {
        let after = client.came.since(self.prepared.drops).as_secs_f64();
        if let Some(step) = self.tally.newcomers.get_mut((after / Newcomers::STEP) as usize) {
            step.add(&Newcomers { clients: 1, lost: u64::from(lost), seconds });
        }
    }
}
