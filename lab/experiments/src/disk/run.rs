//! One cell with files on a slow disk, from beginning to end: disk, group, server, warming, phases,
//! figures. What was started is stopped on every way out by the values' drops; the disk is kept for the
//! next cell.

use std::path::Path;

use weir_peers::{Error, Result, interrupt};
use weir_stand::cores;

use super::bench::{Bench, Seen};
use super::nginx;
use super::phases::Phases;
use super::stand::{self, Keep, Stand};
use crate::cell::{Cell, Files, What};
use crate::outcome::{FilesOutcome, Outcome, UNKNOWN};
use crate::settings::Settings;
use crate::{figures, kept};

/// Run a cell; its files go to `directory`, the disk is mounted below `out`.
///
/// # Errors
///
/// When disk, server or load could not be had, or responses had wrong bytes; in words for the user.
pub(crate) fn run(
    cell: &Cell,
    files: &Files,
    settings: &Settings,
    directory: &Path,
    out: &Path,
) -> Result<Outcome> {
    check(files)?;
    let _keep = Keep::new();
    let cell = OneCell { cell, files, settings, directory, out };
    // A thread of its own, since it keeps to a core, and the threads of the disk with it.
    let run = || {
        cores::keep_to_clients()?;
        stand::with(files, out, |stand| cell.on(stand))
    };
    std::thread::scope(|scope| scope.spawn(run).join())
        .unwrap_or_else(|_| Err("the thread of the cell panicked".into()))
}

struct OneCell<'a> {
    cell: &'a Cell,
    files: &'a Files,
    settings: &'a Settings,
    directory: &'a Path,
    out: &'a Path,
}

impl OneCell<'_> {
    fn on(&self, stand: &Stand) -> Result<Outcome> {
        let OneCell { cell, files, settings, directory, out } = *self;
        let nginx = match files.needs_nginx() {
            true => Some(nginx::capacity(cell, files, stand, settings, out)?),
            false => None,
        };
        let of = (files, &cell.users);
        let mut bench = Bench::start(&cell.system, of, stand, directory, settings)?;
        bench.warm(What::Set, cell.seed)?;
        let before = bench.cpu();
        let capacity = nginx.as_ref().and_then(|nginx| nginx.capacity);
        let mut phases = Phases::of(&bench, files, cell.seed).with_nginx(capacity);
        for &phase in &files.phases {
            interrupt::check()?;
            phases.go_through(phase)?;
        }
        let Phases { found, last, .. } = phases;
        // What is left counts for itself.
        let none_counts = found.phases.iter().all(|phase| !phase.invalid.is_empty());
        let mut invalid = if none_counts { found.why_invalid() } else { Vec::new() };
        let of_nginx = nginx.into_iter().flat_map(|nginx| nginx.invalid);
        invalid.extend(of_nginx.map(|reason| format!("nginx's capacity does not count: {reason}")));
        let server_cpu = bench.cpu() - before;
        let killed = bench.killed();
        bench.must_run().map_err(|why| match killed {
            0 => why,
            _ => Error(format!("a group of {} bytes is too small: {why}", files.memory)),
        })?;
        bench.keep_metrics(directory)?;
        if killed > 0 {
            invalid.push(format!("the group was too small: {killed} processes were ended"));
        }
        drop(bench);
        let last = last.ok_or("the cell has no phase of the whole set")?;
        if settings.keep_records {
            kept::records(&last.records, &directory.join("records.csv.zst"))?;
        }
        Ok(self.assess(found, &last, invalid, server_cpu))
    }

    /// The figures that all cells have are those of the last phase of the whole set.
    fn assess(
        &self,
        found: FilesOutcome,
        last: &Seen,
        invalid: Vec<String>,
        server_cpu: f64,
    ) -> Outcome {
        let Seen { records, report, .. } = last;
        let lags = figures::Lags::of(report);
        let responses = weir_stats::responses(records);
        let (incomplete, incomplete_largest) = figures::incomplete(records);
        let (responses_per_second, goodput_bytes) =
            figures::throughput(records, self.files.seconds);
        Outcome {
            cell: self.cell.clone(),
            commit: UNKNOWN.to_owned(),
            requests: records.len(),
            measured: figures::summary(&responses),
            by_class: Vec::new(),
            ideal: None,
            srpt_at_full_rate: None,
            incomplete,
            incomplete_largest,
            outcomes: figures::outcomes(records),
            link_use: Vec::new(),
            goodput_bytes,
            responses_per_second,
            dropped: 0,
            head_bytes: 0,
            samples: Vec::new(),
            series: figures::series(records),
            small_p95: Vec::new(),
            distribution: figures::distribution(&responses),
            lag_p99: lags.start,
            read_lag_p99: Some(lags.read),
            steal: report.steal,
            idle: report.idle,
            server_cpu,
            invalid,
            served: None,
            application: None,
            files: Some(found),
        }
    }
}

/// What would make a cell that cannot be run.
fn check(files: &Files) -> Result<()> {
    let wrong = |what: String| Err(Error(format!("the cell's files: {what}")));
    let above = |value: f64| value.is_finite() && value > 0.0;
    let Files { set, memory, disk, connections, warm, seconds, phases } = files;
    if *set == 0 || *memory == 0 || *connections == 0 || disk.rate == 0 {
        return wrong("give more than 0 bytes, connections, and bytes per second".into());
    }
    if !(above(*warm) && above(*seconds) && disk.seek_ms.is_finite() && disk.seek_ms >= 0.0) {
        return wrong(format!(
            "{warm} s of warming, phases of {seconds} s and seeks of {} ms cannot be",
            disk.seek_ms
        ));
    }
    // The cache that phases in memory leave is not that of the whole set.
    let in_memory = |phase: &crate::cell::Phase| phase.what == What::InMemory;
    if !phases.iter().skip_while(|phase| !in_memory(phase)).all(in_memory) {
        return wrong("phases in memory come last".into());
    }
    match phases.iter().any(|phase| phase.what == What::Set) {
        true => Ok(()),
        false => wrong("give at least one phase of the whole set".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Disk, Load, Phase};

    fn files(phases: Vec<Phase>) -> Files {
        Files {
            set: 100 << 20,
            memory: 64 << 20,
            disk: Disk { seek_ms: 2.0, rate: 60_000_000 },
            connections: 64,
            warm: 1.0,
            seconds: 1.0,
            phases,
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let in_memory = Phase { load: Load::Rate(10.0), what: What::InMemory };
        assert!(check(&files(vec![Phase::SATURATED, in_memory])).is_ok());
        assert!(check(&files(vec![in_memory, Phase::SATURATED])).is_err());
        assert!(check(&files(vec![in_memory])).is_err());
        assert!(check(&Files { seconds: 0.0, ..files(vec![Phase::SATURATED]) }).is_err());
        assert!(check(&Files { memory: 0, ..files(vec![Phase::SATURATED]) }).is_err());
    }
}
