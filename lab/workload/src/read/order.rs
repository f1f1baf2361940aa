//! Requests in the order of their times: sorted within a window, and spread inside their second
//! where the log has whole seconds. [`super::Trace`] passes its requests through here.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::error::Fault;
use super::limits::MOST_HELD;
use crate::Request;

/// Seconds by which a request may lie after all before it: 366 days. Logs lack months at times, but
/// one time that is wrong would put everything after it out of order.
pub(super) const LONGEST_JUMP: f64 = 366.0 * 86_400.0;

/// Where requests are put whose log says only the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// At times drawn uniformly within the second, in the order of the log. Given how many came in
    /// the second, that is how a Poisson process places them.
    Uniform {
        /// The same seed gives the same times.
        seed: u64,
    },
    /// At equal distances: the `i`th of `n` at `(i + ½) / n`. Smoother than any real traffic.
    Even,
    /// At the start of their second, all at once.
    None,
}

impl Default for Spread {
    fn default() -> Spread {
        Spread::Uniform { seed: 0 }
    }
}

/// Sorts requests that are late by at most a window.
pub(super) struct Window {
    seconds: f64,
    newest: f64,
    arrived: u64,
    held: BinaryHeap<Held>,
}

struct Held {
    request: Request,
    arrived: u64,
}

impl Window {
    pub(super) fn new(seconds: f64) -> Window {
        Window { seconds, newest: f64::NEG_INFINITY, arrived: 0, held: BinaryHeap::new() }
    }

    /// Takes a request; refuses it if one that is later may have been given out already.
    pub(super) fn push(&mut self, request: Request) -> Result<(), Fault> {
        if request.at < self.newest - self.seconds {
            return Err(Fault::Backwards { seconds: self.newest - request.at });
        }
        // The first request is as far from -∞ as can be.
        let ahead = request.at - self.newest;
        // Whole seconds count: a time may have been spread over its own.
        if ahead.floor() > LONGEST_JUMP && self.newest.is_finite() {
            return Err(Fault::Ahead { seconds: ahead });
        }
        // Before the refusal: a later request lets those out that fill the window.
        self.newest = self.newest.max(request.at);
        if self.held.len() >= MOST_HELD {
            return Err(Fault::TooDense);
        }
        self.arrived += 1;
        self.held.push(Held { request, arrived: self.arrived });
        Ok(())
    }

    /// The earliest request, once none can come before it; at the `end` all come out.
    pub(super) fn pop(&mut self, end: bool) -> Option<Request> {
        let first = self.held.peek()?;
        let ready = end || first.request.at <= self.newest - self.seconds;
        if ready { self.held.pop().map(|held| held.request) } else { None }
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    /// The earliest is the greatest, and of equal times the first that came.
    fn cmp(&self, other: &Held) -> Ordering {
        let time = other.request.at.total_cmp(&self.request.at);
        time.then(other.arrived.cmp(&self.arrived))
    }
}

/// Spreads requests inside their second.
pub(super) struct Seconds {
    spread: Spread,
    random: Xoshiro256PlusPlus,
    group: Vec<Request>,
    ready: VecDeque<Request>,
}

impl Seconds {
    pub(super) fn new(spread: Spread) -> Seconds {
        let seed = if let Spread::Uniform { seed } = spread { seed } else { 0 };
        Seconds {
            spread,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            group: Vec::new(),
            ready: VecDeque::new(),
        }
    }

    /// Takes the next request; they come in order.
    pub(super) fn push(&mut self, request: Request) -> Result<(), Fault> {
        if self.spread == Spread::None {
            self.ready.push_back(request);
            return Ok(());
        }
        if self.group.first().is_some_and(|first| first.at != request.at) {
            self.release();
        }
        if self.group.len() >= MOST_HELD {
            return Err(Fault::TooDense);
        }
        self.group.push(request);
        Ok(())
    }

    /// No more requests come in the second that is held.
    pub(super) fn release(&mut self) {
        let count = self.group.len() as f64;
        let mut parts: Vec<f64> = match self.spread {
            Spread::Uniform { .. } => self.group.iter().map(|_| self.random.random()).collect(),
            Spread::Even => (0..self.group.len()).map(|i| (i as f64 + 0.5) / count).collect(),
            Spread::None => vec![0.0; self.group.len()],
        };
        parts.sort_by(f64::total_cmp);
        for (mut request, part) in self.group.drain(..).zip(parts) {
            request.at += part;
            self.ready.push_back(request);
        }
    }

    pub(super) fn pop(&mut self) -> Option<Request> {
        self.ready.pop_front()
    }
}
