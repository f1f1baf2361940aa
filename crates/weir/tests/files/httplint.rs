//! Shows that httplint, which knows the rules of HTTP, finds nothing bad in any kind of response. The test
//! needs httplint in target/tools (`./test --install`).

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Client, Server, end_of, noise};

/// What httplint calls bad in a response to `method`, as it came over the connection.
fn bad_notes(method: &str, response: &[u8]) -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = tests.join("../../target/tools/httplint/bin/python");
    assert!(python.is_file(), "{} is missing: run ./test --install", python.display());
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("response");
    fs::write(&file, response).expect("a file");
    let mut command = Command::new(python);
    command.arg(tests.join("tests/files/lint_response.py")).arg(method).arg(file);
    let output = end_of(command);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A response with its body, as it came.
fn raw(client: &mut Client, method: &str, rest: &str) -> (u16, Vec<u8>) {
    client.send(format!("{method} {rest}\r\n"));
    let answer = if method == "HEAD" { client.head() } else { client.response() };
    (answer.status, [answer.head.as_bytes(), &answer.body].concat())
}

#[test]
fn nothing_is_bad_about_any_kind_of_response() {
    let site = tempfile::tempdir().unwrap();
    fs::create_dir(site.path().join("directory")).unwrap();
    fs::write(site.path().join("page.html"), "<!DOCTYPE html><title>a</title>").unwrap();
    fs::write(site.path().join("large.bin"), noise(1, 60_000)).unwrap();
    fs::write(site.path().join("empty"), "").unwrap();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    let tag = client.get("/page.html").field("ETag").unwrap().to_owned();
    let modified = client.get("/page.html").field("Last-Modified").unwrap().to_owned();
    let line = |target: &str, fields: &str| format!("{target} HTTP/1.1\r\nHost: weir\r\n{fields}");
    let long = "a".repeat(9000);
    let kinds = [
        ("GET", line("/page.html", ""), 200),
        ("HEAD", line("/page.html", ""), 200),
        ("GET", line("/large.bin", ""), 200),
        ("GET", line("/empty", ""), 200),
        ("GET", line("/page.html", "Connection: close\r\n"), 200),
        ("OPTIONS", line("*", ""), 204),
        ("OPTIONS", line("/page.html", ""), 204),
        ("GET", line("/large.bin", "Range: bytes=0-99\r\n"), 206),
        ("GET", line("/large.bin", "Range: bytes=0-99,1000-\r\n"), 206),
        ("GET", line("/directory", ""), 301),
        ("GET", line("/page.html", &format!("If-None-Match: {tag}\r\n")), 304),
        ("GET", line("/page.html", &format!("If-Modified-Since: {modified}\r\n")), 304),
        ("GET", line("/%zz", ""), 400),
        ("GET", line("/directory/", ""), 403),
        ("GET", line("/missing", ""), 404),
        ("HEAD", line("/missing", ""), 404),
        ("POST", line("/page.html", ""), 405),
        ("TRACE", line("/page.html", ""), 405),
        ("GET", line("/page.html", "If-Match: \"other\"\r\n"), 412),
        ("GET", line(&format!("/{long}"), ""), 414),
        ("GET", line("/large.bin", "Range: bytes=60000-\r\n"), 416),
        ("GET", line("/", &format!("X: {}\r\n", "a".repeat(33_000))), 431),
        ("BREW", line("/page.html", ""), 501),
        ("GET", "/ HTTP/2.0\r\n".to_owned(), 505),
    ];
    let mut found = String::new();
    for (method, rest, status) in &kinds {
        // Some of them end the connection.
        let (answered, response) = raw(&mut server.connect(), method, rest);
        let start = &rest[..rest.len().min(60)];
        assert_eq!(answered, *status, "{method} {start}");
        let notes = bad_notes(method, &response);
        if !notes.is_empty() {
            found += &format!("{status} to {method} {start}:\n{notes}");
        }
    }
    assert!(found.is_empty(), "{found}");
    // It would tell.
    let wrong =
        b"HTTP/1.1 200 OK\r\nDate: never\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na";
    assert!(!bad_notes("GET", wrong).is_empty());
}
