//! When the next request is due and which it is, for open-loop, closed-loop and saturating demand
//! alike. The engine takes requests from here and reports their ends.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use weir_workload::Request;

use crate::demand::{Demand, Users};

/// The requests still to come.
pub(crate) struct Schedule {
    kind: Kind,
    /// Nothing starts at this time or later, in seconds.
    until: f64,
    /// The last scheduled start so far, or the end of the demand.
    last: f64,
}

enum Kind {
    Open { next: Option<Request>, rest: Box<dyn Iterator<Item = Request> + Send> },
    Closed { users: Box<dyn Users>, thinking: BinaryHeap<Thinking> },
    Saturate { next: Option<Request>, rest: Box<dyn Iterator<Item = Request> + Send>, room: u32 },
    Ended,
}

/// A request that is due.
pub(crate) struct Due {
    /// When it should start.
    pub(crate) at: f64,
    pub(crate) request: Request,
    /// Who waits for its end, in a closed loop.
    pub(crate) user: Option<u32>,
}

impl Schedule {
    pub(crate) fn new(demand: Demand, duration: Option<f64>) -> Schedule {
        let kind = match demand {
            Demand::Open(mut rest) => Kind::Open { next: rest.next(), rest },
            Demand::Saturate(mut rest, room) => Kind::Saturate { next: rest.next(), rest, room },
            Demand::Closed(users) => Kind::Closed { users, thinking: BinaryHeap::new() },
        };
        let mut schedule = Schedule { kind, until: duration.unwrap_or(f64::INFINITY), last: 0.0 };
        if let Kind::Closed { users, .. } = &schedule.kind {
            for user in 0..users.count() {
                schedule.think(user, 0.0);
            }
        }
        schedule
    }

    /// When the next request is due, in seconds of the run; `None` while that depends on the ends of
    /// others, or when there is none.
    pub(crate) fn next_at(&self) -> Option<f64> {
        let at = match &self.kind {
            Kind::Open { next, .. } => next.as_ref()?.at,
            Kind::Closed { thinking, .. } => thinking.peek()?.at,
            Kind::Saturate { next: Some(_), room: 1.., .. } => 0.0,
            Kind::Saturate { .. } | Kind::Ended => return None,
        };
        Some(at)
    }

    /// The next request, if it is due at `now`.
    pub(crate) fn take(&mut self, now: f64) -> Option<Due> {
        let due = self.next_at()?;
        let at = if matches!(self.kind, Kind::Saturate { .. }) { now } else { due };
        if at > now || at >= self.until {
            return None;
        }
        let due = match &mut self.kind {
            Kind::Open { next, rest } => {
                let request = std::mem::replace(next, rest.next())?;
                Due { at: request.at, request, user: None }
            }
            Kind::Closed { thinking, .. } => {
                let Thinking { at, user, request } = thinking.pop()?;
                Due { at, request, user: Some(user) }
            }
            Kind::Saturate { next, rest, room } => {
                let request = std::mem::replace(next, rest.next())?;
                *room -= 1;
                Due { at: now, request, user: None }
            }
            Kind::Ended => return None,
        };
        self.last = self.last.max(due.at);
        Some(due)
    }

    /// Ends the demand if its time is over and nothing that was due before is still to start.
    pub(crate) fn cut(&mut self, now: f64) {
        let late = match self.kind {
            Kind::Open { .. } | Kind::Closed { .. } => {
                self.next_at().is_some_and(|at| at < self.until)
            }
            Kind::Saturate { .. } | Kind::Ended => false,
        };
        if now < self.until || late {
            return;
        }
        // What is closed or saturating goes on until the end.
        if matches!(self.kind, Kind::Closed { .. } | Kind::Saturate { .. }) {
            self.last = self.until;
        }
        self.kind = Kind::Ended;
    }

    /// A request has ended.
    pub(crate) fn ended(&mut self, user: Option<u32>, now: f64) {
        match (&mut self.kind, user) {
            (Kind::Closed { .. }, Some(user)) => self.think(user, now),
            (Kind::Saturate { room, .. }, _) => *room += 1,
            _ => {}
        }
    }

    /// Nothing more starts.
    pub(crate) fn stop(&mut self) {
        self.kind = Kind::Ended;
    }

    /// Whether no request can come any more, even after others have ended.
    pub(crate) fn is_exhausted(&self) -> bool {
        match &self.kind {
            Kind::Open { next, .. } | Kind::Saturate { next, .. } => next.is_none(),
            Kind::Closed { users, .. } => users.count() == 0,
            Kind::Ended => true,
        }
    }

    /// When [`Schedule::cut`] has something to do.
    pub(crate) fn until(&self) -> f64 {
        if matches!(self.kind, Kind::Ended) { f64::INFINITY } else { self.until }
    }

    /// The last scheduled start, when all have been.
    pub(crate) fn last(&self) -> f64 {
        self.last
    }

    fn think(&mut self, user: u32, now: f64) {
        if let Kind::Closed { users, thinking } = &mut self.kind {
            let step = users.next(user);
            let think = if step.think > 0.0 { step.think } else { 0.0 };
            thinking.push(Thinking { at: now + think, user, request: step.request });
        }
    }
}

/// A closed-loop user who thinks, and what is asked for next.
struct Thinking {
    at: f64,
    user: u32,
    request: Request,
}

impl Ord for Thinking {
    /// The earliest is the greatest, so that a [`BinaryHeap`] yields it first.
    fn cmp(&self, other: &Thinking) -> Ordering {
        other.at.total_cmp(&self.at).then(other.user.cmp(&self.user))
    }
}

impl PartialOrd for Thinking {
    fn partial_cmp(&self, other: &Thinking) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Thinking {
    fn eq(&self, other: &Thinking) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Thinking {}
