//! The responses of one connection in order of arrival, and the only place that says which of them
//! may be sent: the first, since HTTP/1.1 answers requests in order (RFC 9112 section 9.3.2). Used
//! by the gate's `flows`. A protocol with streams gets its order here.

use super::place_queue::PlaceQueue;

/// Places of a flow's jobs.
#[derive(Debug, Default)]
pub(super) struct FlowJobs {
    in_order: PlaceQueue,
}

impl FlowJobs {
    /// A job arrives behind those that are here.
    pub(super) fn push(&mut self, place: usize) {
        self.in_order.push(place);
    }

    /// The job that may be sent, if it and its connection can take data.
    pub(super) fn head(&self) -> Option<usize> {
        self.in_order.first()
    }

    /// Removes a job. Returns the one that may be sent instead, if that one could not before.
    pub(super) fn remove(&mut self, place: usize) -> Option<usize> {
        let was_head = self.head() == Some(place);
        self.in_order.remove(place);
        self.head().filter(|_| was_head)
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.in_order.iter()
    }
}
