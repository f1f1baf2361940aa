//! `weir-lab sim dtoc` as scripts call it: the names in its JSON, rows, shapes, and what it refuses.

use crate::programs::{Sim, number};

const SIM: Sim = Sim("dtoc");

#[test]
fn the_papers_case_as_json() {
    let arguments = "--load 300 --timeout 5 --retries 0 --strategy check --duration 2000 \
        --replications 4 --seed 1";
    let result = SIM.json(arguments);
    assert!((number(&result, "useful_percent") - 85.6).abs() < 1.5, "{result}");
    assert!((number(&result, "useful_work_percent") - 43.0).abs() < 2.0, "{result}");
    assert!(number(&result, "useful_percent_ci95") < 2.0, "{result}");
    for name in [
        "in_service_timeout_percent",
        "accepted_timed_out_percent",
        "mean_successful_size_bytes",
        "mean_response_seconds",
        "utilisation_percent",
        "check_on_percent",
        "requests_per_client",
    ] {
        assert!(number(&result, name) > 0.0, "{name}: {result}");
    }
    let outcomes = ["success_percent", "dropped_percent", "timed_out_percent"];
    let sum: f64 = outcomes.iter().map(|name| number(&result, name)).sum();
    assert!((sum - 100.0).abs() < 1e-9, "{result}");
    let shares = result["success_by_class"].as_array().expect("an array");
    assert_eq!(shares.len(), 4);
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(&share.as_f64().expect("a number"))));
    for (name, value) in [("seed", 1.0), ("warm_up_seconds", 1074.0), ("duration_seconds", 2000.0)]
    {
        assert_eq!(number(&result, name), value, "{name}");
    }
    assert_eq!(result["strategy"], "check");
    assert!(result["version"].is_string() && result.get("intervals").is_none());
    assert_eq!(
        SIM.works(&format!("{arguments} --json")),
        SIM.works(&format!("{arguments} --json"))
    );
}

#[test]
fn several_cases_are_rows() {
    let arguments = "--load 50,300 --timeout 5,8 --strategy regular,abort --duration 200 \
        --warm-up 100 --replications 2";
    let result = SIM.json(arguments);
    let rows = result["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 8);
    assert_eq!(number(&rows[7], "load_percent"), 300.0);
    assert_eq!(number(&rows[7], "timeout_seconds"), 8.0);
    assert_eq!(rows[7]["strategy"], "abort");
    assert_eq!(number(&rows[4], "useful_percent"), 0.0, "livelock has no mean to leave out");
    assert!(rows[4].get("mean_response_seconds").is_none());
    let text = SIM.works(arguments);
    assert_eq!(text.lines().count(), 12, "{text}");
    assert!(text.contains("retries 0; each 2 × 200 s after 100 s of warm-up, seed 1"), "{text}");
    let one = SIM.works("--load 300 --duration 100 --warm-up 100 --replications 1 --speed");
    for part in ["useful throughput", "% of capacity", "by class", "events/s"] {
        assert!(one.contains(part), "{part:?} is not in {one}");
    }
}

#[test]
fn shapes_give_a_series() {
    let result = SIM.json("--shape 30s@0.5,30s@3 --retries 1 --replications 2 --interval 20");
    assert_eq!(result["shape"], "30s@0.5,30s@3");
    assert_eq!(number(&result, "load_percent"), 175.0);
    assert_eq!(number(&result, "duration_seconds"), 60.0);
    assert_eq!(number(&result, "warm_up_seconds"), 0.0);
    assert_eq!(result["intervals"].as_array().map(Vec::len), Some(3));
    let day = SIM.json("--shape carter-busy-day --retries 1 --timeout 8 --replications 2");
    assert_eq!(day["intervals"].as_array().map(Vec::len), Some(2000));
    assert!((number(&day, "useful_percent") - 85.0).abs() < 3.0);
}

#[test]
fn what_cannot_be_is_refused() {
    for (arguments, part) in [
        ("--timeout 5", "--load"),
        ("--load 0", "the load is 0 %; give above 0"),
        ("--load nan", "the load is NaN %"),
        ("--load 1e300", "the load is"),
        ("--load 300 --timeout 0", "the timeout is 0 seconds; give"),
        ("--load 300 --timeout 5,-1", "the timeout is -1 seconds"),
        ("--load 300 --strategy best", "no strategy is called \"best\"; there are regular, check"),
        ("--load 300 --law exponential:mean=x", "`mean` is `x`"),
        ("--load 300 --shape w1", "cannot be used with"),
        ("--shape w0", "there is no workload W0"),
        ("--load 300 --replications 0", "--replications"),
        ("--load 300 --duration inf", "the duration is inf seconds"),
        ("--load 300 --check-above 101", "threshold of the check"),
        ("--load -5", "the load is -5 %; give above 0"),
        ("--load 300 --timeout -5", "the timeout is -5 seconds"),
        ("--load 300 --duration -5", "the duration is -5 seconds"),
        ("--load 300 --warm-up -5", "the warm-up is -5 seconds"),
        ("--load 300 --check-cost -5", "the check cost is -5 %"),
        ("--load 300 --check-above -5", "threshold of the check is -5 %"),
        ("--load 300 --service-rate -5", "the service rate is -5 requests"),
        ("--shape w1 --interval -5", "the interval is -5 seconds"),
        ("--load 300 --retries 1001", "the number of retries is 1001"),
        ("--load 300 --queue 10000001", "the listen queue is 10000001"),
        ("--load 300 --law lognormal:mu=0,sigma=8", "shorter tail"),
        ("--shape w1 --interval 0.001 --replications 100000", "fewer --replications"),
    ] {
        let output = SIM.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(part), "{arguments}: {part:?} is not in {said}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}
