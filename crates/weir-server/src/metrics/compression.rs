//! Compression: what was sent compressed, what that took, and what was given up. Counted by `compress`, and
//! by who answers with what it made.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use weir_http::message::coding::Coding;

use super::size_classes::Label;

/// Why something is sent as it is that a client would have taken compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// As much waits as may wait, or results that are being sent take too much memory.
    QueueFull,
    /// What waits has waited for long: the processor has other things to do.
    Busy,
    /// It took longer than a client is to wait.
    TooSlow,
    /// The compressor failed, there is no thread for it, or the content could not be read.
    Failed,
}

const WHY: [(GivenUp, &str); 4] = [
    (GivenUp::QueueFull, "queue full"),
    (GivenUp::Busy, "processor busy"),
    (GivenUp::TooSlow, "too slow"),
    (GivenUp::Failed, "failed"),
];

/// See the module.
#[derive(Debug)]
pub(crate) struct Compression {
    /// In the order of [`Coding::ALL`].
    answers: [Counter; Coding::COUNT],
    given_up: Vec<Counter>,
    processor_time: Counter<f64, AtomicU64>,
    /// Bytes of all results that are there.
    results: Gauge,
}

impl Compression {
    pub(super) fn register(registry: &mut Registry) -> Compression {
        let answers = Family::<Label, Counter>::default();
        let help = "Requests answered with compressed content, or with 304 for it, by coding";
        registry.register("compressed_answers", help, answers.clone());
        let given_up = Family::<Label, Counter>::default();
        let help =
            "Requests answered with content as it is, because compression was given up, by why";
        registry.register("compression_given_up", help, given_up.clone());
        let of = |(_, why)| given_up.get_or_create(&[("why", why)]).clone();
        let all = Compression {
            answers: Coding::ALL
                .map(|coding| answers.get_or_create(&[("coding", coding.name())]).clone()),
            given_up: WHY.into_iter().map(of).collect(),
            processor_time: Counter::default(),
            results: Gauge::default(),
        };
        registry.register_with_unit(
            "compression_processor_time",
            "Processor time that compression has taken",
            Unit::Seconds,
            all.processor_time.clone(),
        );
        let help = "Memory taken by files that were compressed, while they are kept or sent";
        registry.register("compression_cache_bytes", help, all.results.clone());
        all
    }

    /// A request is answered with content in this coding.
    pub(crate) fn answered(&self, coding: Coding) {
        self.answers[coding.place()].inc();
    }

    /// A request is answered with content as it is.
    pub(crate) fn gave_up(&self, why: GivenUp) {
        if let Some(place) = WHY.iter().position(|(known, _)| *known == why) {
            self.given_up[place].inc();
        }
    }

    /// A thread has worked for so long.
    pub(crate) fn spent(&self, time: Duration) {
        self.processor_time.inc_by(time.as_secs_f64());
    }

    /// There is a result of so many bytes.
    pub(crate) fn takes(&self, bytes: usize) {
        self.results.inc_by(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// It is not there any more.
    pub(crate) fn gives_back(&self, bytes: usize) {
        self.results.dec_by(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}
