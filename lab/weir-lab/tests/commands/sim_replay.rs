//! Shows that `weir-lab sim replay` tells what policies would have made of a log, in text, JSON and a
//! page, and says what is wrong with a log.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::programs::weir_lab;
use crate::support::end_of;
use serde_json::Value;

/// `weir-lab sim replay` with `arguments`, in `directory`; it must end by itself.
fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = weir_lab();
    command.current_dir(directory).args(["sim", "replay"]).args(arguments);
    end_of(command)
}

fn works(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

fn json(directory: &Path, arguments: &[&str]) -> Value {
    let text = works(directory, &[arguments, &["--json"]].concat());
    assert_eq!(text.lines().count(), 1);
    serde_json::from_str(&text).expect("JSON")
}

fn assert_refused(directory: &Path, arguments: &[&str], code: i32, parts: &[&str]) {
    let output = run(directory, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    for part in parts {
        assert!(said.contains(part), "{arguments:?}: {part:?} is not in {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

/// A download of 5 MB and twenty pages of 10 KB while it lasts.
fn one_download(directory: &Path) {
    let mut log = "time,client,path,size\n0,a,/big,5000000\n".to_owned();
    for page in 0..20 {
        let _ = writeln!(log, "{},b,/page{page},10000", 1.0 + f64::from(page) / 10.0);
    }
    fs::write(directory.join("log.csv"), log).expect("a file is written");
}

const LOG: &str = r#"10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a.html HTTP/1.0" 200 1000
10.0.0.2 - - [10/Oct/2000:13:55:36 +0000] "GET /b.gif HTTP/1.1" 200 -
10.0.0.1 - - [10/Oct/2000:13:55:38 +0000] "POST /form HTTP/1.0" 200 5
10.0.0.2 - - [10/Oct/2000:13:55:46 +0000] "GET /img/ HTTP/1.0" 200 2000
"#;

#[test]
fn pages_no_longer_share_with_the_download() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    one_download(here);
    let arguments = ["log.csv", "--uplink", "8mbit", "--uplink-pace", "1"];
    let found = json(here, &arguments);
    assert_eq!((&found["requests"], &found["full"]["spans"]), (&21.into(), &1.into()));
    // 10 000 bytes, 200 of the head, 8 packets and the connection, shared with one other.
    let alone = (10_200.0 + 8.0 * 66.0 + 206.0) / 1e3;
    let near = |value: &Value, expected: f64| {
        let value = value.as_f64().expect("a number");
        assert!((value - expected).abs() < 0.02 * expected + 1e-3, "{value} {expected}");
    };
    near(&found["fair"]["while_full"]["response_ms_p50"], 2.0 * alone);
    let protective = &found["policies"][0];
    assert_eq!(protective["policy"], "protective");
    near(&protective["while_full"]["response_ms_p50"], alone);
    near(&protective["faster_percent"], 100.0 * 20.0 / 21.0);
    assert_eq!(protective["slower_percent"], 0.0);
    let same = found["same_within_ms"].as_f64().expect("a number");
    assert!(protective["latest_s"].as_f64() <= Some(same / 1e3), "{protective}");
    near(&protective["largest_response_s"], found["fair"]["largest_response_s"].as_f64().unwrap());
    // First come first served lets every page wait for the rest of the download.
    let fifo = found["policies"].as_array().unwrap().last().unwrap();
    assert_eq!(fifo["policy"], "fifo");
    assert!(fifo["slower_percent"].as_f64() > Some(90.0) && fifo["latest_s"].as_f64() > Some(1.0));
    let text = works(here, &arguments);
    let verdict = "With weir your median request would have taken 11 ms instead of 22 ms while the \
                   uplink was full (0 s to 5 s); no response would have ended later than today.";
    assert!(text.starts_with(verdict), "{text}");
    // It would not be "little" if the pages waited for seconds.
    let worse = works(here, &[&arguments[..], &["--policy", "fifo"]].concat());
    let verdict = "With weir under fifo the mean response would have taken longer, 3.";
    assert!(worse.starts_with(verdict), "{worse}");
    // Ten times the traffic, and only the policies that were asked for.
    let more = [&arguments[..], &["--scale-load", "10", "--policy", "srpt,fair"]].concat();
    let more = json(here, &more);
    assert_eq!(more["policies"].as_array().map(Vec::len), Some(1));
    near(&more["span_s"], 0.29);
}

#[test]
fn through_the_gate_clients_have_their_own_lines() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    one_download(here);
    let arguments = ["log.csv", "--uplink", "8mbit", "--client-rate", "4mbit", "--policy", "srpt"];
    let slow = json(here, &arguments);
    // Half of the uplink is left to the pages whatever the policy, so none is sooner by much.
    let median = |times: &Value| times["response_ms_p50"].as_f64().expect("a number");
    assert!((median(&slow["fair"]) - median(&slow["policies"][0])).abs() < 8.0, "{slow}");
    assert!(slow["fair"]["largest_response_s"].as_f64() > Some(10.0), "{slow}");
    // Half of the uplink is free, and what waits may wait for its client.
    assert_eq!(slow["full"]["spans"], 0);
    assert_eq!(slow["full"].get("peak_backlog_bytes"), None);
    let far = ["log.csv", "--uplink", "8mbit", "--round-trip", "200ms"];
    let text = works(here, &[&far[..], &["--html", "far.html"]].concat());
    assert!(text.contains("200 ms") && !text.contains("backlog "), "{text}");
    let page = fs::read_to_string(here.join("far.html")).expect("a page");
    assert_eq!(page.matches("<svg viewBox=\"0 0 5").count(), 3);
    // The last byte needs half a round trip to its client.
    let far = json(here, &far);
    assert!((100.0..200.0).contains(&median(&far["policies"][0])), "{far}");
    assert!(far["full"]["spans"].as_u64() > Some(0), "{far}");
}

#[test]
fn what_no_full_second_shows_is_said_too() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    // Every two seconds four downloads share half a second with pages.
    let mut log = "time,client,path,size\n".to_owned();
    for begin in (0..20).step_by(2) {
        for _ in 0..4 {
            let _ = writeln!(log, "{begin},a,/big,100000");
        }
        for page in 1..4 {
            let _ = writeln!(log, "{begin}.{page},b,/page,2000");
        }
    }
    fs::write(here.join("log.csv"), log).unwrap();
    let text = works(here, &["log.csv", "--uplink", "8mbit"]);
    let verdict = "Your uplink was never full for as long as a second; with weir the mean response \
                   of 1 KB to 10 KB would have taken 2.";
    assert!(text.starts_with(verdict), "{text}");
    // Full, but nobody comes in a full second.
    fs::write(here.join("one.csv"), "time,client,path,size\n0.5,a,/big,5000000\n").unwrap();
    let page = ["one.csv", "--uplink", "8mbit", "--html", "one.html"];
    let text = works(here, &page);
    assert!(text.starts_with("Your uplink was full (1 s to 5 s), but no request came"), "{text}");
}

#[test]
fn times_of_a_table_count_from_its_first_request() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let log = "time,client,path,size\n5000000.5,a,/big,5000000\n5000001,a,/page,1000\n";
    fs::write(here.join("log.csv"), log).unwrap();
    let found = json(here, &["log.csv", "--uplink", "8mbit"]);
    assert_eq!(
        (&found["span_s"], &found["full"]["longest"][0]["from_s"]),
        (&1.0.into(), &1.0.into())
    );
    assert_eq!((found.get("seed"), found.get("began")), (None, None));
    let whole = json(here, &["log.csv", "--uplink", "8mbit", "--whole-seconds"]);
    assert_eq!(whole["seed"], 0);
}

#[test]
fn an_uplink_that_is_never_full_needs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("access.log"), LOG).unwrap();
    let arguments = ["access.log", "--uplink", "100mbit", "--html", "page.html"];
    let text = works(here, &arguments);
    assert!(text.starts_with("Your uplink was never full; weir would change nothing."), "{text}");
    let page = fs::read_to_string(here.join("page.html")).unwrap();
    assert!(page.contains("Your uplink was never full; weir would change nothing."), "{page}");
    for outside in ["http://", "https://", "src=", "url(", "@import", "<link", "<script", "NaN"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<svg viewBox=\"0 0 5").count(), 4);
    for said in [&text, &page] {
        assert!(said.contains("13:55:36 to 13:55:46 UTC on 2000-10-10"), "{said}");
    }
    let found = json(here, &["access.log", "--uplink", "100mbit"]);
    assert_eq!((&found["unknown_sizes"], &found["records_left_out"]), (&1.into(), &1.into()));
    assert_eq!((&found["seed"], &found["began"]), (&0.into(), &"2000-10-10T13:55:36Z".into()));
    // The same seed places requests in their second alike.
    let again = works(here, &["access.log", "--uplink", "100mbit", "--json"]);
    assert_eq!(again, works(here, &["access.log", "--uplink", "100mbit", "--json"]));
    assert_ne!(
        again,
        works(here, &["access.log", "--uplink", "100mbit", "--json", "--spread-seed", "1"])
    );
}

