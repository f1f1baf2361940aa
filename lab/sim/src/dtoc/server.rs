//! One run of Carter's server: the next thing that happens is the next arrival, the next client who
//! leaves or the end of what the server does, whichever is first. No other events exist, so there is
//! no event heap.

use super::line::{Line, Plain, Queued, Shortest};
use super::meter::Meter;
use super::model::Prepared;
use super::request::Request;
use super::strategy::Strategy;
use super::tally::Tally;
use crate::impatient::{Counts, Stream, Waiting, class};

/// Most requests that room is made for beforehand.
const ROOM: usize = 1 << 14;

impl Prepared {
    /// What becomes of the clients; the same for the same seed.
    pub fn run(&self, seed: u64) -> Tally {
        let room = self.model.queue.min(ROOM);
        match self.model.strategy {
            Strategy::SrptPurge => Run::new(self, Shortest::new(), seed).run(),
            Strategy::Lifo => Run::new(self, Plain::new(room, true), seed).run(),
            _ => Run::new(self, Plain::new(room, false), seed).run(),
        }
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
    waiting: Waiting<Request>,
    doing: Doing,
    /// When it is done with that, in seconds.
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
        let end = prepared.end + model.whole_patience();
        let mut stream = Stream::new(&model.shape, model.service_rate, end, seed);
        Run {
            prepared,
            strategy: model.strategy,
            line,
            waiting: Waiting::new(model.queue.min(ROOM)),
            doing: Doing::Nothing,
            finish: f64::INFINITY,
            meter: Meter::new(model.warm_up, prepared.end, model.check_above),
            tally: Tally {
                counts: Counts::new(model.duration, model.interval),
                ..Tally::default()
            },
            arrival: stream.next(),
            stream,
            open: 0,
        }
    }

    fn run(mut self) -> Tally {
        while !(self.meter.over() && self.open == 0) {
            let deadline = self.waiting.front().map_or(f64::INFINITY, |one| one.deadline);
            let now = self.arrival.min(deadline).min(self.finish);
            if self.meter.due <= now {
                self.meter.tick();
            } else if self.finish <= now {
                self.service_ends(now);
            } else if deadline <= now {
                self.client_leaves(now);
            } else {
                self.client_arrives(now);
            }
        }
        self.tally.counts.busy_seconds = self.meter.busy;
        if self.strategy.checks() {
            self.tally.check_seconds = self.meter.high_seconds;
        }
        self.tally
    }

    /// A new client comes.
    fn client_arrives(&mut self, now: f64) {
        let model = &self.prepared.model;
        let size = self.prepared.sizes.size(self.stream.uniform());
        self.arrival = self.stream.next();
        let service = size * self.prepared.seconds_per_byte;
        let one = Request {
            deadline: now + model.timeout,
            arrived: now,
            size,
            service,
            retries: model.retries,
            counted: now >= model.warm_up && now < self.prepared.end,
            place: 0,
        };
        if one.counted {
            self.open += 1;
            self.tally.counts.clients[class(size)] += 1;
        }
        if !self.send(one, now) && one.counted {
            self.open -= 1;
            self.tally.refused += 1;
        }
    }

    /// A client sends a request, for the first time or again; whether the queue takes it.
    fn send(&mut self, mut one: Request, now: f64) -> bool {
        self.tally.counts.events += 1;
        let idle = matches!(self.doing, Doing::Nothing);
        let accepted = idle || self.line.len() < self.prepared.model.queue;
        if one.counted {
            self.tally.counts.tries += 1;
            self.tally.accepted += u64::from(accepted);
        }
        if accepted {
            let queued = Queued { number: self.waiting.next_number(), service: one.service };
            if idle {
                self.waiting.push(one);
                self.begin(queued, now);
            } else {
                one.place = self.line.push(queued);
                self.waiting.push(one);
                self.tally.longest_queue = self.tally.longest_queue.max(self.line.len());
            }
        }
        accepted
    }

    /// The server turns to a request.
    fn begin(&mut self, one: Queued, now: f64) {
        self.meter.begin(now);
        let client = self.waiting.get(one.number);
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
    fn service_ends(&mut self, now: f64) {
        self.tally.counts.events += 1;
        let answered = match self.doing {
            Doing::Serving(number) => self.waiting.answer(number),
            Doing::Dropping | Doing::Nothing => None,
        };
        if let Some(one) = answered {
            self.count_answer(&one, now);
        }
        self.take_next(now);
    }

    /// The server takes the next request from the queue.
    fn take_next(&mut self, now: f64) {
        if let Some(next) = self.line.pop() {
            self.begin(next, now);
        } else {
            self.doing = Doing::Nothing;
            self.finish = f64::INFINITY;
            self.meter.idle(now);
        }
    }

    fn count_answer(&mut self, one: &Request, now: f64) {
        let model = &self.prepared.model;
        if let Some(length) = model.interval
            && now >= model.warm_up
            && now < self.prepared.end
        {
            self.tally.counts.answer_at(now - model.warm_up, length);
        }
        if one.counted {
            self.open -= 1;
            self.tally.counts.answered(one.size, one.service, now - one.arrived);
        }
    }

    /// A client has waited long enough: it leaves, and may ask again.
    fn client_leaves(&mut self, now: f64) {
        let Some((number, one)) = self.waiting.leave() else { return };
        let counted = u64::from(one.counted);
        self.tally.counts.tries_timed_out += counted;
        if matches!(self.doing, Doing::Serving(served) if served == number) {
            self.tally.timed_out_in_service += counted;
            if self.strategy.aborts() {
                self.tally.counts.events += 1;
                self.take_next(now);
            }
        } else if self.strategy.purges() && self.line.remove(one.place, number) {
            self.tally.counts.events += 1;
        }
        if let Some(again) = one.again(now + self.prepared.model.timeout) {
            if !self.send(again, now) && one.counted {
                self.open -= 1;
                self.tally.refused_again += 1;
            }
        } else if one.counted {
            self.open -= 1;
            self.tally.counts.timed_out += 1;
        }
    }
}
