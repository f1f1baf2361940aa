//! Whether the body of a request is read while it is answered. Then a client that leaves is noticed by who
//! reads, behind all that it has sent, and by nobody before. Used by [`super::Client`].

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Reading(Cell<bool>);

/// The body is read for as long as this lives.
#[derive(Debug)]
pub(crate) struct BodyReading<'a>(&'a Cell<bool>);

impl Reading {
    /// From now on the body is read.
    pub(super) fn begin(&self) -> BodyReading<'_> {
        self.0.set(true);
        BodyReading(&self.0)
    }

    /// Waits until the body is not read. The task that reads it is the one that waits, so that nobody need
    /// wake it.
    pub(super) async fn over(&self) {
        poll_fn(|_| if self.0.get() { Poll::Pending } else { Poll::Ready(()) }).await;
    }
}

impl Drop for BodyReading<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
