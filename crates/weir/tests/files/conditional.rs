//! Shows that a client's copy is recognised (ETag, Last-Modified) and that parts of a file are sent.
//! Several parts at once are in `ranges.rs`, conditions that are refused in `preconditions.rs`.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::{Response, Server, eventually};
use tempfile::TempDir;

const SIZE: u64 = 100_000;

fn site() -> TempDir {
    let site = tempfile::tempdir().expect("a directory");
    fs::write(site.path().join("file"), crate::support::noise(1, SIZE as usize)).expect("a file");
    set_age(&site.path().join("file"), 3600);
    fs::write(site.path().join("empty"), "").expect("a file");
    site
}

fn set_age(file: &Path, seconds: u64) {
    let file = fs::File::options().append(true).open(file).expect("the file");
    let then = SystemTime::now() - Duration::from_secs(seconds);
    file.set_modified(then).expect("a modification time");
}

/// Puts a file of this content in the place of another, with a time as a build fixes it.
fn put(site: &Path, name: &str, content: &[u8]) {
    let new = site.join("new");
    fs::write(&new, content).expect("a file");
    let fixed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let file = fs::File::options().append(true).open(&new).expect("the file");
    file.set_modified(fixed).expect("a modification time");
    fs::rename(new, site.join(name)).expect("another file in its place");
}

fn etag(response: &Response) -> String {
    response.field("ETag").expect("an ETag").to_owned()
}

#[test]
fn a_copy_with_the_same_tag_is_not_sent_again() {
    let site = site();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    let tag = etag(&client.get("/file"));
    for (condition, status) in [
        (tag.clone(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"other\", {tag}"), 304),
        (format!("\"other\"\r\nIf-None-Match: {tag}"), 304),
        ("*".to_owned(), 304),
        ("\"other\"".to_owned(), 200),
        (tag.replace('"', ""), 200),
    ] {
        let answer = client.get_with("/file", &format!("If-None-Match: {condition}\r\n"));
        assert_eq!(answer.status, status, "{condition}");
        assert_eq!(etag(&answer), tag);
        // A body of 304 would break the next exchange.
        assert_eq!(answer.field("Content-Length").is_some(), status == 200);
    }
    fs::write(site.path().join("file"), "changed").unwrap();
    let changed = format!("If-None-Match: {tag}\r\n");
    eventually("the change shows", || client.get_with("/file", &changed).status == 200);
    let answer = client.get_with("/file", &changed);
    assert_eq!((answer.status, answer.text().as_str()), (200, "changed"));
    assert_ne!(etag(&answer), tag);
    assert_eq!(client.get_with("/missing", "If-None-Match: *\r\n").status, 404);
}

#[test]
fn a_copy_that_is_as_new_is_not_sent_again() {
    let site = site();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    let whole = client.get("/file");
    let modified = whole.field("Last-Modified").unwrap();
    let date = whole.field("Date").unwrap();
    for (since, status) in [
        (modified, 304),
        (date, 304),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 200),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 200),
        ("nonsense", 200),
    ] {
        let answer = client.get_with("/file", &format!("If-Modified-Since: {since}\r\n"));
        assert_eq!(answer.status, status, "{since}");
    }
    // A tag that does not match outweighs the date.
    let fields = format!("If-None-Match: \"other\"\r\nIf-Modified-Since: {date}\r\n");
    assert_eq!(client.get_with("/file", &fields).status, 200);
    set_age(&site.path().join("file"), 60);
    let since = format!("If-Modified-Since: {modified}\r\n");
    eventually("the change shows", || client.get_with("/file", &since).status == 200);
}

#[test]
fn a_range_is_the_same_part_of_the_whole() {
    let site = site();
    let whole = fs::read(site.path().join("file")).unwrap();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    assert_eq!(client.get("/file").field("Accept-Ranges"), Some("bytes"));
    for (range, first, last) in [
        ("0-0", 0, 0),
        ("0-999", 0, 999),
        ("40000-60000", 40_000, 60_000),
        ("99999-", 99_999, 99_999),
        ("50000-", 50_000, 99_999),
        ("-1", 99_999, 99_999),
        ("-500", 99_500, 99_999),
        ("-200000", 0, 99_999),
        ("99000-200000", 99_000, 99_999),
        ("0-99999999999999999999999", 0, 99_999),
    ] {
        let answer = client.get_with("/file", &format!("Range: bytes={range}\r\n"));
        assert_eq!(answer.status, 206, "{range}");
        let place = format!("bytes {first}-{last}/{SIZE}");
        assert_eq!(answer.field("Content-Range"), Some(place.as_str()), "{range}");
        assert!(answer.body == whole[first..=last], "the bytes of {range}");
    }
}

#[test]
fn what_is_no_range_is_ignored_and_what_lies_beyond_is_refused() {
    let site = site();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    for range in
        ["bytes=0-1,5-4", "bytes=5-4", "bytes=a-b", "bytes=-", "bytes", "lines=0-1", "bytes=+1-2"]
    {
        let answer = client.get_with("/file", &format!("Range: {range}\r\n"));
        assert_eq!((answer.status, answer.body.len() as u64), (200, SIZE), "{range}");
    }
    for range in ["bytes=100000-", "bytes=100000-100001", "bytes=-0", "bytes=99999999999999999999-"]
    {
        let answer = client.get_with("/file", &format!("Range: {range}\r\n"));
        assert_eq!(answer.status, 416, "{range}");
        assert_eq!(answer.field("Content-Range"), Some("bytes */100000"));
    }
    client.send("HEAD /file HTTP/1.1\r\nHost: weir\r\nRange: bytes=0-1\r\n\r\n");
    let head = client.head();
    assert_eq!((head.status, head.field("Content-Length")), (200, Some("100000")));
    assert_eq!(client.get_with("/missing", "Range: bytes=0-1\r\n").status, 404);
}

