//! `weir-lab sim loops` as scripts call it: what its help says, the names in its JSON, who holds others
//! back, and what it refuses.

use crate::programs::{Sim, number, weir_lab};
use crate::support::output_of;
use serde_json::Value;

const SIM: Sim = Sim("loops");

fn rows(result: &Value) -> &[Value] {
    result["rows"].as_array().expect("rows")
}

#[test]
fn the_help_says_what_it_is_for() {
    let help = SIM.works("--help");
    for part in
        ["always have a response each", "--round-trip <LIST>", "at most 1.1 (k+1)", "--seeds <N>"]
    {
        assert!(help.contains(part), "{part:?} is not in {help}");
    }
    let mut all = weir_lab();
    all.args(["sim", "--help"]);
    let all = output_of(all);
    assert!(all.contains("loops"), "{all}");
    assert!(all.contains("clients in closed loops delay others"), "{all}");
}

#[test]
fn who_promises_keeps_it_and_the_measure_tells_who_does_not() {
    let result = SIM.json("--policy protective,srpt --seeds 0 --uplink 8mbit");
    assert!(result["version"].is_string(), "{result}");
    assert_eq!(result["crowds"], Value::Array(Vec::new()));
    for row in rows(&result) {
        for name in ["others", "download_bytes", "alone_s", "most_ratio", "responses_beside"] {
            assert!(number(row, name) > 0.0, "{name}: {row}");
        }
        let fair = 100.0 / (1.0 + number(row, "others"));
        assert!((number(row, "fair_share_percent") - fair).abs() < 1e-9, "{row}");
        assert_eq!(
            (&row["uplink_bits_per_second"], &row["round_trip"]),
            (&8_000_000.into(), &"0".into())
        );
        if row["policy"] == "protective" {
            let ratio = number(row, "ratio");
            assert!((ratio - number(row, "beside_s") / number(row, "alone_s")).abs() < 1e-9);
            assert!(ratio <= number(row, "most_ratio") && row["kept"] == true, "{row}");
            assert!(number(row, "share_percent") > 0.7 * fair, "{row}");
        }
    }
    let broken = |row: &&Value| row["policy"] == "srpt" && row["kept"] == false;
    let broken: Vec<&Value> = rows(&result).iter().filter(broken).collect();
    assert!(broken.iter().any(|row| row["beside"] == "16 KB ranges, connection kept"), "{result}");
    assert!(broken.iter().all(|row| row.get("ratio").is_none()), "{broken:?}");
}

#[test]
fn round_trips_and_uplinks_are_rows() {
    let arguments = "--policy fair --seeds 0 --uplink 8mbit,20mbit --round-trip 0,20ms";
    let result = SIM.json(arguments);
    let one = rows(&SIM.json("--policy fair --seeds 0 --uplink 8mbit")).len();
    assert_eq!(rows(&result).len(), 4 * one);
    assert_eq!(rows(&result)[one]["round_trip"], "20ms");
    let text = SIM.works(arguments);
    assert!(text.contains("Uplink of 20 Mbit/s, round trip 20ms:"), "{text}");
    assert_eq!(text, SIM.works(arguments));
}

#[test]
fn a_workload_with_loops() {
    let arguments = "--policy fair --uplink 100mbit --seeds 2 --workload-uplink 2mbit \
        --duration 20s";
    let result = SIM.json(arguments);
    let crowds = result["crowds"].as_array().expect("seeds");
    assert_eq!((crowds.len(), &result["workload"]), (2, &"w1".into()));
    for (index, crowd) in crowds.iter().enumerate() {
        assert_eq!(number(crowd, "seed"), (index + 1) as f64);
        let (all, open) = (number(crowd, "requests"), number(crowd, "open_requests"));
        assert!(all > 100.0 && (open - all / 2.0).abs() <= 0.5, "{crowd}");
        let (with, without) =
            (number(crowd, "response_ms_mean"), number(crowd, "follows_nobody_ms_mean"));
        assert!((number(crowd, "ratio") - with / without).abs() < 1e-9, "{crowd}");
        assert_eq!(crowd["kept"], with <= 1.05 * without);
    }
    let ratios: Vec<f64> = crowds.iter().map(|crowd| number(crowd, "ratio")).collect();
    let all = number(&result, "crowds_ratio");
    assert!(ratios.iter().any(|one| *one <= all) && ratios.iter().any(|one| *one >= all));
    assert!(SIM.works(arguments).contains("follows nobody"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (arguments, part) in [
        ("--round-trip fast", "\"fast\" is not a time; write such as 500ms"),
        ("--round-trip 2h", "not a time from 0s to 1m"),
        ("--uplink off", "not a rate of a link"),
        ("--policy best", "there are fair"),
        ("--seeds 1001", "--seeds"),
        ("--workload w10", "W1 to W9"),
        ("--law none", "none"),
        ("--duration 20years", "give a shorter --duration"),
    ] {
        let output = SIM.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(part), "{arguments}: {part:?} is not in {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}
