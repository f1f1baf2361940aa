//! `weir-lab sim backend` as scripts call it: the names in its JSON, rows, a drop of the load, shapes,
//! and what it refuses.

use crate::programs::{Sim, number};

const SIM: Sim = Sim("backend");

#[test]
fn overload_as_json() {
    let arguments = "--load 300% --patience 5s --retries 1 --duration 120s --warm-up 30s --seeds 4";
    let result = SIM.json(arguments);
    assert!(number(&result, "useful_work_percent") > 90.0, "{result}");
    for name in [
        "useful_percent",
        "useful_percent_ci95",
        "useful_work_percent_ci95",
        "mean_response_seconds",
        "mean_answer_seconds",
        "p99_answer_seconds",
        "utilisation_percent",
        "wasted_work_percent",
        "limit_mean",
        "requests_per_client",
        "mean_successful_size_bytes",
    ] {
        assert!(number(&result, name) >= 0.0, "{name}: {result}");
    }
    let outcomes = ["success_percent", "refused_percent", "timed_out_percent"];
    let sum: f64 = outcomes.iter().map(|name| number(&result, name)).sum();
    assert!((sum - 100.0).abs() < 1e-9, "{result}");
    assert_eq!(result["success_by_class"].as_array().map(Vec::len), Some(4));
    assert_eq!(number(&result, "faults"), 0.0);
    for (name, value) in
        [("system", "weir"), ("order", "adaptive"), ("limit", "auto"), ("law", "carter")]
    {
        assert_eq!(result[name], value, "{name}");
    }
    for (name, value) in
        [("patience_seconds", 5.0), ("retries", 1.0), ("warm_up_seconds", 30.0), ("seed", 1.0)]
    {
        assert_eq!(number(&result, name), value, "{name}");
    }
    assert_eq!(number(&result["application"], "gap_seconds"), 0.0002);
    assert!(result["version"].is_string() && result.get("recovery").is_none());
    assert_eq!(SIM.works(arguments), SIM.works(arguments));
}

