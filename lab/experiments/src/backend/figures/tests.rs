//! Figures of records and logs that nobody measured.

use super::*;

/// One request a second can be answered; the window is from 10 to 30 s, and the load falls then for
/// 20 s. Clients wait 2 s.
fn parameters(retries: u32) -> Parameters {
    Parameters {
        service: 1.0,
        load: 2.0,
        warm_up: 10.0,
        window: 20.0,
        after: 20.0,
        patience: 2.0,
        retries,
    }
}

fn record(scheduled: f64, outcome: End, took: f64, attempts: u32) -> Record {
    let ended = matches!(outcome, End::Ok | End::Status);
    Record {
        scheduled,
        started: scheduled,
        connected: None,
        first_byte: None,
        last_byte: ended.then_some(scheduled + took),
        size: 1024,
        class: 0,
        outcome,
        attempts,
        read_lag: 0.0,
    }
}

/// Work for request `id` from second `begin` on.
fn served(id: u64, begin: f64, seconds: f64) -> ServedRequest {
    let ns = |seconds: f64| (seconds * 1e9) as u64;
    ServedRequest {
        id: Some(id),
        begin: 7_000_000_000 + ns(begin),
        service: ns(seconds),
        late: 20_000,
    }
}

fn figures(
    parameters: Parameters,
    sizes: &[u64],
    records: &[Record],
    served: &[ServedRequest],
) -> Figures {
    Observation { parameters, sizes, records, served, origin: 7_000_000_000 }.figures()
}

#[test]
fn work_is_of_use_to_those_who_got_the_answer() {
    let records = [
        record(9.0, End::Ok, 1.5, 1),
        record(12.0, End::Abandoned, 0.0, 1),
        Record { connected: Some(22.0), ..record(20.0, End::Ok, 3.5, 2) },
        record(26.0, End::Status, 0.1, 1),
    ];
    let log = [
        // Half of it lies before the window.
        served(0, 9.5, 1.0),
        // Its client had left.
        served(1, 13.0, 2.0),
        // The first attempt was for nobody, the second was answered.
        served(2, 21.5, 1.0),
        served(2, 22.5, 1.0),
        // A probe.
        ServedRequest { id: None, ..served(0, 25.0, 1.0) },
    ];
    let found = figures(parameters(1), &[100; 4], &records, &log);
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
    near(found.useful_work.mean, 1.5 / 20.0);
    near(found.busy, 5.5 / 20.0);
    near(found.wasted, 4.0 / 20.0);
    near(found.useful_requests.mean, 2.0 / 20.0);
    // Of those who came from 10 to 26 s: who came at 26 s may have waited on into the lower load.
    near(found.success, 0.5);
    near(found.given_up, 0.5);
    near(found.refused, 0.0);
    assert_eq!((found.mean_ms, found.attempt_ms), (Some(3500.0), Some(1500.0)));
    near(found.late_p99_ms, 0.02);
    assert_eq!(found.recovery, None);
}

#[test]
fn every_way_to_end_is_told_apart() {
    let ends = [End::Ok, End::Status, End::Abandoned, End::Reset, End::Refused];
    let records = ends.map(|end| record(15.0, end, 1.0, 1));
    let found = figures(parameters(0), &[100; 5], &records, &[]);
    let shares = [found.success, found.refused, found.given_up, found.failed];
    assert_eq!(shares, [0.2, 0.2, 0.2, 0.4]);
    assert_eq!((found.busy, found.useful_work.mean), (0.0, 0.0));
}

#[test]
fn the_series_is_of_the_whole_run() {
    let mut short = parameters(0);
    short.service = 0.01;
    let records = [record(5.2, End::Ok, 0.5, 1), record(40.0, End::Ok, 0.5, 1)];
    let log = [served(0, 5.5, 0.25), served(1, 39.9, 0.2)];
    let found = figures(short, &[100; 2], &records, &log);
    assert_eq!((found.bin, found.series_work.len()), (1.0, 50));
    assert!((found.series_work[5] - 0.25).abs() < 1e-9);
    assert!((found.series_work[39] - 0.1).abs() < 1e-6 && found.series_work[41] == 0.0);
}

#[test]
fn an_interval_comes_from_batches_of_the_window() {
    // Every second a client is answered.
    let even: Vec<Record> = (0..40).map(|at| record(f64::from(at), End::Ok, 0.5, 1)).collect();
    let found = figures(parameters(0), &[100; 40], &even, &[]).useful_requests;
    assert!((found.mean - 1.0).abs() < 1e-9 && found.half_width < 1e-9, "{found:?}");
    // The same number, but all in the second half.
    let uneven: Vec<Record> =
        (0..20).map(|at| record(20.0 + f64::from(at) / 2.0, End::Ok, 0.1, 1)).collect();
    let found = figures(parameters(0), &[100; 20], &uneven, &[]).useful_requests;
    assert!((found.mean - 1.0).abs() < 1e-9 && found.half_width > 0.4, "{found:?}");
}

#[test]
fn service_is_full_again_when_nobody_is_left_out_any_more() {
    let recovery = |ends: &[(f64, End, u32)]| {
        let records: Vec<Record> =
            ends.iter().map(|&(at, end, attempts)| record(at, end, 0.1, attempts)).collect();
        figures(parameters(1), &vec![100; records.len()], &records, &[]).recovery
    };
    use End::{Abandoned, Ok, Status};
    assert_eq!(recovery(&[(29.0, Abandoned, 1), (30.5, Ok, 1)]), Some(0.5));
    let late = [(30.5, Ok, 1), (34.0, Abandoned, 1), (36.0, Ok, 1), (37.0, Ok, 1)];
    assert_eq!(recovery(&late), Some(6.0));
    // An answer to the second attempt is no full service, nor is a refusal.
    assert_eq!(recovery(&[(31.0, Ok, 2), (32.0, Ok, 1)]), Some(2.0));
    assert_eq!(recovery(&[(31.0, Status, 1), (33.0, Ok, 1)]), Some(3.0));
    // Never, as far as anybody knows.
    assert_eq!(recovery(&[(31.0, Ok, 1), (49.0, Abandoned, 1)]), Some(20.0));
    assert_eq!(recovery(&[(29.0, Ok, 1)]), None);
}

#[test]
fn classes_are_unequal_only_beyond_their_intervals() {
    let class = |asked, answered| Class { asked, answered };
    let even = [class(350, 120), class(500, 165), class(140, 50), class(10, 2)];
    assert_eq!(inequality(&even), 0.0);
    // Nobody of the largest: 10 clients of whom a third should have been.
    let largest = [class(350, 120), class(500, 165), class(140, 50), class(10, 0)];
    assert_eq!(inequality(&largest), 0.0);
    let many = [class(3500, 1200), class(5000, 1650), class(1400, 500), class(100, 0)];
    let beyond = inequality(&many);
    assert!((0.20..0.23).contains(&beyond), "{beyond}");
    assert_eq!(inequality(&[Class::default(); 4]), 0.0);
}

#[test]
fn nothing_at_all_has_figures_too() {
    let found = figures(parameters(0), &[], &[], &[]);
    assert_eq!((found.success, found.busy, found.mean_ms), (0.0, 0.0, None));
    assert_eq!(Class::total(&found.classes), Class::default());
    let text = serde_json::to_string(&found).expect("figures are JSON");
    assert_eq!(serde_json::from_str::<Figures>(&text).expect("and read back"), found);
}
