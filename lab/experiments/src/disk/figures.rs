//! The figures of a phase, from what clients and disk showed in it. Phases are made of them.

use weir_stats::composition::{Composition, RUAN_SERIES};
use weir_stats::inversion::service_inversion;
use weir_stats::{Record, Response, Samples};
use weir_workload::file_set::HOT;

use super::bench::Seen;
use crate::cell::Phase;
use crate::figures;
use crate::outcome::{PhaseOutcome, Times};

/// What a phase showed.
pub(super) fn phase(phase: Phase, offered: Option<f64>, seen: &Seen) -> PhaseOutcome {
    let Seen { records, seconds, work, elapsed, scanned, observed, waiting, .. } = seen;
    let (per_second, bytes) = figures::throughput(records, *seconds);
    let responses = in_microseconds(records);
    let requests = records.len();
    let hot = records.iter().filter(|record| record.class == HOT);
    PhaseOutcome {
        phase,
        offered,
        requests,
        per_second,
        megabits: bytes * 8e-6,
        incomplete: figures::incomplete(records).0,
        all: times(records.iter()),
        hot: times(hot),
        inversion: service_inversion(&responses),
        composition: Composition::of(&responses, &RUAN_SERIES),
        reads_per_1000: work.reads as f64 * 1e3 / requests.max(1) as f64,
        reads_per_second: work.reads as f64 / elapsed.max(1e-9),
        busy: seen.busy(),
        scanned: *scanned,
        observed: observed.clone(),
        waiting: *waiting,
        invalid: Vec::new(),
    }
}

/// Sizes, and response times in whole microseconds, by which inversion is reckoned.
fn in_microseconds(records: &[Record]) -> Vec<Response> {
    let response = |record: &Record| Some((record.size, (record.response_time()? * 1e6).round()));
    records.iter().filter_map(response).collect()
}

/// Response times in milliseconds.
fn times<'a>(records: impl Iterator<Item = &'a Record>) -> Times {
    let all = records.filter_map(Record::response_time).map(|time| time * 1e3);
    let samples = Samples::new(all);
    let percentiles =
        (0..=100_u32).filter_map(|percent| samples.percentile(f64::from(percent) / 100.0));
    Times {
        count: samples.len(),
        mean: samples.mean().unwrap_or(0.0),
        percentiles: percentiles.collect(),
    }
}

#[cfg(test)]
mod tests {
    use weir_stats::Outcome as End;

    use super::*;

    fn record(scheduled: f64, size: u64, class: u16, time: Option<f64>) -> Record {
        Record {
            scheduled,
            started: scheduled,
            connected: None,
            first_byte: None,
            last_byte: time.map(|time| scheduled + time),
            size,
            class,
            outcome: if time.is_some() { End::Ok } else { End::Unfinished },
            attempts: 1,
            read_lag: 0.0,
        }
    }

    #[test]
    fn hot_requests_are_told_apart_and_what_never_came_is_in_no_time() {
        let mut records: Vec<Record> =
            (1..=100).map(|n| record(0.0, 100, HOT, Some(f64::from(n) * 1e-3))).collect();
        records.push(record(0.0, 900_000, 0, Some(2.0)));
        records.push(record(0.0, 900_000, 0, None));
        let (all, hot) =
            (times(records.iter()), times(records.iter().filter(|record| record.class == HOT)));
        assert_eq!((all.count, hot.count), (101, 100));
        assert!((hot.at(99) - 99.0).abs() < 1e-9 && (hot.at(100) - 100.0).abs() < 1e-9);
        assert!((all.at(100) - 2000.0).abs() < 1e-9);
        assert_eq!(times(std::iter::empty()), Times::default());
    }

    #[test]
    fn times_that_differ_by_less_than_a_microsecond_are_equal() {
        let records = [record(0.0, 9, 0, Some(1e-3)), record(0.0, 1, 0, Some(1e-3 + 1e-7))];
        assert_eq!(in_microseconds(&records), [(9, 1000.0), (1, 1000.0)]);
        assert_eq!(service_inversion(&in_microseconds(&records)), Some(0.0));
    }
}
