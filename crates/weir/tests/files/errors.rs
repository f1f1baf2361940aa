//! Shows that every request that cannot be answered gets the status that says why, and that the
//! server and its other connections go on.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Client, Server};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// A site with one of everything that must not be given out.
fn site() -> tempfile::TempDir {
    let outer = tempfile::tempdir().expect("a directory");
    let site = outer.path().join("site");
    fs::create_dir_all(site.join("bare")).expect("a directory");
    fs::create_dir_all(site.join(".git")).expect("a directory");
    fs::create_dir_all(site.join("with-directory-as-index/index.html")).expect("a directory");
    for (name, text) in
        [("site/a.txt", "inside"), ("secret", "secret"), ("site/.env", "key"), ("site/.git/x", "x")]
    {
        fs::write(outer.path().join(name), text).expect("a file");
    }
    for (target, link) in [
        ("a.txt", "inside"),
        ("../secret", "outside"),
        ("/etc/passwd", "absolute"),
        ("..", "parent"),
        ("loop-b", "loop-a"),
        ("loop-a", "loop-b"),
        ("/proc/self/root/etc/passwd", "magic"),
        ("gone", "dangling"),
    ] {
        symlink(target, site.join(link)).expect("a symbolic link");
    }
    let mode = Mode::from_raw_mode(0o644);
    mknodat(CWD, site.join("fifo"), FileType::Fifo, mode, 0).expect("a FIFO");
    outer
}

#[test]
fn names_that_are_not_given_out() {
    let outer = site();
    let mut server = Server::of(&outer.path().join("site"), &[]);
    let mut client = server.connect();
    for (path, status) in [
        ("/inside", 200),
        ("/a.txt", 200),
        ("/", 403),
        ("/bare/", 403),
        ("/with-directory-as-index/", 403),
        ("/outside", 403),
        ("/absolute", 403),
        ("/parent/secret", 403),
        ("/magic", 403),
        ("/loop-a", 403),
        ("/fifo", 403),
        ("/missing", 404),
        ("/dangling", 404),
        ("/bare/missing", 404),
        ("/a.txt/", 404),
        ("/a.txt/b", 404),
        ("/.env", 404),
        ("/.git/x", 404),
        ("/.git", 404),
        ("/%2egit/x", 404),
        ("/bare", 301),
        ("/.well-known/nothing", 404),
        ("/../secret", 400),
        ("/bare/../../secret", 400),
        ("/%2e%2e/secret", 400),
        ("/..%2fsecret", 400),
        ("/a.txt%00.html", 400),
        ("/%", 400),
        ("/%zz", 400),
    ] {
        let answer = client.get(path);
        assert_eq!(answer.status, status, "{path}");
        let text = answer.text();
        assert!(!text.contains("secret") && !text.contains("root:"), "{path}: {text}");
    }
    let long = format!("/{}", "n".repeat(300));
    assert_eq!(client.get(&long).status, 404);
    server.assert_alive();
}

#[test]
fn bytes_that_are_no_request_are_refused_and_the_connection_ends() {
    let mut server = Server::builtin(&[]);
    let host = "Host: weir\r\n";
    let many = "X: y\r\n".repeat(101);
    for (request, status) in [
        ("\0\0\0\0".to_owned(), 400),
        ("nonsense\r\n\r\n".to_owned(), 400),
        ("GET /\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\n{host}{host}\r\n"), 400),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\n{host} folded\r\n\r\n"), 400),
        (format!("GET / HTTP/1.1\r\n{host}Space : x\r\n\r\n"), 400),
        (format!("GET nowhere HTTP/1.1\r\n{host}\r\n"), 400),
        (format!("GET /#part HTTP/1.1\r\n{host}\r\n"), 400),
        (format!("GET / HTTP/1.1\r\n{host}Content-Length: x\r\n\r\n"), 400),
        (format!("GET / HTTP/1.1\r\n{host}Content-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400),
        (
            format!(
                "GET / HTTP/1.1\r\n{host}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
            ),
            400,
        ),
        (format!("GET /{} HTTP/1.1\r\n{host}\r\n", "a".repeat(9000)), 414),
        (format!("GET / HTTP/1.1\r\n{host}X: {}\r\n\r\n", "b".repeat(33_000)), 431),
        (format!("GET / HTTP/1.1\r\n{host}{many}\r\n"), 431),
        (format!("GET / HTTP/1.1\r\n{host}Transfer-Encoding: odd\r\n\r\n"), 501),
        (format!("GET / HTTP/2.0\r\n{host}\r\n"), 505),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 505),
        (format!("GET / HTTP/1.1\r\n{host}{}\r\n", "X: y\r\n".repeat(1_000_000)), 431),
    ] {
        let mut client = server.connect();
        // What follows must not be taken for a request. It may close before it has read all.
        let _ = client.try_send(format!("{request}GET /files/1kb.bin HTTP/1.1\r\n{host}\r\n"));
        let answer = client.response();
        let start = &request[..request.len().min(60)];
        assert_eq!(answer.status, status, "{start:?}");
        assert_eq!(answer.field("Connection"), Some("close"), "{start:?}");
        client.assert_closed();
    }
    server.assert_alive();
}

/// What becomes of short bodies is in `unread_bodies.rs`.
#[test]
fn a_large_body_that_nobody_reads_does_not_destroy_the_answer_with_a_reset() {
    let mut server = Server::builtin(&[]);
    let mut client = Client::connect(server.address());
    let body = vec![b'x'; 3_000_000];
    client.send(format!("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: {}\r\n\r\n", body.len()));
    client.send(&body);
    assert_eq!(client.response().status, 405);
    client.assert_closed();
    server.assert_alive();
}
