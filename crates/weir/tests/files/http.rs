//! Shows that files are served as HTTP/1.1 says: connections, types, names, directories, lengths.
//! Conditions and ranges are in `conditional.rs`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::support::{Client, Server, noise};
use tempfile::TempDir;

fn site() -> TempDir {
    let site = tempfile::tempdir().expect("a directory");
    fs::write(site.path().join("a.txt"), "the letter a").expect("a file");
    site
}

#[test]
fn get_and_head_agree_and_head_has_no_body() {
    let site = site();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    let get = client.get("/a.txt");
    assert_eq!((get.status, get.text().as_str()), (200, "the letter a"));
    assert_eq!(get.field("Content-Length"), Some("12"));
    assert_eq!(get.field("Content-Type"), Some("text/plain; charset=utf-8"));
    assert!(get.field("Date").is_some_and(|date| date.ends_with(" GMT")));
    assert_eq!(get.field("Connection"), None);
    client.send("HEAD /a.txt HTTP/1.1\r\nHost: weir\r\n\r\n");
    let head = client.head();
    let without_date = |head: &str| {
        head.lines().filter(|line| !line.starts_with("Date: ")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without_date(&head.head), without_date(&get.head));
    // A body would stand in front of the next response.
    client.send("HEAD /missing HTTP/1.1\r\nHost: weir\r\n\r\n");
    assert_eq!(client.head().status, 404);
    assert_eq!(client.get("/a.txt").text(), "the letter a");
}

#[test]
fn a_connection_carries_many_requests_until_one_of_them_ends_it() {
    let site = site();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    for _ in 0..50 {
        assert_eq!(client.get("/a.txt").text(), "the letter a");
        assert_eq!(client.get("/missing").status, 404);
    }
    let last = client.get_with("/a.txt", "Connection: close\r\n");
    assert_eq!((last.status, last.field("Connection")), (200, Some("close")));
    client.assert_closed();
}

#[test]
fn a_client_of_http_1_0_is_closed_unless_it_asks_to_stay() {
    let site = site();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    client.send("GET /a.txt HTTP/1.0\r\n\r\n");
    let answer = client.response();
    assert_eq!((answer.status, answer.text().as_str()), (200, "the letter a"));
    client.assert_closed();

    let mut client = server.connect();
    for _ in 0..3 {
        client.send("GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
        let answer = client.response();
        assert_eq!((answer.status, answer.field("Connection")), (200, Some("keep-alive")));
    }
    client.send("GET /a.txt HTTP/1.0\r\n\r\n");
    assert_eq!(client.response().status, 200);
    client.assert_closed();
}

#[test]
fn twenty_requests_at_once_are_answered_in_their_order() {
    let site = tempfile::tempdir().unwrap();
    let mut requests = String::new();
    for number in 0..20 {
        // Large ones in between must not be overtaken.
        let size = if number % 5 == 0 { 300_000 } else { 10 + number };
        fs::write(site.path().join(number.to_string()), noise(number as u64, size)).unwrap();
        requests += &format!("GET /{number} HTTP/1.1\r\nHost: weir\r\n\r\n");
    }
    for flags in [&[][..], &["--uplink", "100mbit"]] {
        let server = Server::of(site.path(), flags);
        let mut client = server.connect();
        client.send(&requests);
        for number in 0..20 {
            let body = client.response().body;
            assert!(body == fs::read(site.path().join(number.to_string())).unwrap(), "{number}");
        }
        assert_eq!(server.metrics().value("weir_responses_total", "{status=\"200\"}"), Some(20.0));
    }
}

#[test]
fn the_type_follows_the_name() {
    let site = tempfile::tempdir().unwrap();
    let server = Server::of(site.path(), &[]);
    for (name, media) in [
        ("a.html", "text/html; charset=utf-8"),
        ("a.css", "text/css; charset=utf-8"),
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.PNG", "image/png"),
        ("a.svg", "image/svg+xml; charset=utf-8"),
        ("a.json", "application/json"),
        ("a.unknown-thing", "application/octet-stream"),
        ("README", "application/octet-stream"),
    ] {
        fs::write(site.path().join(name), name).unwrap();
        let answer = server.get(&format!("/{name}"));
        assert_eq!((answer.status, answer.field("Content-Type")), (200, Some(media)), "{name}");
    }
}

#[test]
fn a_directory_is_its_index_and_is_named_with_a_slash() {
    let site = tempfile::tempdir().unwrap();
    fs::create_dir_all(site.path().join("a b/sub")).unwrap();
    fs::write(site.path().join("index.html"), "root").unwrap();
    fs::write(site.path().join("a b/sub/index.html"), "sub").unwrap();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    let root = client.get("/");
    assert_eq!((root.status, root.text().as_str()), (200, "root"));
    assert_eq!(root.field("Content-Type"), Some("text/html; charset=utf-8"));
    let moved = client.get("/a%20b/sub?x=1&y=%2F");
    assert_eq!(moved.status, 301);
    assert_eq!(moved.field("Location"), Some("/a%20b/sub/?x=1&y=%2F"));
    assert_eq!(client.get("/a%20b/sub/?x=1").text(), "sub");
    // Two slashes must not become the name of another host.
    assert_eq!(client.get("//a%20b/sub").field("Location"), Some("/a%20b/sub/"));
    assert_eq!(client.get("http://elsewhere/a%20b/sub/").text(), "sub");
}

#[test]
fn names_are_bytes_however_they_are_encoded() {
    let site = tempfile::tempdir().unwrap();
    for name in [&b"with space"[..], b"100%", b"\xc3\xbcber", b"not-utf8-\xff\xfe", b"a?b#c"] {
        fs::write(site.path().join(OsStr::from_bytes(name)), name).unwrap();
    }
    let server = Server::of(site.path(), &[]);
    for (path, name) in [
        ("/with%20space", &b"with space"[..]),
        ("/w%69th%20space?query", b"with space"),
        ("/100%25", b"100%"),
        ("/%C3%bcber", b"\xc3\xbcber"),
        ("/not-utf8-%FF%fe", b"not-utf8-\xff\xfe"),
        ("/a%3Fb%23c", b"a?b#c"),
        ("/./x/../with%20space", b"with space"),
    ] {
        let answer = server.get(path);
        assert_eq!((answer.status, &answer.body[..]), (200, name), "{path}");
    }
}

#[test]
fn files_of_all_sizes_come_byte_for_byte() {
    let site = tempfile::tempdir().unwrap();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    for size in [0, 1, 1447, 1448, 1449, 4096, 131_071, 131_072, 131_073, 50_000_000] {
        let name = site.path().join(format!("{size}.bin"));
        fs::write(&name, noise(size as u64, size)).unwrap();
        let answer = client.get(&format!("/{size}.bin"));
        assert_eq!((answer.status, answer.body.len()), (200, size));
        assert!(answer.body == fs::read(&name).unwrap(), "the bytes of {size}");
    }
}

#[test]
fn every_address_is_served_ipv6_too() {
    let site = site();
    let server = Server::of(site.path(), &["--listen", "127.0.0.1:0", "--listen", "[::1]:0"]);
    assert!(server.addresses[1].is_ipv6(), "{:?}", server.addresses);
    for address in &server.addresses {
        let answer = Client::connect(*address).get("/a.txt");
        assert_eq!(answer.text(), "the letter a", "{address}; without IPv6 this cannot be tested");
    }
}
