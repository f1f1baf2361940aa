//! Figures of backends, by address. The proxy tells them when `/metrics` or the admin page is asked
//! for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

type Label = [(&'static str, String); 1];
type Count = Family<Label, Counter>;
type Level = Family<Label, Gauge>;
type Seconds = Family<Label, Counter<f64, AtomicU64>>;

/// The figures of all backends.
#[derive(Debug, Default)]
pub(crate) struct Backends {
    up: Level,
    waiting: Level,
    under_way: Level,
    aside: Level,
    limit: Level,
    calls: Count,
    failed: Count,
    refused: Count,
    dead_in_queue: Count,
    dead_in_service: Count,
    dead_while_sending: Count,
    saved: Seconds,
    wasted: Seconds,
}

/// One backend's figures.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// It is not marked unhealthy.
    pub(crate) up: bool,
    pub(crate) waiting: usize,
    pub(crate) under_way: usize,
    pub(crate) aside: usize,
    pub(crate) limit: u32,
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    pub(crate) dead_in_queue: u64,
    pub(crate) dead_in_service: u64,
    pub(crate) dead_while_sending: u64,
    pub(crate) saved: Duration,
    pub(crate) wasted: Duration,
}

impl Backends {
    pub(super) fn register(registry: &mut Registry) -> Backends {
        let all = Backends::default();
        let levels = [
            ("backend_up", "1 unless the backend is marked unhealthy by checks or calls", &all.up),
            ("backend_waiting", "Requests that wait at the backend's gate", &all.waiting),
            ("backend_under_way", "Calls the backend is working on", &all.under_way),
            (
                "backend_aside",
                "Calls the backend is working on that have lasted so long that other calls have their slots",
                &all.aside,
            ),
            (
                "backend_limit",
                "Most calls that may have slots at once, as configured or learned",
                &all.limit,
            ),
        ];
        for (name, help, level) in levels {
            registry.register(name, help, level.clone());
        }
        let counts = [
            ("backend_calls", "Calls sent to the backend", &all.calls),
            (
                "backend_failed_calls",
                "Calls whose connection was refused, closed or reset before an answer",
                &all.failed,
            ),
            (
                "backend_refused",
                "Requests answered with 503 because they waited too long or too many waited",
                &all.refused,
            ),
            (
                "backend_dead_in_queue",
                "Requests whose client left while they waited",
                &all.dead_in_queue,
            ),
            (
                "backend_dead_in_service",
                "Requests whose client left while they had one of the backend's slots",
                &all.dead_in_service,
            ),
            (
                "backend_dead_while_sending",
                "Requests whose client left while the backend was sending the answer, with a slot or without",
                &all.dead_while_sending,
            ),
        ];
        for (name, help, count) in counts {
            registry.register(name, help, count.clone());
        }
        let seconds = [
            (
                "backend_work_saved",
                "Expected work on requests whose client left while they waited",
                &all.saved,
            ),
            ("backend_work_wasted", "Work on requests after their client had left", &all.wasted),
        ];
        for (name, help, count) in seconds {
            registry.register_with_unit(name, help, Unit::Seconds, count.clone());
        }
        all
    }

    /// No route names `backend` any more.
    pub(crate) fn forget(&self, backend: &str) {
        let label: Label = [("backend", backend.to_owned())];
        for level in [&self.up, &self.waiting, &self.under_way, &self.aside, &self.limit] {
            level.remove(&label);
        }
        let counts = [&self.calls, &self.failed, &self.refused, &self.dead_in_queue];
        for count in counts.into_iter().chain([&self.dead_in_service, &self.dead_while_sending]) {
            count.remove(&label);
        }
        for seconds in [&self.saved, &self.wasted] {
            seconds.remove(&label);
        }
    }

    /// These are the figures of `backend` now.
    pub(crate) fn read(&self, backend: &str, reading: &Reading) {
        let label: Label = [("backend", backend.to_owned())];
        let level = |family: &Level, value: i64| family.get_or_create(&label).set(value);
        level(&self.up, i64::from(reading.up));
        level(&self.waiting, reading.waiting as i64);
        level(&self.under_way, reading.under_way as i64);
        level(&self.aside, reading.aside as i64);
        level(&self.limit, i64::from(reading.limit));
        let count = |family: &Count, value| {
            family.get_or_create(&label).inner().store(value, Ordering::Relaxed);
        };
        count(&self.calls, reading.calls);
        count(&self.failed, reading.failed);
        count(&self.refused, reading.refused);
        count(&self.dead_in_queue, reading.dead_in_queue);
        count(&self.dead_in_service, reading.dead_in_service);
        count(&self.dead_while_sending, reading.dead_while_sending);
        let seconds = |family: &Seconds, value: Duration| {
            let bits = value.as_secs_f64().to_bits();
            family.get_or_create(&label).inner().store(bits, Ordering::Relaxed);
        };
        seconds(&self.saved, reading.saved);
        seconds(&self.wasted, reading.wasted);
    }
}
