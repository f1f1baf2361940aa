//! Shows that several ranges come as parts of one response (RFC 9110, section 15.3.7.2): from memory, from
//! disk, over the uplink; and that no list of ranges makes more work than a download.

use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::support::{Client, Response, Server, curl, noise};
use rustix::fs::{Advice, fadvise};

/// The ways a server sends: at once, and over the uplink's gate.
const WAYS: [&[&str]; 2] = [&[], &["--uplink", "1gbit"]];

/// A part of a response.
#[derive(Debug)]
struct Part {
    media: String,
    range: String,
    bytes: Vec<u8>,
}

/// The parts of a response, read as strictly as there is.
#[track_caller]
fn parts_of(answer: &Response) -> Vec<Part> {
    assert_eq!((answer.status, answer.field("Content-Range")), (206, None), "{}", answer.head);
    let media = answer.field("Content-Type").expect("a type");
    let boundary = media.strip_prefix("multipart/byteranges; boundary=").expect(media);
    let mut delimiter = format!("--{boundary}\r\n");
    let (mut rest, mut parts) = (&answer.body[..], Vec::new());
    while let Some(part) = rest.strip_prefix(delimiter.as_bytes()) {
        let end = part.windows(4).position(|four| four == b"\r\n\r\n").expect("an empty line");
        let head = String::from_utf8(part[..end].to_vec()).expect("a head in ASCII");
        let field = |name: &str| {
            let value = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.expect(name).to_owned()
        };
        let range = field("Content-Range");
        let numbers = range.strip_prefix("bytes ").and_then(|range| range.split_once('/'));
        let (first, last) = numbers.and_then(|(span, _)| span.split_once('-')).expect(&range);
        let number = |text: &str| text.parse::<usize>().expect("an offset");
        let from = end + 4;
        let to = from + number(last) + 1 - number(first);
        parts.push(Part { media: field("Content-Type"), range, bytes: part[from..to].to_vec() });
        rest = &part[to..];
        delimiter = format!("\r\n--{boundary}\r\n");
    }
    assert_eq!(String::from_utf8_lossy(rest), format!("\r\n--{boundary}--\r\n"));
    parts
}

#[test]
fn a_type_of_the_configuration_is_that_of_the_parts() {
    let site = tempfile::tempdir().expect("a directory");
    let whole = noise(7, 1000);
    fs::write(site.path().join("a.txt"), &whole).expect("a file");
    let root = site.path();
    for (headers, media) in [
        ("set = { Content-Type = \"text/x-own\" }", "text/x-own"),
        ("remove = [\"Content-Type\"]", "text/plain; charset=utf-8"),
    ] {
        let text = format!("root = {root:?}\n[headers]\n{headers}\n");
        let server = Server::configured(&text, &[]);
        let mut client = server.connect();
        for _ in 0..3 {
            let answer = ask_for(&mut client, "/a.txt", "0-9,500-509");
            assert_parts(&answer, &whole, &[0..10, 500..510]);
            let parts = parts_of(&answer);
            assert!(parts.iter().all(|part| part.media == media), "{parts:?}");
        }
    }
}

fn ask_for(client: &mut Client, path: &str, ranges: &str) -> Response {
    client.get_with(path, &format!("Range: bytes={ranges}\r\n"))
}

#[track_caller]
fn assert_parts(answer: &Response, whole: &[u8], expected: &[Range<usize>]) {
    let parts = parts_of(answer);
    let total = whole.len();
    let range = |range: &Range<usize>| format!("bytes {}-{}/{total}", range.start, range.end - 1);
    let expected_ranges: Vec<String> = expected.iter().map(range).collect();
    let ranges: Vec<&str> = parts.iter().map(|part| part.range.as_str()).collect();
    assert_eq!(ranges, expected_ranges);
    for (part, expected) in parts.iter().zip(expected) {
        assert!(part.bytes == whole[expected.clone()], "the bytes of {expected:?}");
    }
}

/// Drops what the kernel has of a file.
fn forget(name: &Path) {
    let file = fs::File::options().append(true).open(name).expect("the file is there");
    file.sync_all().expect("it can be written back");
    fadvise(&file, 0, None, Advice::DontNeed).expect("content can be forgotten");
}

