//! Shows that `weir-lab load` says what is wrong before anything is sent, and what to do.

use std::fs;
use std::process::Command;

use crate::programs::weir_lab;
use crate::support::{Server, end_of, tool};

/// Fails unless `command` ends with `code` and says all of `parts`.
fn assert_refused(command: Command, code: i32, parts: &[&str]) {
    let what = format!("{command:?}");
    let output = end_of(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{what}: {said}");
    for part in parts {
        assert!(said.contains(part), "{what}: {part:?} is not in {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn load(arguments: &[&str]) -> Command {
    let mut command = weir_lab();
    command.arg("load").args(arguments);
    command
}

#[test]
fn what_makes_no_sense_is_refused_with_what_does() {
    let url = "http://127.0.0.1:9/";
    for (arguments, parts) in [
        (&["127.0.0.1:80"][..], &["no http://", "write such as"][..]),
        (&["ftp://127.0.0.1/"], &["ftp is not spoken here", "write such as"]),
        (&[url, "--rate", "fast"], &["not a rate of requests", "500/s"]),
        (&[url, "--law", "unknown"], &["unknown", "worldcup", "surge", "specweb96"]),
        (&[url, "--load", "1.2", "--uplink", "10mbit"], &["--law or --trace"]),
        (&[url, "--law", "worldcup", "--load", "1.2"], &["--uplink"]),
        (&[url, "--law", "worldcup", "--uplink", "1mbit", "--shape", "W10"], &["W1 to W9"]),
        (
            &[url, "--law", "worldcup", "--uplink", "off", "--load", "1"],
            &["--uplink", "not a rate of a link"],
        ),
        (&[url, "--rate", "5/s", "--closed", "3"], &["cannot be used with"]),
        (&[url, "--law", "surge", "--closed", "5", "--think", "1s"], &["pauses of their own"]),
        (&[url, "--closed", "0"], &["number from 1"]),
        (&[url, "--header", "Host: x"], &["--host"]),
        (&[url, "--host", "a\r\nb"], &["not a name"]),
        (&[url, "--class", "near"], &["near=10.0.0.2,weight=3"]),
        (&[url, "--class", "near=::1"], &["::1", "family"]),
        (&[url, "--class", "a=127.0.0.2", "--class", "a=127.0.0.3"], &["two classes", "a"]),
        (&[url, "--slow-readers", "200%"], &["not a share"]),
        (&[url, "--abort-after", "soon"], &["not a time"]),
        (&[], &["URL"]),
    ] {
        assert_refused(load(arguments), 2, parts);
    }
}

#[test]
fn what_cannot_be_found_or_written_is_named() {
    assert_refused(load(&["http://weir.invalid/"]), 1, &["weir.invalid", "--host"]);
    for flag in ["--records", "--json", "--html"] {
        let arguments = ["http://127.0.0.1:9/", flag, "/nowhere/file"];
        assert_refused(load(&arguments), 1, &[flag, "/nowhere/file", "No such file"]);
    }
}

#[test]
fn a_trace_with_errors_is_refused_with_the_line_unless_they_may_be_skipped() {
    let server = Server::builtin(&[]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.csv");
    let text = "time,client,path,size\n0.0,a,/,1\n0.1,a,/,many\n0.2,b,/,1\n";
    fs::write(&file, text).unwrap();
    let trace = file.to_str().unwrap();
    let url = format!("http://{}/", server.address());
    assert_refused(load(&[&url, "--trace", trace]), 2, &[trace, "line 3", "many", "--skip-bad"]);
    assert_eq!(server.metrics().sum("weir_responses_total"), 0.0, "nothing was sent");
    let flags = ["--trace", trace, "--skip-bad", "--allow-invalid", "--allow-failed", "100%"];
    let output = end_of(load(&[&[url.as_str(), "--json", "-"], &flags[..]].concat()));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("skipped") && said.contains("line 3"), "{said}");
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&figures["requests"], &figures["trace_lines_skipped"]), (&2.into(), &1.into()));

    let empty = directory.path().join("empty.csv");
    fs::write(&empty, "time,client,path,size\n").unwrap();
    let empty = empty.to_str().unwrap();
    assert_refused(load(&[&url, "--trace", empty]), 2, &[empty, "no request"]);
    assert_refused(load(&[&url, "--trace", "/nowhere"]), 2, &["/nowhere", "No such file"]);
}

#[test]
fn too_few_descriptors_are_told_before_the_run() {
    let server = Server::builtin(&[]);
    let url = format!("http://{}/", server.address());
    let mut command = tool("prlimit", "util-linux");
    command.arg("--nofile=200:200").arg(weir_lab().get_program());
    command.args(["load", &url, "--saturate", "1000", "--duration", "1s"]);
    assert_refused(command, 1, &["1000 connections", "200", "ulimit -n"]);
}