#[test]
fn loads_orders_and_the_papers_server_are_rows() {
    let arguments = "--load 50,300% --order fifo,newest-first --limit 2 --beside --duration 60s \
        --warm-up 60s --seeds 2";
    let result = SIM.json(arguments);
    let rows = result["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 12);
    let row = |place: usize, load: f64, system: &str, order: &str| {
        let row = &rows[place];
        assert_eq!(number(row, "load_percent"), load);
        assert_eq!((&row["system"], &row["order"]), (&system.into(), &order.into()));
        number(row, "useful_percent")
    };
    row(0, 50.0, "weir", "fifo");
    assert!(row(7, 300.0, "weir", "newest-first") > 80.0, "{result}");
    assert_eq!(row(8, 300.0, "carter", "regular"), 0.0, "livelock");
    row(9, 300.0, "carter", "check");
    row(10, 300.0, "carter", "abort");
    assert!(row(11, 300.0, "carter", "srpt-purge") > 250.0, "{result}");
    assert!((number(&rows[0], "limit_mean") - 2.0).abs() < 1e-9, "{result}");
    let text = SIM.works(arguments);
    assert_eq!(text.lines().count(), 16, "{text}");
    for part in ["carter srpt-purge", "weir newest-first", "patience 5 s, retries 0; each 2 × 60 s"]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn the_load_drops_and_newcomers_are_watched() {
    let result = SIM.json("--load 300 --drop-to 50% --after 30s --warm-up 30s --seeds 4");
    let recovery = &result["recovery"];
    assert_eq!(number(recovery, "load_after_percent"), 50.0);
    assert_eq!(number(recovery, "dropped_after_seconds"), 35.0);
    assert!(number(recovery, "usual_response_seconds") < 0.2, "{result}");
    assert!(number(recovery, "recovery_seconds") < 10.0, "{result}");
    number(recovery, "first_second_lost_percent");
    assert_eq!(number(&result, "duration_seconds"), 30.0);
    let text = SIM.works("--load 300 --drop-to 50% --after 30s --warm-up 30s --seeds 4");
    for part in ["recovered", "s after the drop to 50 %", "by class", "learned patience"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn shapes_and_clients_who_never_leave() {
    let result = SIM.json("--shape 30s@0.5,30s@3 --seeds 2 --interval 20");
    assert_eq!(result["shape"], "30s@0.5,30s@3");
    assert_eq!(number(&result, "load_percent"), 175.0);
    assert_eq!(number(&result, "duration_seconds"), 60.0);
    assert_eq!(result["intervals"].as_array().map(Vec::len), Some(3));
    let patient = SIM.json("--load 50 --patience inf --order fifo --duration 60s --seeds 2");
    assert_eq!(number(&patient, "timed_out_percent"), 0.0);
    assert!(patient.get("patience_seconds").is_none());
}

#[test]
fn what_cannot_be_is_refused() {
    for (arguments, part) in [
        ("--patience 5s", "--load"),
        ("--load 0", "the load is 0 %; give above 0"),
        ("--load -5", "the load is -5 %; give above 0"),
        ("--load many", "\"many\" is not a number of percent"),
        ("--load 300 --patience 0", "the patience is 0 seconds; give"),
        ("--load 300 --patience soon", "\"soon\" is not a time"),
        ("--load 300 --duration inf", "\"inf\" is not a time"),
        ("--load 300 --duration -5", "\"-5\" is not a time"),
        ("--load 300 --gap 2m", "the hand-over gap is 120 seconds"),
        ("--load 300 --workers 0", "the number of workers is 0"),
        ("--load 300 --workers 2 --beside", "one request at a time"),
        ("--load 300 --patience inf --beside", "clients with a patience"),
        ("--load 300 --order best", "--order"),
        ("--load 300 --limit 0", "--limit"),
        ("--load 300 --retry-refused", "at least one retry"),
        ("--load 300 --after 10s", "--drop-to"),
        ("--load 300 --drop-to 0", "the load after the drop is 0 %"),
        ("--load 300 --drop-to 50 --patience inf", "clients with a patience"),
        ("--shape w1 --drop-to 50", "cannot be used with"),
        ("--load 300 --shape w1", "cannot be used with"),
        ("--load 300 --seeds 0", "--seeds"),
        ("--load 300 --retries 1001", "the number of retries is 1001"),
        ("--load 300 --law lognormal:mu=0,sigma=8", "shorter tail"),
        ("--shape w1 --interval 0.001 --seeds 100000", "longer --interval"),
    ] {
        let output = SIM.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(part), "{arguments}: {part:?} is not in {said}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}

#[test]
fn several_applications_are_rows_and_a_grid() {
    let arguments = "--load 150,200% --law constant --law exponential --workers 1,2 \
        --mean-service 1ms,10ms --gap 0.02ms,1ms --patience 1s --warm-up 2s --duration 3s --seeds 1";
    let result = SIM.json(arguments);
    let rows = result["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 32);
    for (place, law, workers, rate, gap, load) in [
        (0, "deterministic:size=1", 1.0, 1000.0, 0.00002, 150.0),
        (3, "deterministic:size=1", 1.0, 1000.0, 0.001, 200.0),
        (4, "deterministic:size=1", 1.0, 100.0, 0.00002, 150.0),
        (8, "deterministic:size=1", 2.0, 1000.0, 0.00002, 150.0),
        (31, "exponential:mean=1", 2.0, 100.0, 0.001, 200.0),
    ] {
        let row = &rows[place];
        assert_eq!(row["law"], law, "{row}");
        assert_eq!(number(&row["application"], "workers"), workers, "{row}");
        assert_eq!(number(&row["application"], "gap_seconds"), gap, "{row}");
        assert_eq!(number(row, "service_rate_per_second"), rate, "{row}");
        assert_eq!(number(row, "load_percent"), load, "{row}");
    }
    let grid = SIM.works(arguments);
    let lines: Vec<&str> = grid.lines().collect();
    assert_eq!(lines.len(), 3 + 8, "{grid}");
    assert!(lines[1].starts_with("gap") && lines[1].ends_with("1 ms"), "{grid}");
    assert!(lines[10].starts_with("exponential:mean=1, 2 × 10 ms"), "{grid}");
    let last = rows[31]["useful_work_percent"].as_f64().map(|share| format!("{share:.1}"));
    assert!(last.is_some_and(|last| lines[10].ends_with(&last)), "{grid}");
}

#[test]
fn each_order_has_a_line_of_its_own_in_a_grid() {
    let grid = SIM.works(
        "--load 150,200% --law constant --mean-service 1ms,2ms --order fifo,adaptive --beside \
        --patience 1s --warm-up 2s --duration 3s --seeds 1",
    );
    let lines: Vec<&str> = grid.lines().collect();
    assert_eq!(lines.len(), 3 + 4, "{grid}");
    assert!(lines[2].ends_with("200 %") && lines[2].matches('%').count() == 2, "{grid}");
    for (line, order) in lines[3..].iter().zip(["fifo", "adaptive", "fifo", "adaptive"]) {
        assert!(line.contains(&format!(" ms, {order} ")), "{grid}");
    }
}
