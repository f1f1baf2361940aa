//! Shows that names and files of any shape are answered with a clear status, and nobody else waits.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Server, noise};

#[test]
fn names_as_long_as_they_get() {
    let site = tempfile::tempdir().unwrap();
    let longest = "n".repeat(255);
    fs::write(site.path().join(&longest), "long").unwrap();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    assert_eq!(client.get(&format!("/{longest}")).text(), "long");
    assert_eq!(client.get(&format!("/{longest}n")).status, 404);
    assert_eq!(client.get(&format!("/{}", "n".repeat(4096))).status, 404);
    // A path of 4096 bytes and more whose segments are short enough.
    for levels in [2040, 2048, 3000] {
        assert_eq!(client.get(&"/d".repeat(levels)).status, 404, "{levels} levels");
    }
    assert_eq!(client.get("/").status, 403);
}

#[test]
fn a_flood_of_long_names_takes_little_memory() {
    const AT_ONCE: usize = 20;
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("file"), "found").unwrap();
    let server = Server::of(site.path(), &["--workers", "1"]);
    let mut client = server.connect();
    assert_eq!(client.get("/file").text(), "found");
    let before = server.memory();
    let long = "/d".repeat(1995);
    for number in (0..30_000).step_by(AT_ONCE) {
        let ask = |number| format!("HEAD /{number}{long} HTTP/1.1\r\nHost: weir\r\n\r\n");
        client.send((number..number + AT_ONCE).map(ask).collect::<String>());
        for _ in 0..AT_ONCE {
            assert_eq!(client.head().status, 404);
        }
    }
    // 64 MB is what the names of a worker may take.
    let more = server.memory().saturating_sub(before);
    assert!(more < 100_000_000, "{more} bytes more");
    assert_eq!(client.get("/file").text(), "found");
}

#[test]
fn links_that_lead_in_circles() {
    let site = tempfile::tempdir().unwrap();
    symlink("b", site.path().join("a")).unwrap();
    symlink("a", site.path().join("b")).unwrap();
    symlink(".", site.path().join("here")).unwrap();
    fs::write(site.path().join("file"), "found").unwrap();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    assert_eq!(client.get("/a").status, 403);
    assert_eq!(client.get("/a/file").status, 403);
    assert_eq!(client.get("/here/here/here/file").text(), "found");
    // More links than the kernel follows.
    assert_eq!(client.get(&format!("{}/file", "/here".repeat(60))).status, 403);
}

#[test]
fn files_of_no_bytes_and_of_five_terabytes() {
    const LENGTH: u64 = 5_000_000_000_000;
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("empty"), "").unwrap();
    fs::File::create(site.path().join("vast")).unwrap().set_len(LENGTH).unwrap();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    for _ in 0..3 {
        let empty = client.get("/empty");
        assert_eq!((empty.status, empty.field("Content-Length")), (200, Some("0")));
        assert_eq!(client.get_with("/empty", "Range: bytes=0-\r\n").status, 416);
        for first in [0, 1_000_000_007, LENGTH - 500_000] {
            let range = format!("Range: bytes={first}-{}\r\n", first + 499_999);
            let part = client.get_with("/vast", &range);
            assert_eq!((part.status, part.body.len()), (206, 500_000));
            assert!(part.body.iter().all(|byte| *byte == 0));
        }
    }
    client.ask("/vast");
    assert_eq!(client.head().field("Content-Length"), Some("5000000000000"));
    assert!(client.read(10_000_000).iter().all(|byte| *byte == 0));
}

/// Makes a directory of files that are called by their numbers. A link costs less than a file; ext4 allows
/// 65,000 to one.
fn fill(directory: &Path, count: u64) {
    fs::create_dir(directory).expect("a directory");
    for number in 0..count {
        let target = directory.join(first_of(number).to_string());
        match first_of(number) == number {
            true => fs::write(&target, noise(number, 100)).expect("a file"),
            false => fs::hard_link(&target, directory.join(number.to_string())).expect("a link"),
        }
    }
}

/// The file that this number is a link to.
fn first_of(number: u64) -> u64 {
    number / 50_000 * 50_000
}

/// Fails unless `list` has each number below `count` once, each behind `before`.
fn assert_has_all(list: &[u8], before: &str, count: u64) {
    let list = std::str::from_utf8(list).expect("a list in UTF-8");
    let names = list.split(before).skip(1).filter_map(|rest| rest.split('"').next());
    let mut numbers: Vec<u64> = names.filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..count), "each of {count} names once");
}

#[test]
fn a_directory_of_200_000_entries() {
    large_directory(200_000);
}

#[test]
#[ignore = "making so many files takes a minute: .ci/full runs it"]
fn a_directory_of_a_million_entries() {
    large_directory(1_000_000);
}

/// All are served and listed.
fn large_directory(entries: u64) {
    let site = tempfile::tempdir().expect("room for a directory");
    fill(&site.path().join("few"), 1000);
    fill(&site.path().join("many"), entries);
    let server = Server::of(site.path(), &["--workers", "1"]);
    let mut client = server.connect();
    for number in (0..entries).step_by(997) {
        let answer = client.get(&format!("/many/{number}"));
        assert!(answer.body == noise(first_of(number), 100), "the bytes of {number}");
        assert_eq!(client.get(&format!("/many/none-{number}")).status, 404);
    }
    assert_eq!(client.get("/many/").status, 403);

    let server = Server::of(site.path(), &["--workers", "1", "--listing"]);
    let mut client = server.connect();
    let formats = [("text/html", "<a href=\""), ("application/json", "\"name\":\"")];
    let mut list = |path: &str, (media, before): (&str, &str), count| {
        let list = client.get_with(path, &format!("Accept: {media}\r\n"));
        assert!(list.head.contains(media), "{}", list.head);
        assert_has_all(&list.body, before, count);
    };
    formats.iter().for_each(|format| list("/few/", *format, 1000));
    let before = server.peak_memory();
    formats.iter().for_each(|format| list("/many/", *format, entries));
    // A list of 200,000 is some 18 MB, and their names in memory are 10 MB.
    let more = server.peak_memory().saturating_sub(before);
    assert!(more < 8_000_000, "{more} bytes more than lists of a thousand take");
}
