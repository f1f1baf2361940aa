//! What is collected of a request for formats that tell more than its head and its length: route, backend,
//! the time to its first byte, and how long it waited at each gate. A connection keeps one of these and
//! uses it for one request after the other; without such a format there is none.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use weir_sched::Time;

/// A gate at which a request can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateKind {
    /// The uplink's: waiting for grants.
    Uplink,
    /// A disk's: waiting for what is not in memory.
    Disk,
    /// A backend's: waiting for a slot.
    Backend,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Details {
    /// When the request had come.
    begun: Cell<Time>,
    first_byte: Cell<Option<Duration>>,
    /// By the gate.
    waited: [Cell<Duration>; 3],
    route: RefCell<Option<Arc<str>>>,
    backend: RefCell<Option<Arc<str>>>,
}

impl Details {
    /// The next request has come, and takes this route.
    pub(crate) fn begin(&self, begun: Time, route: Option<Arc<str>>) {
        self.begun.set(begun);
        self.first_byte.set(None);
        self.waited.iter().for_each(|waited| waited.set(Duration::ZERO));
        self.route.replace(route);
        self.backend.replace(None);
    }

    /// The kernel has taken the first bytes of the response.
    pub(crate) fn has_begun_to_send(&self, now: Time) {
        if self.first_byte.get().is_none() {
            self.first_byte.set(Some(now.since(self.begun.get())));
        }
    }

    /// It has waited at a gate for so long.
    pub(crate) fn has_waited(&self, at: GateKind, time: Duration) {
        let waited = &self.waited[at as usize];
        waited.set(waited.get() + time);
    }

    /// A backend is called; the last one counts.
    pub(crate) fn calls(&self, backend: &Arc<str>) {
        self.backend.replace(Some(backend.clone()));
    }

    /// From when the request had come to the first byte of its response; `None`: nothing was sent.
    pub(super) fn first_byte(&self) -> Option<Duration> {
        self.first_byte.get()
    }

    /// How long it waited at a gate.
    pub(super) fn waited(&self, at: GateKind) -> Duration {
        self.waited[at as usize].get()
    }

    /// The name of its route, if it took one.
    pub(super) fn route(&self) -> Option<Arc<str>> {
        self.route.borrow().clone()
    }

    /// The address of the backend that was called last, if one was.
    pub(super) fn backend(&self) -> Option<Arc<str>> {
        self.backend.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_begins_anew() {
        let details = Details::default();
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        details.begin(at(100), Some("/app".into()));
        details.calls(&"http://a".into());
        details.calls(&"http://b".into());
        details.has_waited(GateKind::Disk, Duration::from_millis(2));
        details.has_waited(GateKind::Disk, Duration::from_millis(3));
        details.has_begun_to_send(at(107));
        details.has_begun_to_send(at(109));
        assert_eq!(details.first_byte(), Some(Duration::from_millis(7)));
        assert_eq!(details.waited(GateKind::Disk), Duration::from_millis(5));
        assert_eq!(details.waited(GateKind::Uplink), Duration::ZERO);
        assert_eq!(
            (details.route(), details.backend()),
            (Some("/app".into()), Some("http://b".into()))
        );
        details.begin(at(200), None);
        assert_eq!((details.first_byte(), details.waited(GateKind::Disk)), (None, Duration::ZERO));
        assert_eq!((details.route(), details.backend()), (None, None));
    }
}