#[test]
fn several_ranges_are_parts_of_one_response() {
    let site = tempfile::tempdir().unwrap();
    for flags in WAYS {
        let server = Server::of(site.path(), flags);
        let mut client = server.connect();
        // Kept in memory, read into it, and sent from the file.
        for size in [5000, 100_000, 5_000_000] {
            let (path, whole) = (format!("/{size}.txt"), noise(size as u64, size));
            fs::write(site.path().join(&path[1..]), &whole).unwrap();
            for _ in 0..3 {
                let answer = ask_for(&mut client, &path, "0-99,1000-1999, -100");
                assert_parts(&answer, &whole, &[0..100, 1000..2000, size - 100..size]);
                assert!(parts_of(&answer).iter().all(|p| p.media == "text/plain; charset=utf-8"));
                assert!(answer.field("ETag").is_some(), "{}", answer.head);
                assert_eq!(
                    (answer.field("Connection"), answer.field("Accept-Ranges")),
                    (None, None)
                );
            }
            // Most of the file, and not in its order.
            let half = size / 2;
            let ranges = format!("{}-,100-{}", half + 100, half - 1);
            let answer = ask_for(&mut client, &path, &ranges);
            assert_parts(&answer, &whole, &[half + 100..size, 100..half]);
        }
        // The end of a connection is no end of a part.
        let fields = "Range: bytes=0-9,200-99999\r\nConnection: close\r\n";
        let answer = client.get_with("/100000.txt", fields);
        assert_parts(&answer, &noise(100_000, 100_000), &[0..10, 200..100_000]);
        client.assert_closed();
        assert_eq!(server.metrics().sum("weir_incomplete_responses_total"), 0.0);
    }
}

#[test]
fn parts_come_whole_however_slowly_they_are_read_and_wherever_they_are() {
    const SIZE: usize = 4_000_000;
    let site = tempfile::tempdir().unwrap();
    let (name, whole) = (site.path().join("file"), noise(7, SIZE));
    fs::write(&name, &whole).unwrap();
    let expected = [0..500_000, 750_001..750_011, 1_000_000..2_500_000, 3_999_000..SIZE];
    let ranges = "0-499999,750001-750010,1000000-2499999,-1000";
    for flags in WAYS {
        let server = Server::of(site.path(), flags);
        let mut slow = Client::with_small_buffer(server.address());
        let mut fast = server.connect();
        for client in [&mut slow, &mut fast] {
            forget(&name);
            assert_parts(&ask_for(client, "/file", ranges), &whole, &expected);
            // From memory, as far as the kernel has kept it.
            assert_parts(&ask_for(client, "/file", ranges), &whole, &expected);
            assert!(client.get("/file").body == whole, "the connection goes on");
        }
    }
}

#[test]
fn ranges_close_together_are_one_part_and_one_part_is_no_list() {
    let server = Server::builtin(&[]);
    let mut client = server.connect();
    let whole = client.get("/files/100kb.bin").body;
    for (ranges, first, last) in [
        ("0-9,10-19", 0, 19),
        ("0-9,5-19", 0, 19),
        ("0-9,90-99", 0, 99),
        ("90-99,0-9", 0, 99),
        ("500-599,200000-", 500, 599),
        ("-10,-5", 99_990, 99_999),
        ("7-9,", 7, 9),
    ] {
        let answer = ask_for(&mut client, "/files/100kb.bin", ranges);
        let place = format!("bytes {first}-{last}/100000");
        assert_eq!(
            (answer.status, answer.field("Content-Range")),
            (206, Some(&*place)),
            "{ranges}"
        );
        assert!(answer.body == whole[first..=last], "the bytes of {ranges}");
    }
    for (ranges, expected) in [
        ("0-9,91-99", [0..10, 91..100]),
        ("500-599,0-99", [500..600, 0..100]),
        ("500-599,0-99,650-699", [500..700, 0..100]),
        ("0-0,-1", [0..1, 99_999..100_000]),
        ("0-9,100000-,300-309", [0..10, 300..310]),
    ] {
        assert_parts(&ask_for(&mut client, "/files/100kb.bin", ranges), &whole, &expected);
    }
    let answer = ask_for(&mut client, "/files/100kb.bin", "100000-,200000-300000,-0");
    assert_eq!((answer.status, answer.field("Content-Range")), (416, Some("bytes */100000")));
}

