//! Shows that each response is one line of the access log, where it was asked for, and only there.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use crate::support::{Client, Configuration, Server, eventually};

fn read(log: &Path) -> Vec<String> {
    fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Fails unless `line` is `127.0.0.1 - - [date] rest seconds end`.
fn assert_line(line: &str, rest: &str, end: &str) {
    let (peer, after) = line.split_once(" - - [").expect("a peer");
    let (date, after) = after.split_once("] ").expect("a date");
    assert_eq!((peer, date.len()), ("127.0.0.1", "06/Nov/1994:08:49:37 +0000".len()), "{line}");
    let mut words = after.rsplitn(3, ' ');
    let (marker, seconds) = (words.next(), words.next().expect("seconds"));
    assert!(seconds.parse::<f64>().is_ok_and(|seconds| seconds >= 0.0), "{line}");
    assert_eq!((words.next(), marker), (Some(rest), Some(end)), "{line}");
}

/// Lines that were left for the log of an earlier configuration are waited for at the end, but not for ever.
#[test]
fn the_log_before_a_reload_is_waited_for_at_the_end() {
    let configuration = Configuration::new("");
    let socket = configuration.path("journal");
    let journal = UnixDatagram::bind(&socket).unwrap();
    let text = format!("listen = \"127.0.0.1:0\"\naccess_log = \"journal:{}\"\n", socket.display());
    configuration.write(&text);
    let server = configuration.start(1);
    let mut client = server.connect();
    // So many that the kernel does not take all of them unless the journal reads.
    let waiting = fs::read_to_string("/proc/sys/net/unix/max_dgram_qlen").unwrap();
    let lines = 100 + waiting.trim().parse::<usize>().unwrap();
    for _ in 0..lines {
        assert_eq!(client.get("/").status, 200);
    }
    configuration.change("listen = \"127.0.0.1:0\"\naccess_log = \"off\"\n");
    let said = server.stop_and_read_log();
    let stuck = |line: &String| line.contains("is stuck: the last lines are lost");
    assert!(said.iter().any(stuck), "{said:#?}");
    drop(journal);
}

#[test]
fn a_file_gets_a_line_for_each_response() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("access.log");
    fs::write(&log, "what was there\n").unwrap();
    let server = Server::builtin(&["--access-log", log.to_str().unwrap()]);
    let mut client = server.connect();
    let fields = "User-Agent: a \"quoted\" name\r\nReferer: http://x/\r\n";
    assert_eq!(client.get_with("/files/1kb.bin?q", fields).status, 200);
    assert_eq!(client.get_with("/files/10kb.bin", "Range: bytes=10-19\r\n").status, 206);
    client.send("HEAD / HTTP/1.1\r\nHost: weir\r\n\r\n");
    assert_eq!(client.head().status, 200);
    client.send("GET /missing HTTP/1.0\r\n\r\n");
    assert_eq!(client.response().status, 404);
    let mut bad = server.connect();
    bad.send("nonsense\r\n\r\n");
    assert_eq!(bad.response().status, 400);
    eventually("six lines", || read(&log).len() >= 6);
    let lines = read(&log);
    assert_eq!((lines.len(), lines[0].as_str()), (6, "what was there"));
    let agent = "\"http://x/\" \"a \\\"quoted\\\" name\"";
    assert_line(&lines[1], &format!("\"GET /files/1kb.bin?q HTTP/1.1\" 200 1000 {agent}"), "-");
    assert_line(&lines[2], "\"GET /files/10kb.bin HTTP/1.1\" 206 10 \"-\" \"-\"", "-");
    assert_line(&lines[3], "\"HEAD / HTTP/1.1\" 200 0 \"-\" \"-\"", "-");
    assert_line(&lines[4], "\"GET /missing HTTP/1.0\" 404 14 \"-\" \"-\"", "-");
    assert_line(&lines[5], "\"-\" 400 16 \"-\" \"-\"", "-");
}

#[test]
fn a_response_that_did_not_end_is_marked() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("access.log");
    let server = Server::builtin(&["--access-log", log.to_str().unwrap()]);
    let mut client = Client::with_small_buffer(server.address());
    client.ask("/files/1gb.bin");
    client.read(1000);
    client.reset();
    eventually("a line", || !read(&log).is_empty());
    let line = read(&log).remove(0);
    assert!(line.contains("\"GET /files/1gb.bin HTTP/1.1\" 200 "), "{line}");
    assert!(line.ends_with(" cut"), "{line}");
}

#[test]
fn standard_error_gets_the_lines_unless_they_are_off() {
    for (target, logged) in [("stderr", true), ("off", false)] {
        let server = Server::builtin(&["--access-log", target]);
        assert_eq!(server.get("/files/1kb.bin").status, 200);
        let log = server.stop_and_read_log();
        let is_there = log.iter().any(|line| line.contains("GET /files/1kb.bin"));
        assert_eq!(is_there, logged, "{target}: {log:#?}");
    }
}

#[test]
fn all_lines_are_written_when_the_server_ends() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("access.log");
    let server = Server::builtin(&["--access-log", log.to_str().unwrap(), "--workers", "2"]);
    for _ in 0..10 {
        let mut client = server.connect();
        for _ in 0..50 {
            client.ask("/files/1kb.bin");
        }
        for _ in 0..50 {
            assert_eq!(client.response().status, 200);
        }
    }
    assert_eq!(server.stop().code(), Some(0));
    assert_eq!(read(&log).len(), 500);
}
