//! Streaming figures against exact ones.

use super::*;
use crate::record::tests::record;
use crate::summary::{Summary, by_size, largest, responses};

/// Heavy-tailed sizes and times between 0.1 and 1000 ms.
fn records() -> Vec<Record> {
    let of = |i: u32| {
        let share = f64::from(i * 7919 % 10_000) / 10_000.0;
        let other = f64::from(i * 104_729 % 10_000) / 10_000.0;
        let size = 41.0 / (1.0 - share).powf(0.9);
        let time = 0.0001 * 10_000_f64.powf(other) + size / 1e6;
        let mut made = record(f64::from(i) / 100.0, size as u64, Outcome::Ok, Some(time));
        made.class = u16::from(i.is_multiple_of(4)) * 2;
        made
    };
    (0..10_000).map(of).collect()
}

fn counted(records: &[Record]) -> Streaming {
    let mut counted = Streaming::new();
    records.iter().for_each(|record| counted.add(record));
    counted
}

fn near(found: Option<f64>, expected: f64, share: f64) {
    let found = found.unwrap();
    assert!((found / expected - 1.0).abs() <= share, "{found} instead of {expected}");
}

#[test]
fn figures_are_near_the_exact_ones() {
    let records = records();
    let (streaming, exact) = (counted(&records), Summary::of(&responses(&records)).unwrap());
    near(streaming.times().mean(), exact.mean, 1e-9);
    near(streaming.times().variance(), exact.variance, 1e-9);
    near(streaming.percentile(0.5), exact.median, 0.001);
    near(streaming.percentile(0.95), exact.p95, 0.001);
    near(streaming.percentile(0.99), exact.p99, 0.001);
    near(streaming.largest(0.01), exact.largest, 0.02);
    let half = crate::samples::mean(
        largest(&by_size(&responses(&records)), 0.5).iter().map(|&(_, time)| time),
    );
    near(streaming.largest(0.5), half.unwrap(), 0.02);
    near(streaming.largest(1.0), exact.mean, 1e-9);
    let bins = streaming.by_size();
    assert_eq!(bins.iter().map(|bin| bin.count).sum::<usize>(), 10_000);
    assert!(bins.iter().all(|bin| bin.mean_size >= bin.from as f64));
}

#[test]
fn outcomes_classes_and_bytes_are_counted() {
    let mut records = vec![
        record(0.0, 100, Outcome::Ok, Some(1.0)),
        record(0.0, 50, Outcome::Abandoned, None),
        record(0.0, 30, Outcome::Ok, Some(3.0)),
    ];
    records[1].attempts = 4;
    records[2].class = 2;
    let streaming = counted(&records);
    assert_eq!((streaming.requests(), streaming.attempts(), streaming.bytes()), (3, 6, 130));
    for outcome in Outcome::ALL {
        let expected = records.iter().filter(|r| r.outcome == outcome).count() as u64;
        assert_eq!(streaming.outcome(outcome), expected, "{}", outcome.name());
    }
    let classes = streaming.classes();
    assert_eq!(classes.len(), 3);
    assert_eq!((classes[0].requests, classes[0].bytes, classes[0].times.count()), (2, 100, 1));
    assert_eq!(classes[1], Class::default());
    assert_eq!(classes[2].times.mean(), Some(3.0));
}

#[test]
fn parts_merge_into_the_whole() {
    let records = records();
    let whole = counted(&records);
    let mut merged = counted(&records[..3000]);
    merged.merge(&counted(&records[3000..]));
    assert_eq!(merged.latency, whole.latency);
    assert_eq!((&merged.lag, &merged.on_time), (&whole.lag, &whole.on_time));
    assert_eq!(merged.read_lag, whole.read_lag);
    assert_eq!(merged.lag_in_mean(), whole.lag_in_mean());
    assert_eq!((merged.bytes, merged.attempts), (whole.bytes, whole.attempts));
    assert_eq!((merged.requests(), merged.classes().len()), (10_000, 3));
    near(merged.times().variance(), whole.times().variance().unwrap(), 1e-9);
    near(merged.largest(0.01), whole.largest(0.01).unwrap(), 1e-9);
}

