//! Shows that files and directories may change, shrink and vanish while they are served.

use std::fs;

use crate::support::{Client, Response, Server, eventually, noise};
use rustix::fs::{Advice, fadvise};

#[test]
fn a_directory_that_vanishes_is_missed_and_one_that_comes_back_is_served() {
    let outer = tempfile::tempdir().unwrap();
    let site = outer.path().join("site");
    let make = |text: &str| {
        fs::create_dir(&site).unwrap();
        fs::write(site.join("a.txt"), text).unwrap();
    };
    make("before");
    fs::write(site.join("large"), noise(3, 20_000_000)).unwrap();
    let mut server = Server::of(&site, &["--workers", "2"]);
    let mut clients: Vec<Client> = (0..8).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/a.txt").text(), "before");
    }
    let mut download = Client::with_small_buffer(server.address());
    download.ask("/large");
    assert_eq!(download.head().status, 200);
    fs::remove_dir_all(&site).unwrap();
    for client in &mut clients {
        for path in ["/a.txt", "/", "/sub/b.txt"] {
            let answer = client.get(path);
            assert!([503, 404].contains(&answer.status), "{path}: {}", answer.head);
        }
    }
    // What was open is still sent.
    assert!(download.read(20_000_000) == noise(3, 20_000_000), "the bytes of the download");
    make("after");
    for client in &mut clients {
        assert_eq!(client.get("/a.txt").text(), "after");
    }
    server.assert_alive();
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_ends_the_connection_short() {
    let site = tempfile::tempdir().unwrap();
    for flags in [&[][..], &["--uplink", "1gbit"]] {
        let name = site.path().join("file");
        fs::write(&name, noise(4, 50_000_000)).unwrap();
        let mut server = Server::of(site.path(), flags);
        let mut client = Client::with_small_buffer(server.address());
        client.ask("/file");
        let head = client.head();
        assert_eq!(head.field("Content-Length"), Some("50000000"));
        fs::File::options().write(true).open(&name).unwrap().set_len(1_000_000).unwrap();
        let got = client.rest();
        assert!(got.len() < 50_000_000 && got[..] == noise(4, 50_000_000)[..got.len()]);
        let now = server.get("/file");
        assert!(now.body == noise(4, 1_000_000), "the bytes of what is left");
        let said = format!("file {} was truncated while it was sent", name.display());
        eventually("the log names it", || server.log().iter().any(|line| line.contains(&said)));
        server.assert_alive();
    }
}

#[test]
fn what_is_not_in_memory_is_read_from_the_disk() {
    let site = tempfile::tempdir().unwrap();
    let name = site.path().join("file");
    let content = noise(6, 5_000_001);
    fs::write(&name, &content).unwrap();
    for flags in [&[][..], &["--uplink", "1gbit"]] {
        let server = Server::of(site.path(), flags);
        let mut client = server.connect();
        for range in [0..5_000_001, 1_000_001..5_000_000, 4_999_000..5_000_001] {
            // Written back, pages can be dropped; opening alone brings none of them back.
            let file = fs::File::options().append(true).open(&name).unwrap();
            file.sync_all().unwrap();
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
            let fields = format!("Range: bytes={}-{}\r\n", range.start, range.end - 1);
            let answer = client.get_with("/file", &fields);
            assert!(answer.body == content[range.clone()], "the bytes of {range:?}");
        }
    }
}

#[test]
fn what_is_not_in_memory_has_the_tag_of_what_is() {
    let site = tempfile::tempdir().unwrap();
    let name = site.path().join("file");
    for length in [3000, 100_000] {
        fs::write(&name, noise(8, length)).unwrap();
        let forget = || {
            let file = fs::File::options().append(true).open(&name).unwrap();
            file.sync_all().unwrap();
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        };
        let server = Server::of(site.path(), &["--workers", "1"]);
        let tag = |answer: &Response| answer.field("ETag").map(str::to_owned);
        let known = tag(&server.get("/file"));
        for ask in ["GET", "HEAD", "GET"] {
            forget();
            let mut client = server.connect();
            client.send(format!("{ask} /file HTTP/1.1\r\nHost: weir\r\n\r\n"));
            let answer = if ask == "HEAD" { client.head() } else { client.response() };
            assert!(known.is_some() && tag(&answer) == known, "{length}, {ask}: {}", answer.head);
            assert!(ask == "HEAD" || answer.body == noise(8, length), "the bytes of {length}");
        }
        forget();
        let condition = format!("If-None-Match: {}\r\n", known.unwrap());
        assert_eq!(server.connect().get_with("/file", &condition).status, 304);
    }
}

#[test]
fn a_file_that_grows_while_it_is_sent_keeps_its_announced_length() {
    let site = tempfile::tempdir().unwrap();
    let name = site.path().join("file");
    fs::write(&name, noise(5, 30_000_000)).unwrap();
    let server = Server::of(site.path(), &[]);
    let mut client = Client::with_small_buffer(server.address());
    client.ask("/file");
    assert_eq!(client.head().field("Content-Length"), Some("30000000"));
    fs::File::options().write(true).open(&name).unwrap().set_len(40_000_000).unwrap();
    assert!(client.read(30_000_000) == noise(5, 30_000_000), "the bytes of the download");
    // The next response begins where the announced length ends.
    assert_eq!(client.get("/missing").status, 404);
}
