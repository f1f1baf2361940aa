//! Shows that `weir-lab sim queue` and `weir-lab sim transient` serve laws, traces and overload as the
//! policies promise, repeat themselves to the byte, and say what is wrong with what they are given.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// `weir-lab sim` with `arguments`, in `directory`.
fn sim(directory: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-lab"));
    command.current_dir(directory).arg("sim").args(arguments.split_whitespace());
    command.output().expect("weir starts")
}

/// The same, which must succeed: what it wrote.
fn works(directory: &Path, arguments: &str) -> String {
    let output = sim(directory, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

fn json(directory: &Path, arguments: &str) -> Value {
    serde_json::from_str(&works(directory, &format!("{arguments} --json"))).expect("JSON")
}

fn number(value: &Value, field: &str) -> f64 {
    assert!(value[field].is_number(), "{field} is no number in {value}");
    value[field].as_f64().expect("a number")
}

#[track_caller]
fn assert_refused(directory: &Path, arguments: &str, code: i32, parts: &[&str]) {
    let output = sim(directory, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
    for part in parts {
        assert!(said.contains(part), "{arguments}: {part:?} is not in {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

const LAW: &str = "--law bounded-pareto:min=1,max=1e4,alpha=1.1 --load 0.9";

#[test]
fn a_law_under_each_policy() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let of = |policy: &str| json(here, &format!("queue --policy {policy} {LAW} --jobs 30000"));
    let least = of("srpt");
    for policy in ["ps", "fair", "fifo", "psjf", "las", "fsp", "protective", "bands", "ageing"] {
        let found = of(policy);
        assert_eq!(found["policy"], policy);
        assert!(number(&found, "mean_response") > number(&least, "mean_response"), "{policy}");
        for field in ["mean_response_ci95", "mean_slowdown", "max_slowdown", "events_per_second"] {
            assert!(number(&found, field) > 0.0, "{policy}: {field}");
        }
        let late = number(&found, "late_vs_ps");
        match policy {
            "ps" | "fsp" | "protective" => assert_eq!(late, 0.0, "{policy}"),
            _ => assert!(late > 0.0 && late < 1.0, "{policy}: {late}"),
        }
    }
    assert_eq!(number(&least, "jobs"), 30_000.0);
    assert!(number(&of("protective"), "mean_response") < 1.1 * number(&least, "mean_response"));
}

#[test]
fn runs_repeat_themselves_but_for_the_speed() {
    let directory = tempfile::tempdir().unwrap();
    let of = |more: &str| {
        let arguments = format!("queue --policy protective {LAW} --jobs 5000 {more}");
        let mut found = json(directory.path(), &arguments);
        let speed = found.as_object_mut().expect("fields").remove("events_per_second");
        assert!(speed.is_some());
        found.to_string()
    };
    assert_eq!(of("--replications 3"), of("--replications 3"));
    assert_ne!(of("--seed 2"), of("--seed 3"));
    let alone = of("--no-reference --classes 4");
    assert!(!alone.contains("late_vs_ps"), "{alone}");
    let alone: Value = serde_json::from_str(&alone).expect("JSON");
    let classes = alone["by_size"].as_array().expect("classes");
    assert_eq!(classes.len(), 4);
    assert!(number(&classes[0], "mean_slowdown") >= 1.0);
}

#[test]
fn finish_times_of_a_trace_are_exact_and_in_its_order() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("jobs.csv"), "arrival,size\n0,4\n1,2\n2,1\n").unwrap();
    for (policy, finishes) in [
        ("fsp", ["7,7", "4,3", "3,1"]),
        ("srpt", ["7,7", "3,2", "4,2"]),
        ("ps", ["7,7", "6,5", "5,3"]),
    ] {
        let found =
            json(here, &format!("queue --policy {policy} --trace jobs.csv --finish-times out.csv"));
        let [a, b, c] = finishes;
        let expected = format!("arrival,size,finish,response\n0,4,{a}\n1,2,{b}\n2,1,{c}\n");
        assert_eq!(fs::read_to_string(here.join("out.csv")).unwrap(), expected, "{policy}");
        assert_eq!(number(&found, "jobs"), 3.0);
        assert_eq!(number(&found, "load"), 3.5);
        assert!(found.get("seed").is_none() && found.get("mean_response_ci95").is_none());
    }
    let text = works(here, "queue --policy fifo --trace jobs.csv");
    for part in ["mean response   4.666667", "largest       5.000000", "later than ps   33.3333 %"]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let left: Vec<_> =
        fs::read_dir(here).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_trace_since_1970_is_as_exact_as_one_from_0() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let jobs = "arrival,size\n1700000000,0.002\n1700000000,0.0005\n";
    fs::write(here.join("jobs.csv"), jobs).unwrap();
    let found = json(here, "queue --policy fifo --trace jobs.csv --seed 2 --finish-times out.csv");
    assert_eq!(number(&found, "late_vs_ps"), 0.5);
    assert_eq!(number(&found, "worst_lateness"), 0.0015);
    let expected = "arrival,size,finish,response\n1700000000,0.002,1700000000.002,0.002\n\
        1700000000,0.0005,1700000000.0025,0.0025\n";
    assert_eq!(fs::read_to_string(here.join("out.csv")).unwrap(), expected);
}

#[test]
fn bad_traces_are_refused_with_the_line() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for (text, parts) in [
        ("", &["there is no job", "arrival,size"][..]),
        ("arrival,size\n", &["there is no job"]),
        ("0,4\n1,2\n", &["line 1", "must name the columns"]),
        ("arrival,size\n0,4\n1\n", &["line 3", "`size` is missing"]),
        ("arrival,size\n,4\n", &["line 2", "`arrival` is missing"]),
        ("arrival,size\n0,-4\n", &["line 2", "`size` is `-4`", "above 0"]),
        ("arrival,size\n0,0\n", &["line 2", "`size` is `0`", "above 0"]),
        ("arrival,size\n0,1e-320\n", &["line 2", "`size` is `1e-320`", "at least 1e-15"]),
        ("arrival,size\n-1,4\n", &["line 2", "`arrival` is `-1`", "0 or more"]),
        ("arrival,size\n0,four\n", &["line 2", "`size` is `four`"]),
        ("arrival,size\n0,nan\n", &["line 2", "`size` is `nan`"]),
        ("arrival,size\n0,inf\n", &["line 2", "`size` is `inf`"]),
        ("arrival,size\n1,1\n\n0.5,1\n", &["line 4", "0.5, before the 1", "in order"]),
    ] {
        fs::write(here.join("bad.csv"), text).unwrap();
        let parts = [&["bad.csv"], parts].concat();
        assert_refused(here, "queue --policy fsp --trace bad.csv --json", 1, &parts);
    }
    assert_refused(here, "queue --policy fsp --trace none.csv", 1, &["cannot read none.csv"]);
    fs::write(here.join("other.csv"), "id,size,arrival\na,2,0\nb,1,0.5\n").unwrap();
    assert_eq!(number(&json(here, "queue --policy fifo --trace other.csv"), "max_response"), 2.5);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for (arguments, part) in [
        ("queue --policy srpt --law exponential:mean=1 --load 1", "the queue grows for ever"),
        ("queue --policy srpt --law exponential:mean=1 --load -1", "above 0 and below 1"),
        ("queue --policy srpt --law exponential:mean=1 --load nan", "above 0 and below 1"),
        ("queue --policy srpt --law exponential:mean=0 --load 0.5", "`mean` is 0"),
        ("queue --policy srpt --law exponential:mean=1e300 --load 0.5", "whose mean is 1e-15"),
        ("queue --policy srpt --law exponential:mean=1", "--load"),
        ("queue --policy srpt", "--law"),
        ("queue --policy srpt --law lognormal:mu=0,sigma=8 --load 0.5", "shorter tail"),
        ("queue --policy srpt --law exponential:mean=1,per-decade=1 --load 0.5", "per-decade"),
        ("queue --policy best --law exponential:mean=1 --load 0.5", "there are ps, fair"),
        ("queue --policy srpt --law exponential:mean=1 --load 0.5 --jobs 0", "--jobs"),
        ("queue --policy srpt --law exponential:mean=1 --load 0.5 --quantum 1", "is exact"),
        ("queue --policy las --law exponential:mean=1 --load 0.5 --quantum 0", "--quantum 0"),
        ("transient --workload W10 --policy srpt", "W1 to W9"),
        ("transient --workload W1 --policy best", "there are ps, fair"),
        ("transient --workload W1 --policy srpt --uplink off", "not a rate of a link"),
        ("transient --workload W1 --policy srpt --duration x", "is not a time"),
        ("transient --workload W1 --policy srpt --duration 20years", "kept in memory"),
    ] {
        assert_refused(here, arguments, 2, &[part]);
    }
}

#[test]
fn overload_that_comes_and_goes() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let found = json(here, "transient --workload W1 --policy protective");
    assert_eq!(found["workload"], "w1");
    assert_eq!(number(&found, "late_vs_ps"), 0.0);
    assert_eq!(number(&found, "duration_seconds"), 150.0);
    assert!(number(&found, "mean_ratio_to_ps") < 0.4, "{found}");
    let to_srpt = number(&found, "mean_ratio_to_srpt");
    assert!((1.0..1.1).contains(&to_srpt), "{found}");
    let all = works(here, "transient --workload w8 --policy all --replications 2 --json");
    assert_eq!(all, works(here, "transient --workload w8 --policy all --replications 2 --json"));
    let all: Value = serde_json::from_str(&all).expect("JSON");
    let policies = all["policies"].as_array().expect("several policies");
    // And processor sharing.
    assert_eq!(policies.len(), weir_sched::PolicyKind::ALL.len() + 1);
    for one in policies {
        assert!(number(one, "mean_ratio_to_srpt") >= 1.0, "{one}");
        assert!(number(one, "mean_response_seconds_ci95") > 0.0, "{one}");
    }
    let text = works(here, "transient --workload W1 --policy ps,srpt --load-is file");
    assert!(text.contains("\nps ") && text.contains("\nsrpt "), "{text}");
}