/// One request in fifty started 50 ms late, which is the slowest of them all; half of them are
/// microseconds late, which is nothing beside their milliseconds.
#[test]
fn what_lag_adds_to_a_figure_is_told_for_each() {
    let late = |i: u32| match i {
        i if i.is_multiple_of(50) => 0.05,
        i => f64::from(i % 2) * 5e-6,
    };
    let made = |i: u32| {
        let mut made = record(f64::from(i), 1, Outcome::Ok, Some(0.002 + late(i)));
        made.started += late(i);
        made
    };
    let streaming = counted(&(0..10_000).map(made).collect::<Vec<_>>());
    near(streaming.lag_in_mean(), 0.02 * 0.05 + 0.5 * 5e-6, 1e-9);
    for (share, lag) in [(0.4, 0.0), (0.9, 5e-6), (0.97, 5e-6)] {
        let found = streaming.lag_in_percentile(share).unwrap();
        assert!((found - lag).abs() < 3e-6, "{share}: {found}");
    }
    near(streaming.lag_in_percentile(0.99), 0.05, 0.002);
}

/// Everything started in time; one response in fifty lay ready for 50 ms before it was read.
#[test]
fn what_was_read_late_counts_as_what_started_late() {
    let late = |i: u32| if i.is_multiple_of(50) { 0.05 } else { 0.0 };
    let made = |i: u32| {
        let mut made = record(f64::from(i), 1, Outcome::Ok, Some(0.002 + late(i)));
        made.read_lag = late(i);
        made
    };
    let streaming = counted(&(0..10_000).map(made).collect::<Vec<_>>());
    near(streaming.lag_in_mean(), 0.02 * 0.05, 1e-9);
    near(streaming.lag_in_percentile(0.99), 0.05, 0.002);
    assert_eq!(streaming.lag_in_percentile(0.9), Some(0.0));
    near(streaming.read_lag(0.99), 0.05, 0.002);
    assert_eq!((streaming.lag(1.0), streaming.read_lag(0.9)), (Some(0.0), Some(0.0)));
    // What never came was not read late.
    let lost = Record { read_lag: 9.0, ..record(0.0, 1, Outcome::Reset, None) };
    assert_eq!(counted(&[lost]).read_lag(1.0), None);
}

#[test]
fn the_lag_of_the_largest_is_their_own() {
    let late = |size: u64, read_lag: f64| Record {
        started: 0.25,
        read_lag,
        ..record(0.0, size, Outcome::Ok, Some(4.0))
    };
    let small = counted(&[50, 60, 70].map(|size| late(size, 0.0)));
    assert_eq!(small.lag_in_largest(0.25), Some(0.25));
    let mut all = counted(&[late(5000, 1.5)]);
    all.merge(&small);
    assert_eq!((all.lag_in_largest(0.25), all.lag_in_largest(0.5)), (Some(1.75), Some(1.0)));
    assert_eq!((all.lag_in_largest(2.0), Streaming::new().lag_in_largest(0.5)), (None, None));
}

#[test]
fn of_a_bin_that_is_not_needed_whole_the_mean_counts() {
    let mut records = vec![record(0.0, 5000, Outcome::Ok, Some(4.0))];
    records.extend([1.0, 2.0, 3.0].map(|time| record(0.0, 50, Outcome::Ok, Some(time))));
    // Half of four are two: the one of 4 s, and one of those that take 2 s in the mean.
    assert_eq!(counted(&records).largest(0.5), Some(3.0));
}

#[test]
fn long_times_have_percentiles_too() {
    let hour = counted(&[record(0.0, 1, Outcome::Ok, Some(3600.0))]);
    near(hour.percentile(0.5), 3600.0, 0.001);
}

#[test]
fn nothing_has_no_figures() {
    let mut streaming = counted(&[record(0.0, 1, Outcome::Reset, None)]);
    assert_eq!((streaming.percentile(0.5), streaming.largest(0.01)), (None, None));
    assert_eq!((streaming.lag_in_mean(), streaming.lag_in_percentile(0.5)), (None, None));
    assert_eq!(streaming.lag(0.5), Some(0.0));
    assert!(streaming.by_size().is_empty());
    streaming.add(&record(0.0, 1, Outcome::Ok, Some(1.0)));
    assert_eq!(streaming.percentile(f64::NAN), None);
    assert_eq!(streaming.largest(f64::NAN), None);
}

#[test]
fn odd_records_are_counted_and_break_nothing() {
    let mut early = record(5.0, u64::MAX, Outcome::Ok, Some(-1.0));
    early.started = 4.0;
    early.class = u16::MAX;
    let streaming = counted(&[
        record(f64::NAN, 1, Outcome::Reset, None),
        early.clone(),
        early,
        record(0.0, 1, Outcome::Ok, Some(1e10)),
    ]);
    assert_eq!((streaming.unusable(), streaming.requests()), (1, 3));
    assert_eq!((streaming.lag(1.0), streaming.percentile(0.0)), (Some(0.0), Some(0.0)));
    assert_eq!(streaming.bytes(), u64::MAX);
    assert!(streaming.percentile(1.0).is_some_and(f64::is_finite));
}
