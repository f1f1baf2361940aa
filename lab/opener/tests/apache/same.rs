//! Apache answers with the module what it answers without, byte by byte.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use weir_peers::apache::{Asking, Workers};

use crate::server::{Apache, Checked, Start, request};
use crate::support::process::Process;
use crate::support::{eventually, open_directory};

/// A site with something of everything.
fn site(root: &Path) {
    fs::create_dir_all(root.join("with-index")).unwrap();
    fs::create_dir_all(root.join("without")).unwrap();
    fs::write(root.join("with-index/index.html"), "<p>index</p>").unwrap();
    fs::write(root.join("a.txt"), "0123456789".repeat(1000)).unwrap();
    fs::write(root.join("empty"), "").unwrap();
    let big: Vec<u8> = (0..3_000_000_u32).map(|at| (at * 7 + at / 251) as u8).collect();
    fs::write(root.join("big.bin"), big).unwrap();
    fs::write(root.join("unreadable"), "secret").unwrap();
    fs::set_permissions(root.join("unreadable"), Permissions::from_mode(0o600)).unwrap();
    symlink("a.txt", root.join("link")).unwrap();
    symlink("without", root.join("linked-directory")).unwrap();
    fs::write(root.join("without/b"), "b").unwrap();
    symlink("/etc/hostname", root.join("outside")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    // A change within the last second would make a weak tag.
    for name in ["a.txt", "empty", "big.bin", "with-index/index.html", "without/b"] {
        let past = SystemTime::now() - Duration::from_secs(3600);
        File::options().write(true).open(root.join(name)).unwrap().set_modified(past).unwrap();
    }
}

/// Requests for all of it; `etag` is that of a.txt.
fn requests(etag: &str) -> Vec<String> {
    let paths = [
        "/a.txt",
        "/empty",
        "/big.bin",
        "/with-index",
        "/with-index/",
        "/without",
        "/without/",
        "/without/b",
        "/missing",
        "/missing/too",
        "/a.txt/extra",
        "/a.txt/",
        "/unreadable",
        "/link",
        "/linked-directory/b",
        "/outside",
        "/dangling",
        "/with-index/../a.txt",
        "//a.txt",
        "/",
    ];
    let mut requests: Vec<String> = Vec::new();
    for method in ["GET", "HEAD"] {
        requests.extend(paths.iter().map(|path| request(method, path, "")));
    }
    let lines = [
        "Range: bytes=0-9\r\n".to_owned(),
        "Range: bytes=9990-\r\n".to_owned(),
        "Range: bytes=-5\r\n".to_owned(),
        "Range: bytes=20000-\r\n".to_owned(),
        format!("If-None-Match: {etag}\r\n"),
        "If-None-Match: \"other\"\r\n".to_owned(),
        "If-Match: \"other\"\r\n".to_owned(),
        format!("If-Range: {etag}\r\nRange: bytes=3-5\r\n"),
        "If-Range: \"other\"\r\nRange: bytes=3-5\r\n".to_owned(),
        "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n".to_owned(),
        "If-Modified-Since: Thu, 01 Jan 1970 00:00:10 GMT\r\n".to_owned(),
        "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:10 GMT\r\n".to_owned(),
    ];
    requests.extend(lines.iter().map(|lines| request("GET", "/a.txt", lines)));
    requests.push(request("GET", "/big.bin", "Range: bytes=1500000-2500000\r\n"));
    requests.push(request("OPTIONS", "/a.txt", ""));
    requests.push(request("DELETE", "/a.txt", ""));
    requests.push(request("POST", "/a.txt", "Content-Length: 3\r\n") + "abc");
    requests.push(request("GET", "/a.txt", "Content-Length: 3\r\n") + "abc");
    requests
}

/// `refused`: also a FIFO, which Apache itself only refuses where it looks at each part of a name.
fn compare(workers: Workers, checked: Checked, options: &str, refused: bool) {
    for asking in [Asking::Always, Asking::WhereItBlocks] {
        compare_asking(asking, workers, checked, options, refused);
    }
}

fn compare_asking(
    asking: Asking,
    workers: Workers,
    checked: Checked,
    options: &str,
    refused: bool,
) {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    site(&root);
    if refused {
        let mode = Mode::from_raw_mode(0o644);
        mknodat(CWD, root.join("fifo"), FileType::Fifo, mode, 0).unwrap();
    }
    let socket = directory.path().join("socket");
    let mut opener = Process::start(&socket, &root, 1000);
    let start = Start { asking, workers, checked, options, ..Start::WITHOUT };
    let plain = Apache::start(&root, &directory.path().join("plain"), start);
    let start = Start { socket: Some(&socket), ..start };
    let with = Apache::start(&root, &directory.path().join("with"), start);
    let first = String::from_utf8(plain.answer(&request("HEAD", "/a.txt", ""))).unwrap();
    let etag = first.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap();
    let mut requests = requests(etag);
    if refused {
        requests.push(request("GET", "/fifo", ""));
    }
    // The first time a helper opens it, the second time the descriptor is kept; unless nobody is asked.
    for request in requests.iter().chain(&requests) {
        let (expected, found) = (plain.answer(request), with.answer(request));
        let shown =
            |answer: &[u8]| String::from_utf8_lossy(&answer[..answer.len().min(600)]).into_owned();
        assert!(
            expected == found,
            "{asking:?}, {workers:?}, Options {options}, {request}\nwithout:\n{}\nwith:\n{}\n{}",
            shown(&expected),
            shown(&found),
            with.errors()
        );
    }
    eventually("all requests are in the log", || with.accesses().len() == 2 * requests.len());
    let accesses = with.accesses();
    for path in ["/a.txt", "/big.bin", "/empty", "/with-index/index.html", "/without/b"] {
        // Where the kernel does not tell what is in memory, all are the opener's.
        let mut opened = vec![(path.to_owned(), "file".to_owned())];
        if asking == Asking::WhereItBlocks {
            opened.push((path.to_owned(), "memory".to_owned()));
        }
        assert!(opened.iter().any(|line| accesses.contains(line)), "{path}: {accesses:?}");
    }
    let counts = opener.counts();
    if asking == Asking::Always {
        assert!(counts["hits"] > 20 && counts["opened"] >= 5, "{counts:?}");
    }
    assert_eq!((counts["cut"], counts["turned away"]), (0, 0));
}

#[test]
fn under_prefork() {
    compare(Workers::Prefork(4), Checked::No, "None", true);
}

#[test]
fn under_worker() {
    compare(Workers::Worker, Checked::No, "None", true);
}

#[test]
fn under_event() {
    compare(Workers::Event, Checked::No, "None", true);
}

#[test]
fn where_links_are_followed() {
    compare(Workers::Prefork(4), Checked::No, "FollowSymLinks", false);
}

#[test]
fn where_links_of_the_same_owner_are_followed() {
    compare(Workers::Event, Checked::No, "SymLinksIfOwnerMatch", true);
}

#[test]
fn with_sanitizers() {
    compare(Workers::Prefork(2), Checked::Sanitized, "FollowSymLinks", false);
    compare(Workers::Event, Checked::Sanitized, "None", true);
}
