//! Shows that `weir-lab sim model` and `weir-lab sim inversion` give the figures of the formulas, as JSON
//! for scripts and as text for people, and say what is wrong with what they are asked.

use std::fs;
use std::process::Output;

use crate::programs::weir_lab;
use crate::support::end_of;
use serde_json::Value;

fn run(arguments: &str) -> Output {
    let mut command = weir_lab();
    command.arg("sim").args(arguments.split(' '));
    end_of(command)
}

fn stdout(arguments: &str) -> String {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

fn json(arguments: &str) -> Value {
    let text = stdout(&format!("{arguments} --json"));
    assert_eq!(text.lines().count(), 1, "{text}");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["version"], env!("CARGO_PKG_VERSION"));
    value
}

/// Fails unless the command ends with `code` and says all of `parts`.
fn assert_refused(arguments: &str, code: i32, parts: &[&str]) {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
    assert!(parts.iter().all(|part| said.contains(part)), "{arguments}: {said}");
    assert!(!said.contains("panicked") && output.stdout.is_empty(), "{arguments}: {said}");
}

fn assert_near(value: &Value, wanted: f64, within: f64) {
    let found = value.as_f64().unwrap_or(f64::NAN);
    assert!((found - wanted).abs() <= within, "{value} is not {wanted}");
}

#[test]
fn mg1_gives_means_and_the_slowdown_of_large_jobs() {
    for (policy, wanted) in [("srpt", 3.552), ("psjf", 4.052), ("ps", 10.0), ("las", 10.0)] {
        let found =
            json(&format!("model mg1 --policy {policy} --law exponential:mean=1 --load 0.9"));
        assert_near(&found["mean_response"], wanted, wanted * 1e-3);
        assert!(found["mean_slowdown"].as_f64().is_some(), "{found}");
        assert!(found.get("size").is_none() && found.get("percentile").is_none(), "{found}");
    }
    let law = "--law bounded-pareto:min=1,max=1e4,alpha=1.1 --load 0.9";
    let found = json(&format!("model mg1 --policy srpt {law} --percentile 99 --size 10"));
    assert_near(&found["slowdown_at_percentile"], 2.134_680_7, 1e-6);
    assert_near(&found["size_at_percentile"], 65.558_470_8, 1e-6);
    let (response, slowdown) = (&found["response_at_size"], &found["slowdown_at_size"]);
    assert_near(response, 10.0 * slowdown.as_f64().expect("a number"), 1e-9);
    // FIFO has a mean response time here, but no mean slowdown.
    let arguments = "model mg1 --policy fifo --law exponential:mean=1 --load 0.9";
    assert!(json(arguments).get("mean_slowdown").is_none());
    let said = String::from_utf8(run(arguments).stderr).expect("text");
    assert!(said.contains("no mean slowdown"), "{said}");
    let text = stdout(&format!("model mg1 --policy srpt {law} --percentile 99"));
    assert!(text.contains("mean response time                  17.9577\n"), "{text}");
}

#[test]
fn mm1k_gives_the_useful_throughput() {
    for (load, timeout, wanted) in
        [("1", 1025, 0.986_578), ("1.01", 1000, 0.773_709), ("3", 1000, 0.223_355)]
    {
        let found = json(&format!("model mm1k --k 1025 --timeout {timeout} --load {load}"));
        assert_near(&found["useful_throughput"], wanted, 1e-5);
    }
    let found = json("model mm1k --k 1025 --timeout 900 --load 3 --cv 3.7");
    assert_near(&found["overload_limit_normal"], 0.1457, 1e-3);
    let text = stdout("model mm1k --k 1025 --timeout 1000 --load 3");
    assert!(text.contains("useful throughput                   0.223355\n"), "{text}");
}

#[test]
fn onoff_gives_both_orders_and_the_cutoff() {
    let law = "model onoff --law exponential:mean=1 --high-load 1.5 --period 100";
    let found = json(&format!("{law} --size 4"));
    assert_near(&found["fair"], 80.62, 0.01);
    assert_near(&found["srpt"], 86.26, 0.01);
    assert_near(&found["cutoff_size"], 2.289, 0.001);
    assert_near(&json(&format!("{law} --size 1"))["fair"], 27.41, 0.01);
    let slower = json(&format!("{law} --size 4 --low-load 0.2"));
    assert!(slower["fair"].as_f64() > found["fair"].as_f64(), "{slower}");
    assert!(stdout(&format!("{law} --size 4")).contains("backlog gone after"));
}

