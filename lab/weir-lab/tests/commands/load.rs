//! Shows that `weir-lab load` sends what it was asked to and reports what came back. Whether figures
//! are valid is the machine's affair and decides no test.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Output, Stdio};

use crate::programs::weir_lab;
use crate::support::{Server, end_of, eventually, tool};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use weir_stats::{Outcome, Record, RecordReader};

/// `weir-lab load` with `flags` and no word of the machine; it must end with `code`.
fn load(url: &str, flags: &[&str], code: i32) -> Output {
    let mut command = weir_lab();
    command.args(["load", url, "--allow-invalid"]).args(flags);
    let output = end_of(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{flags:?}: {said}");
    output
}

/// The same, and its figures.
fn figures(url: &str, flags: &[&str], code: i32) -> Value {
    let output = load(url, &[&["--json", "-"], flags].concat(), code);
    serde_json::from_slice(&output.stdout).expect("standard output is JSON and nothing else")
}

fn number(figures: &Value, name: &str) -> u64 {
    let count = figures[name].as_u64();
    assert!(count.is_some(), "{name} is no count in {figures:#}");
    count.unwrap_or_default()
}

/// Fails unless every request had this outcome; how many there were.
fn all(figures: &Value, outcome: &str) -> u64 {
    let requests = number(figures, "requests");
    assert!(requests > 0, "nothing was sent");
    assert_eq!(number(&figures["outcomes"], outcome), requests, "{:#}", figures["outcomes"]);
    requests
}

fn url(address: SocketAddr, path: &str) -> String {
    format!("http://{address}{path}")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// As when its terminal has gone: what is said fails, what was asked for is written all the same.
#[test]
fn files_are_written_though_nobody_can_be_told() {
    let server = stuck();
    let url = url(server.local_addr().unwrap(), "/");
    let out = tempfile::tempdir().unwrap();
    for (number, display) in [&["--plain"][..], &["--json", "-"]].into_iter().enumerate() {
        let html = out.path().join(format!("{number}.html"));
        let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = weir_lab();
        command.args(["load", &url, "--rate", "20/s", "--duration", "2s", "--drain", "100ms"]);
        command.args(display).arg("--html").arg(&html);
        let status = command.stdout(full()).stderr(full()).status().unwrap();
        // Standard output cannot be written.
        assert_eq!(status.code(), Some(1), "{display:?}");
        assert!(fs::read_to_string(&html).unwrap().contains("</html>"), "{display:?}");
    }
}

/// A server that takes connections and never says anything.
fn stuck() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("a free port")
}

#[test]
fn every_output_tells_of_the_same_requests() {
    let server = Server::builtin(&[]);
    let out = tempfile::tempdir().unwrap();
    let file = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    let (json, records, html) = (file("out.json"), file("out.csv.zst"), file("out.html"));
    let flags = ["--rate", "200/s", "--duration", "1s", "--seed", "7"];
    let files = ["--json", &json, "--records", &records, "--html", &html];
    let url = url(server.address(), "/files/1kb.bin");
    let output = load(&url, &[&flags[..], &files].concat(), 0);

    let figures: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let requests = all(&figures, "ok");
    assert!((100..300).contains(&requests), "200/s for a second were {requests}");
    assert_eq!(figures["seed"], 7);
    assert_eq!(figures["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(number(&figures, "received_body_bytes"), requests * 1000);
    assert_eq!(number(&figures, "connections"), requests);
    for name in ["response_ms_mean", "response_ms_p50", "response_ms_p999", "start_lag_us_p99"] {
        assert!(figures[name].as_f64().is_some_and(|value| value > 0.0), "{name}");
    }
    for name in ["p50", "p99", "p999", "max"].map(|rank| format!("read_lag_us_{rank}")) {
        assert!(figures[&name].is_f64(), "{name}");
    }
    assert_eq!(figures["slowdown_mean"], Value::Null);
    let seconds = figures["by_second"].as_array().unwrap();
    assert_eq!(seconds.iter().map(|second| number(second, "requests")).sum::<u64>(), requests);

    let records: Vec<Record> = RecordReader::open(&records).unwrap().map(Result::unwrap).collect();
    assert_eq!(records.len() as u64, requests);
    assert!(records.iter().all(|r| r.outcome == Outcome::Ok && r.size == 1000 && r.attempts == 1));
    let slowest = records.iter().filter_map(Record::response_time).fold(0.0, f64::max) * 1e3;
    let max = figures["response_ms_max"].as_f64().unwrap();
    assert!((max / slowest - 1.0).abs() < 0.01, "{max} ms in JSON, {slowest} ms in records");

    let page = fs::read_to_string(&html).unwrap();
    assert!(page.contains("<svg") && page.contains(&url) && page.contains("</html>"));
    assert!(page.contains("read lag"), "{page}");
    for outside in ["src=", "href=", "@import", "url("] {
        assert!(!page.contains(outside), "the page needs {outside}");
    }
    let (summary, plan) = (text(&output.stdout), text(&output.stderr));
    assert!(summary.contains(&format!("requests     {requests} in")), "{summary}");
    assert!(summary.contains("\nread lag     p50 "), "{summary}");
    assert!(plan.contains("200/s, Poisson arrivals") && plan.contains("seed"), "{plan}");

    server.wait_for_metric("weir_responses_total", requests as f64);
    let again = self::figures(&url, &flags, 0);
    assert_eq!(all(&again, "ok"), requests, "the same seed gives the same requests");
}

#[test]
fn a_law_asks_for_documents_under_the_url_and_load_is_a_share_of_the_uplink() {
    let site = tempfile::tempdir().unwrap();
    fs::create_dir(site.path().join("docs")).unwrap();
    fs::write(site.path().join("docs/1000.bin"), [7; 1000]).unwrap();
    let server = Server::of(site.path(), &[]);
    let url = url(server.address(), "/docs");
    // 1000 bytes are 1200 with the head, one packet and the connection: 1472 on the wire.
    let flags = ["--law", "deterministic:size=1000", "--uplink", "10mbit", "--duration", "1s"];
    let flags = [&flags[..], &["--arrivals", "even"]].concat();
    let wire = figures(&url, &[&flags[..], &["--load", "0.5"]].concat(), 0);
    let expected = 0.5 * 10e6 / 8.0 / 1472.0;
    let requests = all(&wire, "ok") as f64;
    assert!((requests - expected).abs() < 2.0, "{requests} are not {expected}");
    assert!(wire["slowdown_mean"].as_f64().is_some_and(|slowdown| slowdown > 0.0));
    let flags = [&flags[..], &["--load-is", "file", "--shape", "1s@0.5,1s@9"]].concat();
    let output = load(&url, &flags, 0);
    let summary = text(&output.stdout);
    let sent = summary.split_whitespace().nth(1).and_then(|number| number.parse::<i32>().ok());
    assert!(sent.is_some_and(|sent| (sent - 625).abs() <= 2), "{summary}");
    let plan = text(&output.stderr);
    assert!(plan.contains("file bytes") && plan.contains("0.5 for 1 s, 9 for 1 s"), "{plan}");
}

#[test]
fn users_share_connections_and_send_the_head_they_are_told_to() {
    let listener = stuck();
    let address = listener.local_addr().unwrap();
    let reader = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heads = Vec::new();
        for _ in 0..2 {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                std::io::Read::read_exact(&mut stream, &mut byte).unwrap();
                head.push(byte[0]);
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            heads.push(text(&head));
        }
        heads
    });
    let flags = ["--requests-per-connection", "2", "--saturate", "1", "--duration", "100ms"];
    let head = ["--header", "X-Who: me", "--host", "example.org", "--drain", "100ms"];
    // Nobody answers after two.
    load(&url(address, "/a?b=c"), &[&flags[..], &head, &["--allow-failed", "100%"]].concat(), 0);
    for head in reader.join().unwrap() {
        assert!(head.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nHost: example.org\r\n"), "{head}");
        assert!(head.contains("\r\nX-Who: me\r\n"), "{head}");
    }
}

#[test]
fn impatient_users_give_up_and_try_again() {
    let stuck = stuck();
    let url = url(stuck.local_addr().unwrap(), "/");
    let rate = ["--rate", "20/s", "--duration", "300ms"];
    let abort = ["--abort-after", "50ms", "--retries", "2"];
    let figures = figures(&url, &[&rate[..], &abort].concat(), 3);
    let requests = all(&figures, "abandoned");
    assert_eq!(number(&figures, "retries"), 2 * requests);
    assert_eq!(figures["response_ms_p50"], Value::Null);
    let output = load(&url, &[&rate[..], &["--drain", "50ms"]].concat(), 3);
    assert!(text(&output.stdout).contains("unfinished"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("requests failed"), "{}", text(&output.stderr));
}

#[test]
fn a_refusing_server_is_no_fast_server() {
    let listener = stuck();
    let url = url(listener.local_addr().unwrap(), "/");
    drop(listener);
    let rate = ["--rate", "100/s", "--duration", "300ms"];
    let figures = figures(&url, &[&rate[..], &["--retries", "1"]].concat(), 3);
    let requests = all(&figures, "refused");
    assert_eq!(number(&figures, "retries"), requests);
    assert_eq!(figures["response_ms_mean"], Value::Null);
    load(&url, &[&rate[..], &["--allow-failed", "100%"]].concat(), 0);
}

#[test]
fn another_status_is_not_mixed_into_response_times() {
    let server = Server::builtin(&[]);
    let rate = ["--rate", "100/s", "--duration", "300ms"];
    let figures = figures(&url(server.address(), "/missing"), &rate, 3);
    let requests = all(&figures, "status");
    assert_eq!(figures["response_ms_mean"], Value::Null);
    assert_eq!(figures["statuses"], serde_json::json!({ "404": requests }));
    let output = load(&url(server.address(), "/missing"), &rate, 3);
    let (summary, said) = (text(&output.stdout), text(&output.stderr));
    let named = |line: &str| line.split_whitespace().next() == Some("404");
    assert!(summary.lines().any(named), "{summary}");
    assert!(said.contains("requests failed (with status 404: "), "{said}");
}

/// Nobody should have to wait for the end of a run against a port where nothing listens.
#[test]
fn a_run_ends_when_everything_is_refused() {
    let listener = stuck();
    let url = url(listener.local_addr().unwrap(), "/");
    drop(listener);
    let rate = ["--rate", "100/s", "--duration", "1h"];
    let figures = figures(&url, &rate, 3);
    assert_eq!(figures["ended_early"], true);
    let output = load(&url, &rate, 3);
    assert!(text(&output.stderr).contains("so nothing listens at 127.0.0.1:"));
}

#[test]
fn closed_and_saturating_users_are_as_many_as_asked() {
    let server = Server::builtin(&[]);
    let url = url(server.address(), "/files/1kb.bin");
    let flags = ["--saturate", "4", "--duration", "300ms"];
    let saturated = figures(&url, &flags, 0);
    assert!(all(&saturated, "ok") > 4);
    assert_eq!(number(&saturated, "connections_most_open"), 4);
    let flags = ["--closed", "3", "--think", "10ms", "--duration", "500ms"];
    let closed = figures(&url, &flags, 0);
    assert!(all(&closed, "ok") > 3);
    assert!(number(&closed, "connections_most_open") <= 3);
}

#[test]
fn classes_come_from_their_addresses_in_their_shares() {
    let server = Server::builtin(&[]);
    let url = url(server.address(), "/files/1kb.bin");
    let classes = ["--class", "near=127.0.0.2,weight=3", "--class", "far=127.0.0.3"];
    let rate = ["--rate", "400/s", "--duration", "1s"];
    let figures = figures(&url, &[&rate[..], &classes].concat(), 0);
    let classes = figures["by_class"].as_array().unwrap();
    let share = number(&classes[0], "requests") as f64 / all(&figures, "ok") as f64;
    assert_eq!((&classes[0]["name"], &classes[1]["name"]), (&"near".into(), &"far".into()));
    assert!((0.65..0.85).contains(&share), "{share}");
}

#[test]
fn a_trace_is_replayed_with_its_own_times() {
    let server = Server::builtin(&[]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.csv");
    let rows = "0.0,a,/1kb.bin,1000\n2.0,b,/10kb.bin,10000\n8.0,a,/1kb.bin,1000\n";
    fs::write(&file, format!("time,client,path,size\n{rows}")).unwrap();
    let trace = file.to_str().unwrap();
    let base = url(server.address(), "/files/");
    let records = directory.path().join("r.zst");
    let flags = ["--trace", trace, "--speed", "20", "--records", records.to_str().unwrap()];
    let figures = figures(&base, &flags, 0);
    assert_eq!(all(&figures, "ok"), 3);
    let mut at: Vec<f64> =
        RecordReader::open(&records).unwrap().map(|record| record.unwrap().scheduled).collect();
    at.sort_by(f64::total_cmp);
    for (at, expected) in at.iter().zip([0.0, 0.1, 0.4]) {
        assert!((at - expected).abs() < 1e-6, "{at} is not {expected}");
    }
    let output = load(&base, &["--trace", trace, "--load", "2", "--uplink", "1mbit"], 0);
    let plan = text(&output.stderr);
    assert!(plan.contains("3 requests") && plan.contains("2, of 1 Mbit/s"), "{plan}");
}

#[test]
fn a_run_can_be_ended_early_and_is_reported() {
    let server = Server::builtin(&[]);
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("out.json");
    let mut command = weir_lab();
    command.args(["load", &url(server.address(), "/files/1kb.bin"), "--duration", "1h"]);
    command.args(["--allow-invalid", "--allow-failed", "100%", "--json"]).arg(&json);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    eventually("a request is sent", || server.metrics().sum("weir_responses_total") > 1.0);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let figures: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(figures["ended_early"], true);
    assert!(number(&figures, "requests") > 0);
}

/// `script` (Debian package bsdutils) gives the program a terminal.
#[test]
fn on_a_terminal_a_live_view_is_shown_until_somebody_ends_it() {
    let server = Server::builtin(&[]);
    let url = url(server.address(), "/files/1kb.bin");
    let program = Path::new(weir_lab().get_program()).to_str().unwrap().to_owned();
    let line =
        format!("stty rows 24 cols 80; '{program}' load {url} --duration 1h --allow-invalid");
    let directory = tempfile::tempdir().unwrap();
    let typescript = directory.path().join("typescript");
    let mut command = tool("script", "bsdutils");
    command.args(["--quiet", "--flush", "--return", "--command", &line]).arg(&typescript);
    command.env("TERM", "xterm").env("SHELL", "/bin/sh");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let shown = || fs::read(&typescript).map(|bytes| text(&bytes)).unwrap_or_default();
    // Words, for what is between them is skipped.
    let words = ["scheduled", "p99.9", "received"];
    eventually("the view is shown", || words.iter().all(|word| shown().contains(word)));
    child.stdin.as_mut().unwrap().write_all(b"q").unwrap();
    let mut ended = None;
    eventually("q ends the run", || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    let screen = shown();
    assert!(screen.contains("\x1b[?1049h") && screen.contains("\x1b[?1049l"), "{screen}");
    let after = screen.rsplit("\x1b[?1049l").next().unwrap();
    assert!(after.contains("ended early") && after.contains("p99.9"), "{screen}");
}
