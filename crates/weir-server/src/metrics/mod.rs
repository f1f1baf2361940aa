//! What the server counts, and how Prometheus reads it. Used by all that counts: connections, uplink,
//! disk, proxy; the admin address shows it. Counting is a few atomic additions. docs/metrics.md lists
//! every figure.

mod answers;
mod backends;
mod compression;
mod exposition;
mod fairness;
mod handshakes;
mod kernel_bands;
mod listeners;
mod obtained;
mod process;
#[cfg(test)]
mod reference;
mod size_classes;
mod stalls;
mod waiting;
mod wakes;

use std::time::Duration;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use weir_http::message::status::OWN;

use crate::logs::lines::{self, Kind};

pub(crate) use answers::{Answers, BackendAnswers};
pub(crate) use backends::{Backends, Reading};
pub(crate) use compression::{Compression, GivenUp};
pub(crate) use exposition::Format;
pub(crate) use fairness::{Fairness, Settlement};
pub(crate) use handshakes::{HandshakeEnd, Handshakes};
pub(crate) use kernel_bands::InForce;
pub(crate) use listeners::{Watched, WatchedSockets, listen_overflows, listen_queue};
pub(crate) use obtained::Obtained;
pub use process::Build;
pub(crate) use process::Process;
pub(crate) use size_classes::{Label, SIZES, size_class};
pub(crate) use stalls::{Cause, Stalls};
pub(crate) use waiting::Waiting;
pub(crate) use wakes::{note_event, take_events};

