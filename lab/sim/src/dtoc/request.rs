//! The clients that wait for an answer, in the order in which they lose patience. Since all have
//! the same patience this is the order in which they asked, and a ring does for a heap.

use std::collections::VecDeque;

/// One request that was accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Try {
    /// When the client leaves, in seconds.
    pub(super) deadline: f64,
    /// When the client came for the first time, in seconds.
    pub(super) arrived: f64,
    /// What it asks for, in bytes.
    pub(super) size: f64,
    /// Seconds that this takes.
    pub(super) service: f64,
    /// How often it will ask again.
    pub(super) retries: u32,
    /// Whether the client came within the window that counts.
    pub(super) counted: bool,
    /// Its place in the queue, if the queue gives places.
    pub(super) place: u32,
    answered: bool,
}

impl Try {
    /// The first request of a client that arrives at `now` and leaves at `deadline`.
    pub(super) fn first(now: f64, deadline: f64, size: f64, service: f64, retries: u32) -> Try {
        Try {
            deadline,
            arrived: now,
            size,
            service,
            retries,
            counted: false,
            place: 0,
            answered: false,
        }
    }

    /// What the client sends when it leaves this one, waiting until `deadline`; `None` if it has
    /// asked often enough.
    pub(super) fn again(self, deadline: f64) -> Option<Try> {
        Some(Try { deadline, retries: self.retries.checked_sub(1)?, ..self })
    }
}

/// Requests have numbers, in the order in which they were accepted.
#[derive(Debug)]
pub(super) struct Clients {
    /// From the number `first` on; the front one has no answer.
    tries: VecDeque<Try>,
    first: u64,
}

impl Clients {
    pub(super) fn new(capacity: usize) -> Clients {
        Clients { tries: VecDeque::with_capacity(capacity), first: 0 }
    }

    /// The number that the next request gets.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.tries.len() as u64
    }

    /// A request is accepted. Its deadline is not before that of any other.
    pub(super) fn wait(&mut self, one: Try) {
        self.tries.push_back(one);
    }

    /// When the next client leaves.
    pub(super) fn deadline(&self) -> f64 {
        self.tries.front().map_or(f64::INFINITY, |one| one.deadline)
    }

    /// The request, if its client still waits.
    pub(super) fn get(&self, number: u64) -> Option<&Try> {
        self.tries.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// The request is answered; `None` if its client has left.
    pub(super) fn answer(&mut self, number: u64) -> Option<Try> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let one = self.tries.get_mut(place)?;
        one.answered = true;
        let one = *one;
        self.forget_answered();
        Some(one)
    }

    /// The next client leaves: the number of its request and the request.
    pub(super) fn leave(&mut self) -> Option<(u64, Try)> {
        let one = self.tries.pop_front()?;
        let number = self.first;
        self.first += 1;
        self.forget_answered();
        Some((number, one))
    }

    fn forget_answered(&mut self) {
        while self.tries.front().is_some_and(|one| one.answered) {
            self.tries.pop_front();
            self.first += 1;
        }
    }
}