#[test]
fn a_second_in_many_minutes_is_hardly_ever() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mut log = "time,client,path,size\n".to_owned();
    for tenth in 0..5000 {
        let size = if tenth == 1000 { 1_000_000 } else { 1000 };
        let _ = writeln!(log, "{},a,/x,{size}", f64::from(tenth) / 10.0);
    }
    fs::write(here.join("log.csv"), log).unwrap();
    let text = works(here, &["log.csv", "--uplink", "8mbit"]);
    let (verdict, _) = text.split_once('\n').expect("lines");
    for part in ["hardly ever full (", "weir would change", "no response would have ended"] {
        assert!(verdict.contains(part), "{part:?} is not in {verdict}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("access.log"), LOG).unwrap();
    fs::write(here.join("empty.log"), "").unwrap();
    fs::write(here.join("bad.log"), format!("{LOG}nonsense here\n")).unwrap();
    let none = LOG.replace("200 1000", "200 -").replace("200 2000", "200 -");
    fs::write(here.join("sizeless.log"), none).unwrap();
    let refused = |arguments: &[&str], code, parts: &[&str]| {
        assert_refused(here, arguments, code, parts);
    };
    refused(&["access.log"], 2, &["--uplink"]);
    refused(
        &["access.log", "--uplink", "0mbit"],
        2,
        &["--uplink", "not a rate of a link from 1bit"],
    );
    refused(&["access.log", "--uplink", "off"], 2, &["not a rate of a link"]);
    let given = |file| [file, "--uplink", "1mbit"];
    refused(&given("none.log"), 1, &["none.log", "No such file"]);
    refused(&given("empty.log"), 1, &["empty.log", "the file is empty"]);
    refused(
        &given("bad.log"),
        1,
        &["bad.log", "line 5", "expected client ident user", "--skip-bad"],
    );
    refused(&given("sizeless.log"), 1, &["sizeless.log", "expected bytes"]);
    let late = LOG.replace("13:55:46", "13:55:06");
    fs::write(here.join("late.log"), &late).unwrap();
    refused(&given("late.log"), 1, &["late.log", "line 4", "--reorder 10m"]);
    let said = run(here, &given("late.log")).stderr;
    assert!(!String::from_utf8_lossy(&said).contains("--skip-bad"));
    let in_order = works(here, &[&given("late.log")[..], &["--reorder", "10m"]].concat());
    assert!(in_order.contains("13:55:06 to 13:55:36 UTC"), "{in_order}");
    let huge = LOG.replace("200 2000", "200 200000000000000000");
    fs::write(here.join("huge.log"), huge).unwrap();
    refused(&given("huge.log"), 1, &["huge.log", "request 3", "bytes"]);
    let scaled = [&given("huge.log")[..], &["--scale-load", "2"]].concat();
    refused(&scaled, 1, &["--scale-load 2"]);
    let with = |more: &[&'static str]| [&given("access.log"), more].concat();
    refused(&with(&["--policy", "best"]), 2, &["no policy is called \"best\""]);
    refused(&with(&["--policy", "fair"]), 2, &["--policy"]);
    refused(&with(&["--scale-load", "0"]), 2, &["--scale-load", "0.001 to 1000"]);
    refused(&with(&["--html", "nowhere/page.html"]), 1, &["nowhere/page.html"]);
    let skipped = works(here, &["bad.log", "--uplink", "1mbit", "--skip-bad"]);
    assert!(skipped.contains("1 bad records were skipped"), "{skipped}");
    let paged = [&given("bad.log")[..], &["--html", "page.html"]].concat();
    refused(&paged, 1, &["bad.log"]);
    let left: Vec<_> = fs::read_dir(here).unwrap().flatten().map(|file| file.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("page")), "{left:?}");
}