#[test]
fn lists_that_no_client_needs_get_the_whole() {
    let server = Server::builtin(&[]);
    let mut client = server.connect();
    let list = |count: usize, step: usize| {
        (0..count).map(|n| format!("{0}-{0}", n * step)).collect::<Vec<_>>().join(",")
    };
    let backwards = |count: usize| {
        (0..count).rev().map(|n| format!("{0}-{0}", n * 1000)).collect::<Vec<_>>().join(",")
    };
    for (ranges, status) in [
        (list(16, 1000), 206),
        (list(17, 1000), 200),
        (list(200, 50), 206),
        (list(201, 50), 200),
        (list(2000, 1), 200),
        (backwards(5), 206),
        (backwards(6), 200),
        ("0-999,500-1499,9000-".to_owned(), 206),
        ("0-999,500-1499,1000-1999".to_owned(), 200),
        (vec!["0-"; 8000].join(","), 200),
        ("0-9,x-y".to_owned(), 200),
        (",".repeat(20_000), 200),
    ] {
        let answer = ask_for(&mut client, "/files/100kb.bin", &ranges);
        let start = &ranges[..ranges.len().min(60)];
        assert_eq!(answer.status, status, "{start}");
        // Never much more than the file.
        assert!(answer.body.len() < 105_000, "{start}: {} bytes", answer.body.len());
        assert_eq!(answer.body.len() == 100_000, status == 200, "{start}");
    }
}

#[test]
fn conditions_and_heads_go_before_several_ranges() {
    let server = Server::builtin(&[]);
    let mut client = server.connect();
    let whole = client.get("/files/10kb.bin");
    let tag = whole.field("ETag").unwrap();
    let ranges = "Range: bytes=0-9,200-299\r\n";
    for (condition, status) in [
        (format!("If-Range: {tag}\r\n"), 206),
        ("If-Range: \"other\"\r\n".to_owned(), 200),
        (format!("If-Range: W/{tag}\r\n"), 200),
        (format!("If-None-Match: {tag}\r\n"), 304),
        (format!("If-Match: {tag}\r\n"), 206),
        ("If-Match: \"other\"\r\n".to_owned(), 412),
    ] {
        let answer = client.get_with("/files/10kb.bin", &format!("{ranges}{condition}"));
        assert_eq!(answer.status, status, "{condition}");
        if status == 206 {
            assert_eq!(answer.field("ETag"), Some(tag));
            assert_parts(&answer, &whole.body, &[0..10, 200..300]);
        }
    }
    // Only GET has ranges (section 14.2).
    client.send(format!("HEAD /files/10kb.bin HTTP/1.1\r\nHost: weir\r\n{ranges}\r\n"));
    let head = client.head();
    assert_eq!((head.status, head.field("Content-Length")), (200, Some("10000")));
    assert_eq!(client.get("/files/1kb.bin").status, 200, "HEAD has no body");
    // HTTP/1.0 has them as well.
    client.send(format!("GET /files/10kb.bin HTTP/1.0\r\n{ranges}\r\n"));
    assert_parts(&client.response(), &whole.body, &[0..10, 200..300]);
    client.assert_closed();
}

#[test]
fn no_file_can_hold_what_stands_between_its_parts() {
    let server = Server::builtin(&[]);
    let mut client = server.connect();
    let mut types: Vec<String> = (0..20)
        .map(|_| {
            let answer = ask_for(&mut client, "/files/10kb.bin", "0-9,200-209");
            answer.field("Content-Type").unwrap().to_owned()
        })
        .collect();
    types.sort();
    types.dedup();
    assert_eq!(types.len(), 20, "each response has a boundary of its own");
}

#[test]
fn curl_gets_several_ranges() {
    let site = tempfile::tempdir().unwrap();
    let (whole, got) = (noise(9, 2_000_000), site.path().join("got"));
    fs::write(site.path().join("file.bin"), &whole).unwrap();
    for flags in WAYS {
        let server = Server::of(site.path(), flags);
        let url = format!("http://{}/file.bin", server.address());
        let told = curl(
            &[
                "-r",
                "0-99,1000000-1499999",
                "-o",
                got.to_str().unwrap(),
                "-w",
                "%{http_code} %{content_type} %{size_download}",
            ],
            &url,
        );
        let mut words = told.splitn(3, ' ');
        assert_eq!((words.next(), words.next()), (Some("206"), Some("multipart/byteranges;")));
        let (media, size) = words.next().and_then(|rest| rest.split_once(' ')).expect(&told);
        let body = fs::read(&got).unwrap();
        assert_eq!(size, body.len().to_string());
        let head = format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Type: multipart/byteranges; {media}\r\n"
        );
        let answer = Response { status: 206, head, body, trailers: String::new() };
        assert_parts(&answer, &whole, &[0..100, 1_000_000..1_500_000]);
    }
}