/// A status code as a label.
type Code = [(&'static str, u64); 1];

/// All figures of the server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// Of what is called the same for every program.
    of_process: Registry,
    /// By status codes that the server gives itself.
    responses: Vec<(u16, Counter)>,
    /// By all status codes, those of backends included.
    responses_by_status: Family<Code, Counter>,
    incomplete: Counter,
    bytes: Counter,
    response_time: Vec<Histogram>,
    pub(crate) connections: Gauge,
    pub(crate) accepted: Counter,
    pub(crate) accept_errors: Counter,
    pub(crate) refused_connections: Counter,
    pub(crate) given_up: Counter,
    pub(crate) grants: Counter,
    pub(crate) dead_jobs: Counter,
    pub(crate) pacer_lateness: Histogram,
    pub(crate) events_per_wake: Histogram,
    pub(crate) cache_hits: Counter,
    pub(crate) cache_misses: Counter,
    pub(crate) disk_jobs: Counter,
    pub(crate) disk_refused: Counter,
    pub(crate) disk_merged: Counter,
    pub(crate) stalls: Stalls,
    pub(crate) fairness: Fairness,
    pub(crate) backends: Backends,
    pub(crate) answers: BackendAnswers,
    pub(crate) process: Process,
    pub(crate) waiting: Waiting,
    pub(crate) in_force: InForce,
    pub(crate) handshakes: Handshakes,
    pub(crate) obtained: Obtained,
    pub(crate) compression: Compression,
    /// Set when the figures are read.
    pub(crate) at_reading: AtReading,
}

/// Figures that are looked up when somebody asks.
#[derive(Debug, Default)]
pub(crate) struct AtReading {
    pub(crate) bytes_in_flight: Gauge,
    pub(crate) uplink_configured: Gauge,
    pub(crate) uplink_used: Gauge,
    pub(crate) uplink_bytes: Counter,
    pub(crate) listen_queue: Gauge,
    pub(crate) listen_overflows: Counter,
    pub(crate) disk_queued: Gauge,
    pub(crate) disk_under_way: Gauge,
    pub(crate) disk_stuck: Gauge,
    pub(crate) disk_limit: Gauge,
    pub(crate) proxy_memory: Gauge,
    pub(crate) proxy_disk: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let (mut registry, mut of_process) = (Registry::with_prefix("weir"), Registry::default());
        let responses = Family::<Code, Counter>::default();
        registry.register("responses", "Responses by status", responses.clone());
        let times = Family::<Label, Histogram>::new_with_constructor(response_times);
        registry.register_with_unit(
            "response_time",
            "From the end of a request head to the last byte handed to the kernel, by response size",
            Unit::Seconds,
            times.clone(),
        );
        let (incomplete, bytes, connections, accepted, accept_errors, grants, dead_jobs) =
            Default::default();
        let (cache_hits, cache_misses, given_up, refused_connections) = Default::default();
        let (disk_jobs, disk_refused, disk_merged) = Default::default();
        let pacer_lateness = Histogram::new(exponential(0.000_01, 2.0, 12));
        let events_per_wake = Histogram::new(exponential(1.0, 2.0, 11));
        let metrics = Metrics {
            fairness: Fairness::register(&mut registry),
            backends: Backends::register(&mut registry),
            answers: BackendAnswers::register(&mut registry),
            process: Process::register(&mut registry, &mut of_process),
            waiting: Waiting::register(&mut registry),
            in_force: InForce::register(&mut registry),
            handshakes: Handshakes::register(&mut registry),
            obtained: Obtained::register(&mut registry),
            compression: Compression::register(&mut registry),
            stalls: Stalls::register(&mut registry),
            cache_hits,
            cache_misses,
            disk_jobs,
            disk_refused,
            disk_merged,
            responses: OWN
                .iter()
                .map(|status| status.as_u16())
                .map(|code| (code, responses.get_or_create(&label(code)).clone()))
                .collect(),
            responses_by_status: responses,
            response_time: (0..SIZES.len())
                .map(|class| times.get_or_create(&size_classes::size_label(class)).clone())
                .collect(),
            incomplete,
            bytes,
            connections,
            accepted,
            accept_errors,
            refused_connections,
            given_up,
            grants,
            dead_jobs,
            pacer_lateness,
            events_per_wake,
            at_reading: AtReading::default(),
            registry,
            of_process,
        };
        metrics.registered()
    }

    fn registered(mut self) -> Metrics {
        let registry = &mut self.registry;
        let counters = [
            (
                "incomplete_responses",
                "Responses whose client left or whose content failed",
                &self.incomplete,
            ),
            ("response_bytes", "Bytes of heads and bodies handed to the kernel", &self.bytes),
            ("accepted_connections", "Connections of clients that were accepted", &self.accepted),
            (
                "accept_errors",
                "Connections that could not be accepted, such as for lack of descriptors",
                &self.accept_errors,
            ),
            (
                "refused_connections",
                "Connections closed at once because their client had as many as limit_connections",
                &self.refused_connections,
            ),
            (
                "idle_connections_given_up",
                "Connections closed while they waited for a request, because descriptors ran short",
                &self.given_up,
            ),
            (
                "uplink_grants",
                "Grants that the uplink's gate gave; in kernel mode only to responses above 50 KB",
                &self.grants,
            ),
            (
                "uplink_dead_jobs",
                "Responses taken from the uplink's gate because their client left; in kernel mode only those above 50 KB",
                &self.dead_jobs,
            ),
            (
                "access_log_lines_lost",
                "Lines that the access log did not take, because it was stuck, slow or full",
                lines::lost(Kind::Request),
            ),
            (
                "messages_lost",
                "Messages of the server that standard error did not take",
                lines::lost(Kind::Message),
            ),
            ("name_cache_hits", "Requests whose name was in the cache of names", &self.cache_hits),
            ("name_cache_misses", "Requests whose name had to be opened", &self.cache_misses),
            (
                "disk_jobs",
                "Names that helper threads opened and parts of files that they read",
                &self.disk_jobs,
            ),
            (
                "disk_refused",
                "Requests answered with 503 because the disk's queue was full, the disk hung, or they waited too long",
                &self.disk_refused,
            ),
            (
                "disk_merged_requests",
                "Requests that waited for a disk job that another request had started",
                &self.disk_merged,
            ),
            (
                "listen_overflows",
                "Connections this host dropped because a listen queue was full, since it started",
                &self.at_reading.listen_overflows,
            ),
            (
                "uplink_used_bytes",
                "Bytes on the wire of the uplink: responses, handshakes, acknowledgements, retransmissions; in kernel mode heads and bodies of responses, as the kernel took them",
                &self.at_reading.uplink_bytes,
            ),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
        let gauges = [
            ("connections", "Connections of clients that are open", &self.connections),
            (
                "uplink_bytes_in_flight",
                "Bytes sent over the uplink and not acknowledged, in kernel mode too; workers that hang are left out",
                &self.at_reading.bytes_in_flight,
            ),
            (
                "listen_queue_length",
                "Connections that wait to be accepted",
                &self.at_reading.listen_queue,
            ),
            (
                "uplink_configured_bytes_per_second",
                "Rate of the uplink as configured, in bytes per second; 0 in kernel mode, where the device has it",
                &self.at_reading.uplink_configured,
            ),
            (
                "uplink_used_bytes_per_second",
                "Bytes per second on the wire of the uplink, over the last ten seconds; in kernel mode of heads and bodies of responses",
                &self.at_reading.uplink_used,
            ),
            (
                "disk_queued_jobs",
                "Jobs that wait at the gates of disks",
                &self.at_reading.disk_queued,
            ),
            (
                "disk_jobs_limit",
                "Jobs that disks are given at once, as learned: the sum over all disks",
                &self.at_reading.disk_limit,
            ),
            (
                "disk_jobs_under_way",
                "Disk jobs that helper threads are doing",
                &self.at_reading.disk_under_way,
            ),
            (
                "disk_stuck_jobs",
                "Disk jobs that hang, which no longer count as under way",
                &self.at_reading.disk_stuck,
            ),
            (
                "proxy_memory_bytes",
                "Memory taken by bodies on their way between clients and backends",
                &self.at_reading.proxy_memory,
            ),
            (
                "proxy_disk_bytes",
                "Temporary files taken by bodies on their way between clients and backends",
                &self.at_reading.proxy_disk,
            ),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        registry.register_with_unit(
            "pacer_lateness",
            "How late the uplink's pacer was woken; in kernel mode nothing depends on it",
            Unit::Seconds,
            self.pacer_lateness.clone(),
        );
        registry.register(
            "ready_events_per_wake",
            "Socket events a worker handled between two waits",
            self.events_per_wake.clone(),
        );
        self
    }

    /// Counts a response that ended.
    pub(crate) fn responded(&self, code: u16, bytes: u64, took: Duration, complete: bool) {
        match self.responses.iter().find(|(known, _)| *known == code) {
            Some((_, counter)) => counter.inc(),
            None => self.responses_by_status.get_or_create(&label(code)).inc(),
        };
        self.bytes.inc_by(bytes);
        if complete {
            self.response_time[size_class(bytes)].observe(took.as_secs_f64());
        } else {
            self.incomplete.inc();
        }
    }

    /// The figures as text.
    pub(crate) fn text(&self, format: Format) -> String {
        let mut text = String::new();
        let written = encode_registry(&mut text, &self.registry)
            .and_then(|()| encode_registry(&mut text, &self.of_process))
            .and_then(|()| encode_eof(&mut text));
        if let Err(error) = written {
            tracing::error!("metrics could not be written: {error}");
        }
        match format {
            Format::OpenMetrics => text,
            Format::Prometheus => exposition::prometheus(&text),
        }
    }
}

fn label(code: u16) -> Code {
    [("status", u64::from(code))]
}

fn response_times() -> Histogram {
    Histogram::new(exponential(0.000_1, 2.0, 21))
}

fn exponential(first: f64, factor: f64, count: usize) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(first), move |bound| Some(bound * factor)).take(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_can_be_read() {
        let metrics = Metrics::new();
        metrics.responded(200, 500, Duration::from_millis(3), true);
        metrics.responded(418, 0, Duration::from_millis(3), false);
        metrics.fairness.settled(&weir_sched::FairnessRecord {
            size: 500,
            won: -0.25,
            client_was_slow: false,
        });
        let text = metrics.text(Format::OpenMetrics);
        for line in [
            "weir_responses_total{status=\"200\"} 1",
            "weir_responses_total{status=\"418\"} 1",
            "weir_response_bytes_total 500",
            "weir_response_time_seconds_count{size=\"to 1 kB\"} 1",
            "weir_fairness_lost_seconds_total{size=\"to 1 kB\"} 0.25",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }
}
