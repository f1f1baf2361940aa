//! The requests whose clients still wait, in the order in which they lose patience. Since all have
//! the same patience this is the order in which they asked, and a ring does for a heap. Both models
//! keep their requests here.

use std::collections::VecDeque;

/// Requests have numbers, in the order in which they were sent.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    /// From the number `first` on; `None` once the request has an answer. The front one has none.
    requests: VecDeque<Option<T>>,
    first: u64,
    count: usize,
}

impl<T> Waiting<T> {
    /// Nobody waits; with room for `capacity` requests.
    pub(crate) fn new(capacity: usize) -> Waiting<T> {
        Waiting { requests: VecDeque::with_capacity(capacity), first: 0, count: 0 }
    }

    /// The number that the next request gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.first + self.requests.len() as u64
    }

    /// A client waits for the answer to its request; it leaves no earlier than any other.
    pub(crate) fn push(&mut self, request: T) {
        self.requests.push_back(Some(request));
        self.count += 1;
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The request whose client leaves next.
    pub(crate) fn front(&self) -> Option<&T> {
        self.requests.front()?.as_ref()
    }

    /// The request, if its client still waits.
    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.requests.get(usize::try_from(number.checked_sub(self.first)?).ok()?)?.as_ref()
    }

    /// The request has an answer, good or not; `None` if its client has left.
    pub(crate) fn answer(&mut self, number: u64) -> Option<T> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let request = self.requests.get_mut(place)?.take()?;
        self.count -= 1;
        self.forget_answered();
        Some(request)
    }

    /// The next client leaves: the number of its request and the request.
    pub(crate) fn leave(&mut self) -> Option<(u64, T)> {
        let request = self.requests.pop_front()??;
        let number = self.first;
        self.first += 1;
        self.count -= 1;
        self.forget_answered();
        Some((number, request))
    }

    fn forget_answered(&mut self) {
        while self.requests.front().is_some_and(Option::is_none) {
            self.requests.pop_front();
            self.first += 1;
        }
    }
}
