//! The clients that wait for an answer, in the order in which they lose patience. Since all have
//! the same patience this is the order in which they asked, and a ring does for a heap.

use std::collections::VecDeque;
use std::time::Duration;

use weir_sched::{Call, Time};

/// For what a client counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// Nothing: it came in the warm-up, or after what is watched.
    Not,
    /// It came in the window.
    InWindow,
    /// It came after the load had dropped.
    Newcomer,
}

/// Somebody who wants something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// Its address, as the gate sees it.
    pub(super) address: u64,
    /// When it came for the first time.
    pub(super) came: Time,
    /// What it asks for, in bytes.
    pub(super) size: f64,
    /// How long a worker takes for this.
    pub(super) service: Duration,
    /// How often it will ask again.
    pub(super) retries: u32,
    /// For what it counts.
    pub(super) counts: Counts,
}

impl Client {
    /// The client as it asks again; `None` if it has asked often enough.
    pub(super) fn again(self) -> Option<Client> {
        Some(Client { retries: self.retries.checked_sub(1)?, ..self })
    }

    /// Whether it came in the window.
    pub(super) fn in_window(&self) -> bool {
        self.counts == Counts::InWindow
    }
}

/// One request of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Try {
    /// Who asks.
    pub(super) client: Client,
    /// When it asked.
    pub(super) asked: Time,
    /// The gate's name for it.
    pub(super) call: Call,
}

/// Requests have numbers, in the order in which they were sent.
#[derive(Debug)]
pub(super) struct Clients {
    patience: Duration,
    /// From the number `first` on; `None` once the request has an answer. The front one has none.
    tries: VecDeque<Option<Try>>,
    first: u64,
    waiting: usize,
}

impl Clients {
    pub(super) fn new(patience: Duration) -> Clients {
        Clients { patience, tries: VecDeque::new(), first: 0, waiting: 0 }
    }

    /// The number that the next request gets.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.tries.len() as u64
    }

    /// A client waits for the answer to its request, which is not older than any other.
    pub(super) fn wait(&mut self, one: Try) {
        self.tries.push_back(Some(one));
        self.waiting += 1;
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// When the next client leaves.
    pub(super) fn deadline(&self) -> Time {
        let front = self.tries.front().copied().flatten();
        front.map_or(Time::NEVER, |one| one.asked + self.patience)
    }

    /// The request, if its client still waits.
    pub(super) fn get(&self, number: u64) -> Option<&Try> {
        self.tries.get(usize::try_from(number.checked_sub(self.first)?).ok()?)?.as_ref()
    }

    /// The request has an answer, good or not; `None` if its client has left.
    pub(super) fn answer(&mut self, number: u64) -> Option<Try> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let one = self.tries.get_mut(place)?.take()?;
        self.waiting -= 1;
        self.forget_answered();
        Some(one)
    }

    /// The next client leaves.
    pub(super) fn leave(&mut self) -> Option<Try> {
        let one = self.tries.pop_front()??;
        self.first += 1;
        self.waiting -= 1;
        self.forget_answered();
        Some(one)
    }

    fn forget_answered(&mut self) {
        while self.tries.front().is_some_and(Option::is_none) {
            self.tries.pop_front();
            self.first += 1;
        }
    }
}