#[test]
fn what_makes_no_sense_is_refused_with_what_is_expected() {
    let mg1 = "model mg1 --policy srpt --law exponential:mean=1";
    assert_refused(&format!("{mg1} --load 1"), 2, &["the load is 1;", "below 1"]);
    assert_refused(&format!("{mg1} --load -1"), 2, &["the load is -1;"]);
    assert_refused(&format!("{mg1} --load NaN"), 2, &["the load is NaN;"]);
    assert_refused(&format!("{mg1} --load 0.5 --percentile 101"), 2, &["percentile is 101"]);
    assert_refused(&format!("{mg1} --load 0.5 --percentile 100"), 2, &["percentile is 100"]);
    assert_refused(&format!("{mg1} --load 0.5 --size 0"), 2, &["size is 0"]);
    assert_refused(&format!("{mg1} --load 0.5 --size 1e200"), 2, &["size is 1", "1e15 times"]);
    assert_refused(&format!("{mg1},per-decade=1 --load 0.5"), 2, &["leave `per-decade` out"]);
    let tiny = "model mg1 --policy srpt --law exponential:mean=1e-200 --load 0.5";
    assert_refused(tiny, 2, &["its mean is 1e-200", "1e-15 to 1e15"]);
    assert_refused("model mg1 --policy srpt --law x --load 0.5", 2, &["no law of sizes `x`"]);
    assert_refused("model mg1 --policy fsp --law surge --load 0.5", 2, &["fsp", "srpt"]);
    assert_refused("model mm1k --k 0 --timeout 1 --load 1", 2, &["k is 0"]);
    assert_refused("model mm1k --k 5 --timeout -1 --load 1", 2, &["timeout is -1"]);
    assert_refused("model mm1k --k 5 --timeout 1 --load 1 --cv 0", 2, &["variation is 0"]);
    let onoff = "model onoff --law exponential:mean=1 --size 1";
    assert_refused(&format!("{onoff} --period 1 --high-load 1"), 2, &["high load is 1;"]);
    assert_refused(&format!("{onoff} --period 0 --high-load 2"), 2, &["period is 0;"]);
    let high = format!("{onoff} --period 1 --high-load 1e300");
    assert_refused(&high, 2, &["high load is 1", "at most 1000000"]);
    assert_refused(&format!("{onoff} --high-load 2 --period 1e300"), 2, &["period is 1", "1e15"]);
    let low = format!("{onoff} --period 1 --high-load 2 --low-load 1");
    assert_refused(&low, 2, &["low load is 1;"]);
}

#[test]
fn inversion_reads_sizes_and_latencies() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("found.csv");
    let file = path.to_str().expect("a name without spaces");
    // The paper's example: sizes A < B < C < D < E, observed B, C, A, D, E.
    fs::write(&path, "size,latency\n1,0.3\n2, 0.1\n3,0.2\n40,0.4\n5e2,0.5\n").unwrap();
    let found = json(&format!("inversion {file}"));
    assert_near(&found["inversion"], 4.0 / 12.0, 1e-12);
    assert_eq!(found["requests"], 5);
    assert!(stdout(&format!("inversion {file}")).contains("service inversion 0.333333\n"));
    for (text, parts) in [
        ("size,latency\n1,2\nx,3\n", ["line 3", "size is `x`"]),
        ("size,latency\n1,-2\n", ["line 2", "latency is `-2`"]),
        ("size,latency\n1,NaN\n", ["line 2", "latency is `NaN`"]),
        ("size,latency\n1,\n", ["line 2", "latency is ``"]),
        ("size,latency\n1,2,3\n", ["line: 2", "3 fields"]),
        ("size,latency\n1,2\n", ["1 requests", "two or more"]),
        ("", ["line 1", "size,latency"]),
    ] {
        fs::write(&path, text).unwrap();
        assert_refused(&format!("inversion {file}"), 1, &parts);
    }
    fs::write(&path, "bytes,latency\n1,2\n").unwrap();
    assert_refused(&format!("inversion {file}"), 1, &["line 1", "no column size"]);
    assert_refused("inversion /nowhere/at/all.csv", 1, &["/nowhere/at/all.csv"]);
}
