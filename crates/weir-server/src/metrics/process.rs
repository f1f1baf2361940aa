//! Figures of the process, called as the client libraries of Prometheus call them
//! (<https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>), and which program it is.
//! Read by the admin address when figures are asked for.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use rustix::time::{ClockId, clock_gettime};

use crate::sys::{clock, descriptors};

/// Which program runs: its version, and the commit that it was built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// As `weir --version` says it.
    pub version: &'static str,
    /// The same; `unknown` if it was built without its history.
    pub commit: &'static str,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Process {
    cpu: Counter<f64, AtomicU64>,
    resident: Gauge,
    open_fds: Gauge,
    max_fds: Gauge,
    build: Family<[(&'static str, &'static str); 2], Gauge>,
}

impl Process {
    /// `registry`: what is the server's own; `of_process`: what has the same name for every program.
    pub(super) fn register(registry: &mut Registry, of_process: &mut Registry) -> Process {
        let all = Process::default();
        let help = "1, with the version of the program and the commit that it was built from";
        registry.register("build_info", help, all.build.clone());
        of_process.register_with_unit(
            "process_cpu",
            "Processor time of the process, in user and in kernel mode",
            Unit::Seconds,
            all.cpu.clone(),
        );
        of_process.register_with_unit(
            "process_resident_memory",
            "Memory of the process that is resident",
            Unit::Bytes,
            all.resident.clone(),
        );
        of_process.register("process_open_fds", "Open file descriptors", all.open_fds.clone());
        let help = "Most file descriptors that may be open";
        of_process.register("process_max_fds", help, all.max_fds.clone());
        let start = Gauge::<f64, AtomicU64>::default();
        start.set(clock::since_1970().as_secs_f64());
        of_process.register_with_unit(
            "process_start_time",
            "When the process started, in seconds since 1970",
            Unit::Seconds,
            start,
        );
        all
    }

    /// This program runs.
    pub(crate) fn is(&self, build: Build) {
        let label = [("version", build.version), ("commit", build.commit)];
        self.build.get_or_create(&label).set(1);
    }

    /// These are its figures now. What the system does not tell stays as it was.
    pub(crate) fn read(&self) {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        let seconds = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
        self.cpu.inner().store(seconds.to_bits(), Ordering::Relaxed);
        if let Some(bytes) = resident() {
            self.resident.set(bytes);
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            // One of them reads this directory.
            self.open_fds.set(open.count() as i64 - 1);
        }
        self.max_fds.set(i64::try_from(descriptors::limit()).unwrap_or(i64::MAX));
    }
}

/// Bytes of memory, from /proc/self/statm (proc(5)).
fn resident() -> Option<i64> {
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: i64 = sizes.split(' ').nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(rustix::param::page_size() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_told_by_the_usual_names() {
        let (mut registry, mut of_process) = (Registry::with_prefix("weir"), Registry::default());
        let process = Process::register(&mut registry, &mut of_process);
        process.is(Build { version: "1.2", commit: "abc" });
        process.read();
        let text = |registry: &Registry| {
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, registry).unwrap();
            text
        };
        let build = "weir_build_info{version=\"1.2\",commit=\"abc\"} 1\n";
        assert!(text(&registry).contains(build), "{}", text(&registry));
        let text = text(&of_process);
        for (name, least) in [
            ("process_cpu_seconds_total ", 0.0),
            ("process_resident_memory_bytes ", 1e6),
            ("process_open_fds ", 3.0),
            ("process_max_fds ", 3.0),
            ("process_start_time_seconds ", 1.6e9),
        ] {
            let value = text.lines().find_map(|line| line.strip_prefix(name));
            let value = value.and_then(|value| value.parse::<f64>().ok());
            assert!(value.is_some_and(|value| value >= least), "{name}in\n{text}");
        }
    }
}
