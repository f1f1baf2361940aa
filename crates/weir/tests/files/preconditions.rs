//! Shows that a request on a condition that does not hold is refused with 412 (RFC 9110, sections 13.1.1 and
//! 13.1.4), and in which order conditions are judged (section 13.2.2).

use std::fs;
use std::time::{Duration, SystemTime};

use crate::support::{Server, curl, eventually, noise};

const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

fn site() -> tempfile::TempDir {
    let site = tempfile::tempdir().expect("a directory");
    fs::write(site.path().join("file"), noise(1, 40_000)).expect("a file");
    let file = fs::File::options().append(true).open(site.path().join("file")).expect("the file");
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("a time");
    site
}

#[test]
fn a_copy_that_is_no_longer_current_is_refused() {
    let site = site();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    let whole = client.get("/file");
    let tag = whole.field("ETag").unwrap();
    let (modified, date) = (whole.field("Last-Modified").unwrap(), whole.field("Date").unwrap());
    for (condition, status) in [
        (format!("If-Match: {tag}"), 200),
        (format!("If-Match: \"other\", {tag}"), 200),
        (format!("If-Match: \"other\"\r\nIf-Match: {tag}"), 200),
        ("If-Match: \"other\"\r\nIf-Match: \"more\"".to_owned(), 412),
        ("If-Match: *".to_owned(), 200),
        ("If-Match: \"other\"".to_owned(), 412),
        (format!("If-Match: W/{tag}"), 412),
        (format!("If-Match: {}", tag.replace('"', "")), 412),
        ("If-Match:".to_owned(), 412),
        (format!("If-Unmodified-Since: {modified}"), 200),
        (format!("If-Unmodified-Since: {date}"), 200),
        (format!("If-Unmodified-Since: {OLD}"), 412),
        ("If-Unmodified-Since: nonsense".to_owned(), 200),
    ] {
        for method in ["GET", "HEAD"] {
            client.send(format!("{method} /file HTTP/1.1\r\nHost: weir\r\n{condition}\r\n\r\n"));
            let answer = if method == "GET" { client.response() } else { client.head() };
            assert_eq!(answer.status, status, "{method}, {condition}");
            let length = if status == 200 { "40000" } else { "24" };
            assert_eq!(answer.field("Content-Length"), Some(length), "{method}, {condition}");
        }
    }
    fs::write(site.path().join("file"), "changed").unwrap();
    let condition = format!("If-Match: {tag}\r\n");
    eventually("the change shows", || client.get_with("/file", &condition).status == 412);
    // What is not there has no condition that could fail.
    for condition in ["If-Match: *\r\n", "If-Match: \"a\"\r\n"] {
        assert_eq!(client.get_with("/missing", condition).status, 404, "{condition}");
        client.send(format!("OPTIONS /file HTTP/1.1\r\nHost: weir\r\n{condition}\r\n"));
        assert_eq!(client.response().status, 204, "{condition}");
    }
}

#[test]
fn conditions_are_judged_in_their_order() {
    let site = site();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    let whole = client.get("/file");
    let tag = whole.field("ETag").unwrap().to_owned();
    let modified = whole.field("Last-Modified").unwrap().to_owned();
    let (matches, differs) = (format!("If-Match: {tag}\r\n"), "If-Match: \"other\"\r\n".to_owned());
    let range = "Range: bytes=0-9\r\n";
    for (fields, status) in [
        // The tag outweighs the date.
        (format!("{matches}If-Unmodified-Since: {OLD}\r\n"), 200),
        (format!("{differs}If-Unmodified-Since: {modified}\r\n"), 412),
        // What the client wants unchanged comes before what it has already.
        (format!("{matches}If-None-Match: {tag}\r\n"), 304),
        (format!("{differs}If-None-Match: {tag}\r\n"), 412),
        (format!("If-Unmodified-Since: {OLD}\r\nIf-Modified-Since: {modified}\r\n"), 412),
        (format!("If-Unmodified-Since: {modified}\r\nIf-Modified-Since: {modified}\r\n"), 304),
        // Ranges come last.
        (format!("{matches}{range}"), 206),
        (format!("{differs}{range}"), 412),
        (format!("{matches}{range}If-Range: \"other\"\r\n"), 200),
        (format!("{differs}Range: bytes=90000-\r\n"), 412),
        (format!("{matches}Range: bytes=90000-\r\n"), 416),
    ] {
        assert_eq!(client.get_with("/file", &fields).status, status, "{fields}");
    }
}

#[test]
fn curl_is_told_that_the_file_has_changed() {
    let site = site();
    let server = Server::of(site.path(), &[]);
    let url = format!("http://{}/file", server.address());
    let tag = server.get("/file").field("ETag").unwrap().to_owned();
    let here = tempfile::tempdir().unwrap();
    let name = here.path().join("got");
    let name = name.to_str().unwrap();
    curl(&["-H", &format!("If-Match: {tag}"), "-o", name], &url);
    assert!(fs::read(name).unwrap() == noise(1, 40_000));
    let mut refused = crate::support::tool("curl", "curl");
    refused.args(["-q", "--noproxy", "*", "-sS", "--max-time", "60", "-o", "/dev/null"]);
    refused.args(["-w", "%{http_code}", "-H", &format!("If-Unmodified-Since: {OLD}"), &url]);
    assert_eq!(crate::support::output_of(refused), "412");
}