#[test]
fn a_range_of_an_older_copy_gets_the_whole() {
    let site = site();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    let whole = client.get("/file");
    let (tag, modified) = (etag(&whole), whole.field("Last-Modified").unwrap());
    for (condition, status) in [
        (tag.as_str(), 206),
        (modified, 206),
        ("\"other\"", 200),
        (&format!("W/{tag}"), 200),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 200),
    ] {
        let fields = format!("Range: bytes=10-19\r\nIf-Range: {condition}\r\n");
        let answer = client.get_with("/file", &fields);
        let length = if status == 206 { 10 } else { SIZE as usize };
        assert_eq!((answer.status, answer.body.len()), (status, length), "{condition}");
    }
    // The condition comes first: the client's copy is whole and current.
    let fields = format!("Range: bytes=10-19\r\nIf-None-Match: {tag}\r\n");
    assert_eq!(client.get_with("/file", &fields).status, 304);
}

/// Lengths whose tags come about in different ways: small, of up to 128 KB, larger.
const LENGTHS: [usize; 4] = [11, 32_769, 131_072, 300_000];

#[test]
fn two_contents_never_have_the_same_tag() {
    let site = tempfile::tempdir().unwrap();
    let server = Server::of(site.path(), &["--workers", "1"]);
    let mut client = server.connect();
    for length in LENGTHS {
        let [first, second, third] = [1, 2, 3].map(|seed| crate::support::noise(seed, length));
        put(site.path(), "file", &first);
        eventually("it is there", || client.get("/file").body == first);
        let tag = etag(&client.get("/file"));
        put(site.path(), "file", &second);
        eventually("the change shows", || client.get("/file").body == second);
        let other = etag(&client.get("/file"));
        assert_ne!(other, tag, "{length}");
        // The file itself is written anew, and has the time that it had.
        fs::write(site.path().join("file"), &third).unwrap();
        set_age(&site.path().join("file"), 3600);
        eventually("the change shows", || client.get("/file").body == third);
        assert!(![&tag, &other].contains(&&etag(&client.get("/file"))), "{length}");
        for old in [tag, other] {
            let answer = client.get_with("/file", &format!("If-None-Match: {old}\r\n"));
            assert!(answer.status == 200 && answer.body == third, "{length}: {}", answer.head);
            let fields = format!("Range: bytes=5-9\r\nIf-Range: {old}\r\n");
            let answer = client.get_with("/file", &fields);
            assert!(answer.status == 200 && answer.body == third, "{length}: {}", answer.head);
        }
    }
}

#[test]
fn a_tag_lasts_as_long_as_the_content_and_large_downloads_are_resumed() {
    let site = tempfile::tempdir().unwrap();
    for length in LENGTHS {
        let content = crate::support::noise(4, length);
        put(site.path(), "file", &content);
        let server = Server::of(site.path(), &["--workers", "2"]);
        let tag = || etag(&server.get("/file"));
        // That of a large file only once it has not changed for two seconds.
        eventually("the tag stays the same", || tag() == tag());
        let lasting = tag();
        assert_eq!(lasting.as_bytes().first(), Some(&b'"'), "it is a strong one");
        for _ in 0..10 {
            let fields = format!("Range: bytes=7-\r\nIf-Range: {lasting}\r\n");
            let rest = server.connect().get_with("/file", &fields);
            assert!(rest.status == 206 && rest.body == content[7..], "{length}: {}", rest.head);
            let same = format!("If-None-Match: {lasting}\r\n");
            assert_eq!(server.connect().get_with("/file", &same).status, 304, "{length}");
        }
        let again = Server::of(site.path(), &[]);
        assert_eq!(etag(&again.get("/file")), lasting, "{length}: another server says the same");
    }
}

#[test]
fn replicas_have_the_same_tags_for_files_of_up_to_128_kb() {
    let sites = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for length in LENGTHS {
        for (site, age) in sites.iter().zip([60, 3600]) {
            let file = site.path().join("file");
            fs::write(&file, crate::support::noise(5, length)).unwrap();
            set_age(&file, age);
        }
        let tags = [0, 1].map(|site| etag(&Server::of(sites[site].path(), &[]).get("/file")));
        assert_eq!(tags[0] == tags[1], length <= 131_072, "{length}: {tags:?}");
    }
}

#[test]
fn an_empty_file_has_no_parts() {
    let site = site();
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    let answer = client.get("/empty");
    assert_eq!((answer.status, answer.field("Content-Length")), (200, Some("0")));
    assert_eq!(client.get_with("/empty", "Range: bytes=0-\r\n").status, 416);
    let answer = client.get_with("/empty", "Range: bytes=-5\r\n");
    assert_eq!((answer.status, answer.body.len()), (200, 0));
}
