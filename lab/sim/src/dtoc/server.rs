//! One run: the next thing that happens is the next arrival, the next client who leaves or the end
//! of what the server does, whichever is first. No other events exist, so there is no event heap.

use super::clients::{Clients, Try};
use super::line::{Line, Plain, Shortest, Waiting};
use super::meter::Meter;
use super::model::Prepared;
use super::offered::Stream;
use super::strategy::Strategy;
use super::tally::{Tally, class};

/// Most requests that room is made for beforehand.
const ROOM: usize = 1 << 14;

/// What happened to the clients in one run.
pub(super) fn run(prepared: &Prepared, seed: u64) -> Tally {
    let room = prepared.model.queue.min(ROOM);
    match prepared.model.strategy {
        Strategy::SrptPurge => Run::new(prepared, Shortest::new(), seed).run(),
        Strategy::Lifo => Run::new(prepared, Plain::new(room, true), seed).run(),
        _ => Run::new(prepared, Plain::new(room, false), seed).run(),
    }
}

/// What the server does.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    /// Looks at a request that it will drop.
    Dropping,
    /// Answers the request of this number.
    Serving(u64),
}

struct Run<'a, L> {
    prepared: &'a Prepared,
    strategy: Strategy,
    line: L,
    clients: Clients,
    doing: Doing,
    /// When it is done with it, in seconds.
    finish: f64,
    meter: Meter,
    tally: Tally,
    stream: Stream,
    /// When the next client comes.
    arrival: f64,
    /// Clients of the window without an outcome yet.
    open: u64,
}

impl<'a, L: Line> Run<'a, L> {
    fn new(prepared: &'a Prepared, line: L, seed: u64) -> Run<'a, L> {
        let model = &prepared.model;
        let patience = (f64::from(model.retries) + 1.0) * model.timeout;
        let mut stream =
            Stream::new(&model.shape, model.service_rate, prepared.end + patience, seed);
        Run {
            prepared,
            strategy: model.strategy,
            line,
            clients: Clients::new(model.queue.min(ROOM)),
            doing: Doing::Nothing,
            finish: f64::INFINITY,
            meter: Meter::new(model.warm_up, prepared.end, model.check_above),
            tally: Tally {
                seconds: model.duration,
                intervals: vec![0; model.intervals()],
                ..Tally::default()
            },
            arrival: stream.next(),
            stream,
            open: 0,
        }
    }

    fn run(mut self) -> Tally {
        while !(self.meter.over() && self.open == 0) {
            let deadline = self.clients.deadline();
            let now = self.arrival.min(deadline).min(self.finish);
            if self.meter.due <= now {
                self.meter.tick();
            } else if self.finish <= now {
                self.finished(now);
            } else if deadline <= now {
                self.leaves(now);
            } else {
                self.comes(now);
            }
        }
        self.tally.busy_seconds = self.meter.busy;
        if self.strategy.checks() {
            self.tally.check_seconds = self.meter.high_seconds;
        }
        self.tally
    }

    fn comes(&mut self, now: f64) {
        let model = &self.prepared.model;
        let size = self.prepared.sizes.size(self.stream.uniform());
        self.arrival = self.stream.next();
        let service = size * self.prepared.seconds_per_byte;
        let mut one = Try::first(now, now + model.timeout, size, service, model.retries);
        one.counted = now >= model.warm_up && now < self.prepared.end;
        if one.counted {
            self.open += 1;
            self.tally.clients[class(size)] += 1;
        }
        if !self.asks(one, now) && one.counted {
            self.open -= 1;
            self.tally.refused += 1;
        }
    }

    /// A request comes, for the first time or again; whether it was accepted.
    fn asks(&mut self, mut one: Try, now: f64) -> bool {
        self.tally.events += 1;
        let idle = matches!(self.doing, Doing::Nothing);
        let accepted = idle || self.line.len() < self.prepared.model.queue;
        if one.counted {
            self.tally.tries += 1;
            self.tally.accepted += u64::from(accepted);
        }
        if accepted {
            let waiting = Waiting { number: self.clients.next_number(), service: one.service };
            if idle {
                self.clients.wait(one);
                self.begin(waiting, now);
            } else {
                one.place = self.line.push(waiting);
                self.clients.wait(one);
                self.tally.longest_queue = self.tally.longest_queue.max(self.line.len());
            }
        }
        accepted
    }

    /// The server turns to a request.
    fn begin(&mut self, one: Waiting, now: f64) {
        self.meter.begin(now);
        let client = self.clients.get(one.number);
        let mut end = now + one.service;
        let mut drops = false;
        if self.meter.high && self.strategy.checks() {
            end += self.prepared.check;
            let late = self.strategy.drops_late() && client.is_some_and(|c| end > c.deadline);
            drops = client.is_none() || late;
        }
        if drops {
            self.doing = Doing::Dropping;
            self.finish = now + self.prepared.check;
        } else {
            self.tally.begun += u64::from(client.is_some_and(|client| client.counted));
            self.doing = Doing::Serving(one.number);
            self.finish = end;
        }
    }

    /// The server is done with what it did.
    fn finished(&mut self, now: f64) {
        self.tally.events += 1;
        let answered = match self.doing {
            Doing::Serving(number) => self.clients.answer(number),
            Doing::Dropping | Doing::Nothing => None,
        };
        if let Some(one) = answered {
            self.answered(&one, now);
        }
        self.turns(now);
    }

    /// The server takes the next request from the queue.
    fn turns(&mut self, now: f64) {
        if let Some(next) = self.line.pop() {
            self.begin(next, now);
        } else {
            self.doing = Doing::Nothing;
            self.finish = f64::INFINITY;
            self.meter.idle(now);
        }
    }

    fn answered(&mut self, one: &Try, now: f64) {
        let model = &self.prepared.model;
        if let Some(length) = model.interval
            && now >= model.warm_up
            && now < self.prepared.end
            && let Some(count) =
                self.tally.intervals.get_mut(((now - model.warm_up) / length) as usize)
        {
            *count += 1;
        }
        if one.counted {
            self.open -= 1;
            self.tally.successful[class(one.size)] += 1;
            self.tally.useful_seconds += one.service;
            self.tally.useful_bytes += one.size;
            self.tally.response_seconds += now - one.arrived;
        }
    }

    /// A client has waited long enough: it leaves, and may ask again.
    fn leaves(&mut self, now: f64) {
        let Some((number, one)) = self.clients.leave() else { return };
        let counted = u64::from(one.counted);
        self.tally.tries_timed_out += counted;
        if matches!(self.doing, Doing::Serving(served) if served == number) {
            self.tally.timed_out_in_service += counted;
            if self.strategy.aborts() {
                self.tally.events += 1;
                self.turns(now);
            }
        } else if self.strategy.purges() && self.line.remove(one.place, number) {
            self.tally.events += 1;
        }
        if let Some(again) = one.again(now + self.prepared.model.timeout) {
            if !self.asks(again, now) && one.counted {
                self.open -= 1;
                self.tally.refused_again += 1;
            }
        } else if one.counted {
            self.open -= 1;
            self.tally.timed_out += 1;
        }
    }
}
