//! What backends answer, and how soon. The proxy counts each answer when its head has come; what is told of
//! backends otherwise it tells when somebody asks ([`super::Backends`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

type Label = [(&'static str, String); 1];
type StatusLabel = [(&'static str, String); 2];

/// The statuses whose counters are found without a lock: those that HTTP has (RFC 9110, section 15).
const STATUSES: std::ops::Range<u16> = 100..600;

/// The answers of all backends.
#[derive(Clone, Debug)]
pub(crate) struct BackendAnswers {
    times: Family<Label, Histogram>,
    statuses: Family<StatusLabel, Counter>,
}

impl BackendAnswers {
    pub(super) fn register(registry: &mut Registry) -> BackendAnswers {
        let times = Family::<Label, Histogram>::new_with_constructor(times);
        registry.register_with_unit(
            "backend_response_time",
            "From when a call is sent to the head of the backend's answer",
            Unit::Seconds,
            times.clone(),
        );
        let statuses = Family::<StatusLabel, Counter>::default();
        let help = "Answers of the backend by status, whatever became of them";
        registry.register("backend_responses", help, statuses.clone());
        BackendAnswers { times, statuses }
    }

    /// Those of one backend, by its address. Nothing is told of it before its first answer.
    pub(crate) fn of(&self, backend: &str) -> Answers {
        Answers {
            backend: backend.into(),
            all: self.clone(),
            times: OnceLock::new(),
            counters: STATUSES.map(|_| OnceLock::new()).collect(),
            left_while_sending: AtomicU64::new(0),
        }
    }

    /// No route names `backend` any more.
    pub(crate) fn forget(&self, backend: &str) {
        self.times.remove(&of_backend(backend));
        // The label sets that are there cannot be listed, but every status has three digits.
        for status in 100..=999 {
            self.statuses.remove(&of_status(backend, status));
        }
    }
}

fn of_backend(backend: &str) -> Label {
    [("backend", backend.to_owned())]
}

fn of_status(backend: &str, status: u16) -> StatusLabel {
    [("backend", backend.to_owned()), ("status", status.to_string())]
}

/// The answers of one backend.
#[derive(Debug)]
pub(crate) struct Answers {
    backend: Arc<str>,
    all: BackendAnswers,
    times: OnceLock<Histogram>,
    /// By status, from 100 on; made when one first comes.
    counters: Box<[OnceLock<Counter>]>,
    /// Clients that left while an answer was sent to them.
    left_while_sending: AtomicU64,
}

impl Answers {
    /// The backend's address.
    pub(crate) fn backend(&self) -> &Arc<str> {
        &self.backend
    }

    /// Counts an answer whose head has come after this time.
    pub(crate) fn count(&self, status: u16, took: Duration) {
        let times = || self.all.times.get_or_create(&of_backend(&self.backend)).clone();
        self.times.get_or_init(times).observe(took.as_secs_f64());
        let place = status.checked_sub(STATUSES.start).map(usize::from);
        match place.and_then(|place| self.counters.get(place)) {
            Some(counter) => counter.get_or_init(|| self.counter(status)).inc(),
            None => self.counter(status).inc(),
        };
    }

    /// Counts a client that left while an answer was sent to it.
    pub(crate) fn client_left_while_sending(&self) {
        self.left_while_sending.fetch_add(1, Ordering::Relaxed);
    }

    /// How many clients left while an answer was sent to them.
    pub(crate) fn left_while_sending(&self) -> u64 {
        self.left_while_sending.load(Ordering::Relaxed)
    }

    fn counter(&self, status: u16) -> Counter {
        self.all.statuses.get_or_create(&of_status(&self.backend, status)).clone()
    }
}

/// From 1 ms to half a minute.
fn times() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(registry: &Registry) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, registry).unwrap();
        text
    }

    #[test]
    fn answers_are_counted_for_their_backend() {
        let mut registry = Registry::default();
        let all = BackendAnswers::register(&mut registry);
        let (one, other) = (all.of("http://a"), all.of("http://b"));
        one.count(200, Duration::from_millis(3));
        one.count(200, Duration::from_millis(5));
        // No status of HTTP; hyper passes it on all the same.
        one.count(700, Duration::from_millis(1));
        other.count(503, Duration::from_secs(2));
        let text = text(&registry);
        for line in [
            "backend_responses_total{backend=\"http://a\",status=\"200\"} 2",
            "backend_responses_total{backend=\"http://a\",status=\"700\"} 1",
            "backend_responses_total{backend=\"http://b\",status=\"503\"} 1",
            "backend_response_time_seconds_count{backend=\"http://a\"} 3",
            "backend_response_time_seconds_count{backend=\"http://b\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn a_backend_without_routes_is_forgotten() {
        let mut registry = Registry::default();
        let all = BackendAnswers::register(&mut registry);
        let (gone, kept, silent) = (all.of("http://a"), all.of("http://b"), all.of("http://c"));
        for status in [200, 700] {
            gone.count(status, Duration::from_millis(3));
            kept.count(status, Duration::from_millis(3));
        }
        all.forget("http://a");
        let told = text(&registry);
        assert!(!told.contains("http://a") && told.contains("http://b"), "{told}");
        assert!(!told.contains(&**silent.backend()), "{told}");
    }
}
