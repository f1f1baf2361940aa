//! Shows that `weir sim replay` tells what policies would have made of a log, in text, JSON and a
//! page, and says what is wrong with a log.

mod support;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use support::{end_of, weir};

/// `weir sim replay` with `arguments`, in `directory`; it must end by itself.
fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = weir();
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
    assert_eq!(
        (&protective["slower_percent"], &protective["latest_s"]),
        (&0.0.into(), &0.0.into())
    );
    near(&protective["largest_response_s"], found["fair"]["largest_response_s"].as_f64().unwrap());
    // First come first served lets every page wait for the rest of the download.
    let fifo = found["policies"].as_array().unwrap().last().unwrap();
    assert_eq!(fifo["policy"], "fifo");
    assert!(fifo["slower_percent"].as_f64() > Some(90.0) && fifo["latest_s"].as_f64() > Some(1.0));
    let text = works(here, &arguments);
    let verdict = "With weir your median request would have taken 11 ms instead of 22 ms while the \
                   uplink was full (0 s to 5 s); no response would have ended later than today.";
    assert!(text.starts_with(verdict), "{text}");
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
    let far =
        [&["log.csv", "--uplink", "8mbit", "--round-trip", "200ms"][..], &["--html", "far.html"]];
    let text = works(here, &far.concat());
    assert!(text.contains("200 ms") && here.join("far.html").exists(), "{text}");
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
    assert!(page.matches("<svg viewBox=\"0 0 5").count() == 4 && page.contains("13:55:36"));
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
    refused(&["access.log", "--uplink", "0mbit"], 2, &["--uplink", "8kbit or more"]);
    refused(&["access.log", "--uplink", "off"], 2, &["such as 10mbit"]);
    let given = |file| [file, "--uplink", "1mbit"];
    refused(&given("none.log"), 1, &["none.log", "No such file"]);
    refused(&given("empty.log"), 1, &["empty.log", "the file is empty"]);
    refused(
        &given("bad.log"),
        1,
        &["bad.log", "line 5", "expected client ident user", "--skip-bad"],
    );
    refused(&given("sizeless.log"), 1, &["sizeless.log", "expected bytes"]);
    let with = |more: &[&'static str]| [&given("access.log"), more].concat();
    refused(&with(&["--policy", "best"]), 2, &["no policy is called \"best\""]);
    refused(&with(&["--policy", "fair"]), 2, &["--policy"]);
    refused(&with(&["--scale-load", "0"]), 2, &["--scale-load", "0.001 to 1000"]);
    refused(&with(&["--html", "nowhere/page.html"]), 1, &["nowhere/page.html"]);
    let skipped = works(here, &["bad.log", "--uplink", "1mbit", "--skip-bad"]);
    assert!(skipped.contains("1 bad records were passed over"), "{skipped}");
    assert!(!here.join("page.html").exists());
}
