//! Shows what directories without an index show: lists for people and for programs, of any length, and
//! nothing that is not served.

use std::ffi::OsStr;
use std::fs;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Client, Server, curl, eventually};

fn served(root: &Path, keys: &str) -> Server {
    Server::configured(&format!("root = {root:?}\nlisting = true\n{keys}\n"), &["--workers", "1"])
}

const JSON: &str = "Accept: application/json\r\n";

/// The texts between `before` and the next quotation mark.
fn all_of(text: &str, before: &str) -> Vec<String> {
    let parts = text.split(before).skip(1);
    parts.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

#[test]
fn clients_that_do_not_read_their_lists_keep_nobody_from_one() {
    let site = tempfile::tempdir().unwrap();
    for number in 0..200 {
        fs::write(site.path().join(format!("{number:040}")), "").unwrap();
    }
    let server = served(site.path(), "min_rate = 0\nsend_timeout = \"1h\"");
    // More lists than any buffer takes, so that one waits on each connection.
    let requests = "GET / HTTP/1.1\r\nHost: weir\r\n\r\n".repeat(100);
    let _slow: Vec<Client> = (0..100)
        .map(|_| {
            let mut client = Client::with_small_segments(server.address());
            client.send(&requests);
            client.head();
            client
        })
        .collect();
    eventually("another gets one", || server.get("/").status == 200);
}

#[test]
fn a_directory_without_an_index_is_listed_and_each_link_leads_somewhere() {
    let outer = tempfile::tempdir().unwrap();
    let site = outer.path().join("site");
    fs::create_dir_all(site.join("files/sub dir")).unwrap();
    fs::create_dir_all(site.join("indexed")).unwrap();
    fs::write(site.join("indexed/index.html"), "an index").unwrap();
    let names: [&[u8]; 7] = [
        b"b.txt",
        b"A.txt",
        b"with space & <tags>\"",
        b"javascript:alert(1)",
        b"not-utf8-\xff",
        "über".as_bytes(),
        b"100%?#",
    ];
    for name in names {
        fs::write(site.join("files").join(OsStr::from_bytes(name)), name).unwrap();
    }
    for hidden in [".git", "a.php", "b.txt~"] {
        fs::write(site.join("files").join(hidden), "secret").unwrap();
    }
    fs::write(outer.path().join("secret"), "secret").unwrap();
    symlink("../../secret", site.join("files/out")).unwrap();
    let server = served(&site, "");
    let mut client = server.connect();
    assert_eq!(client.get("/indexed/").text(), "an index");
    assert_eq!(client.get("/files").field("Location"), Some("/files/"));
    let list = client.get("/files/");
    assert_eq!((list.status, list.field("Content-Type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!((list.field("Vary"), list.field("ETag")), (Some("Accept"), None));
    let links = all_of(&list.text(), "<a href=\"");
    assert_eq!(&links[..2], ["../", "sub%20dir/"], "directories come first");
    assert_eq!(links.len(), 2 + names.len(), "{links:?}");
    for link in &links[2..] {
        let file = client.get(&format!("/files/{link}"));
        assert_eq!(file.status, 200, "{link}");
        assert!(names.contains(&&file.body[..]), "{link} leads to a file");
    }
    for hidden in [".git", "a.php", "b.txt~", "out", "<tags>"] {
        assert!(!list.text().contains(&format!(">{hidden}")), "{hidden}");
    }
    // There is nothing above the root.
    assert!(!client.get("/").text().contains("../"));
    client.send("HEAD /files/ HTTP/1.1\r\nHost: weir\r\n\r\n");
    let head = client.head();
    assert_eq!((head.status, head.field("Transfer-Encoding")), (200, None));
    assert_eq!(client.get("/missing/").status, 404);
    // A name that comes is shown.
    fs::write(site.join("files/new"), "new").unwrap();
    eventually("the new file is listed", || client.get("/files/").text().contains("\"new\""));
}

#[test]
fn programs_get_json_and_old_clients_the_end_of_the_connection() {
    let site = tempfile::tempdir().unwrap();
    fs::create_dir(site.path().join("sub")).unwrap();
    fs::write(site.path().join("a \"quoted\".txt"), "12345").unwrap();
    let server = served(site.path(), "headers = { set = { X-Frame-Options = \"DENY\" } }");
    let list = server.connect().get_with("/", JSON);
    assert_eq!(list.field("Content-Type"), Some("application/json"));
    assert_eq!(list.field("X-Frame-Options"), Some("DENY"));
    let text = list.text();
    assert!(text.contains("\"name\":\"a \\\"quoted\\\".txt\""), "{text}");
    assert!(text.contains("\"size\":5") && text.contains("\"type\":\"directory\""), "{text}");
    assert_eq!(all_of(&text, "\"url\":\""), ["sub/", "a%20%22quoted%22.txt"]);
    let url = format!("http://{}/", server.address());
    assert_eq!(curl(&["-H", "Accept: application/json"], &url), text);
    let mut client = server.connect();
    client.send("GET / HTTP/1.0\r\nAccept: application/json\r\n\r\n");
    let head = client.head();
    assert_eq!((head.status, head.field("Connection")), (200, Some("close")));
    assert_eq!(String::from_utf8(client.rest()).unwrap(), text);
}

#[test]
fn without_the_key_nothing_is_listed_and_what_cannot_be_read_is_no_list() {
    let site = tempfile::tempdir().unwrap();
    fs::create_dir(site.path().join("sub")).unwrap();
    let server = Server::of(site.path(), &[]);
    assert_eq!((server.get("/").status, server.get("/sub/").status), (403, 403));
    let server = Server::of(site.path(), &["--listing"]);
    assert!(server.get("/").text().contains("sub/"));
    let route = "[[route]]\npath = \"/sub\"\nfiles = true\nlisting = false";
    let server = served(site.path(), route);
    assert_eq!((server.get("/").status, server.get("/sub/").status), (200, 403));
    fs::remove_dir(site.path().join("sub")).unwrap();
    eventually("it is gone", || server.get("/sub/").status == 404);
}

/// Links are made faster than files; a file can have 65,000 on ext4.
fn fill(directory: &Path, count: usize) {
    fs::create_dir(directory).expect("a directory");
    for number in 0..count {
        let first = directory.join(format!("{:07}", number / 50_000 * 50_000));
        match number % 50_000 {
            0 => fs::write(&first, "x").expect("a file"),
            _ => fs::hard_link(&first, directory.join(format!("{number:07}"))).expect("a link"),
        }
    }
}

#[test]
fn a_large_directory_is_listed_whole_and_in_little_memory() {
    const ENTRIES: usize = 200_000;
    let site = tempfile::tempdir().unwrap();
    fill(&site.path().join("many"), ENTRIES);
    for flags in [&["--workers", "1"][..], &["--uplink", "1gbit"]] {
        let text = format!("root = {:?}\nlisting = true\n", site.path());
        let server = Server::configured(&text, flags);
        let mut client = server.connect();
        let before = server.memory();
        let list = client.get_with("/many/", JSON);
        let more = server.memory().saturating_sub(before);
        let mut names = all_of(&list.text(), "\"name\":\"");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), ENTRIES, "each of them once");
        assert!(more < 20_000_000, "{more} bytes more");
        assert!(client.get("/many/").text().contains("not sorted to its end"));
    }
}

fn loopback(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

/// A client at 127.0.0.`from` that asks for a long list and reads no more than the head; `None`: it was
/// refused.
fn begin_list(server: &Server, from: u8) -> Option<Client> {
    let mut client = Client::with_small_buffer_from(loopback(from), server.address());
    client.ask("/many/");
    let status = client.head().status;
    assert!([200, 503].contains(&status), "{status}");
    (status == 200).then_some(client)
}

/// Whoever begins lists and does not read them keeps neither the others nor much memory.
#[test]
fn lists_that_nobody_reads_are_few() {
    let site = tempfile::tempdir().unwrap();
    fill(&site.path().join("many"), 50_000);
    fs::write(site.path().join("file"), "a file").unwrap();
    let server = served(site.path(), "min_rate = 0\nsend_timeout = \"1h\"");
    let before = server.memory();
    // A client alone has its share, however many connections it has.
    let own: Vec<Client> = (0..100).filter_map(|_| begin_list(&server, 2)).collect();
    assert_eq!(own.len(), 8);
    let mut other = Client::connect_from(loopback(3), server.address());
    for _ in 0..3 {
        let list = other.get_with("/many/", JSON);
        assert_eq!((list.status, all_of(&list.text(), "\"name\":\"").len()), (200, 50_000));
    }
    // Many clients together have all there are.
    let of_many: Vec<Client> = (4..104).filter_map(|from| begin_list(&server, from)).collect();
    assert_eq!(own.len() + of_many.len(), 64);
    let more = server.memory().saturating_sub(before);
    assert!(more < 150_000_000, "{more} bytes more");
    assert_eq!(server.get("/file").text(), "a file");
    drop((own, of_many));
    eventually("the first gets its list", || begin_list(&server, 2).is_some());
}
