//! Shows that files are sent compressed to who accepts that: as they lie beside each other, or compressed
//! on the fly; that caches and downloads are told apart what differs; and that nothing else changes.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::coding::{CODINGS, ask, compressed, content, text};
use crate::support::{Client, Response, Server, curl, eventually, noise};

/// A file that was modified so many seconds ago.
fn put(site: &Path, name: &str, content: impl AsRef<[u8]>, age: u64) {
    let name = site.join(name);
    fs::write(&name, content).expect("a file");
    let file = fs::File::options().append(true).open(&name).expect("the file");
    file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("a modification time");
}

fn coding(response: &Response) -> Option<&str> {
    response.field("Content-Encoding")
}

/// Waits until a file is sent in `wanted`.
fn wait_for(client: &mut Client, path: &str, wanted: &str) {
    compressed(client, path, wanted);
}

/// Waits until a file has been sent in every coding: who accepts several gets one of them, and each is made
/// or found by itself.
fn wait_for_all(client: &mut Client, path: &str) {
    CODINGS.into_iter().for_each(|coding| wait_for(client, path, coding));
}

/// Asks until the answer is in a coding: a machine that is held up sends files as they are.
fn in_coding(wanted: &str, mut ask: impl FnMut() -> Response) -> Response {
    let mut answer = ask();
    eventually("it is sent in the coding", || {
        let is_wanted = coding(&answer) == Some(wanted);
        if !is_wanted {
            answer = ask();
        }
        is_wanted
    });
    answer
}

const GZIP: &str = "the gzip one";
const BROTLI: &str = "the Brotli one";
const ZSTD: &str = "the Zstandard one";

/// A style sheet of 5000 bytes with three files beside it, the smallest of which is that of gzip.
fn with_siblings() -> tempfile::TempDir {
    let site = tempfile::tempdir().expect("a directory");
    put(site.path(), "x.css", text(5000), 3600);
    put(site.path(), "x.css.gz", GZIP, 1800);
    put(site.path(), "x.css.zst", ZSTD, 1800);
    put(site.path(), "x.css.br", BROTLI, 1800);
    site
}

#[test]
fn files_that_lie_beside_are_sent_to_who_accepts_them() {
    let site = with_siblings();
    let server = Server::of(site.path(), &["--precompressed", "--workers", "1"]);
    let mut client = server.connect();
    wait_for_all(&mut client, "/x.css");
    let plain = client.get("/x.css");
    assert!(plain.body == text(5000) && coding(&plain).is_none());
    let mut tags = vec![plain.field("ETag").unwrap().to_owned()];
    for (accept, expected, body) in [
        ("br", Some("br"), BROTLI),
        ("zstd", Some("zstd"), ZSTD),
        ("gzip", Some("gzip"), GZIP),
        ("gzip, deflate, br, zstd", Some("gzip"), GZIP),
        ("gzip;q=0.5, br", Some("br"), BROTLI),
        ("*;q=0.1, zstd;q=0.2", Some("zstd"), ZSTD),
        ("*, gzip;q=0", Some("br"), BROTLI),
        ("identity, br;q=0.9", None, ""),
        ("deflate", None, ""),
        ("identity;q=0", None, ""),
        ("nonsense;;;, =", None, ""),
        (&"br, ".repeat(500), None, ""),
    ] {
        for _ in 0..3 {
            let answer = ask(&mut client, "/x.css", accept);
            assert_eq!((answer.status, coding(&answer)), (200, expected), "{accept}");
            assert_eq!(answer.field("Vary"), Some("Accept-Encoding"), "{accept}");
            assert_eq!(answer.field("Content-Type"), Some("text/css; charset=utf-8"));
            let body = expected.map_or_else(|| text(5000), |_| body.into());
            assert!(answer.body == body, "{accept}: {}", answer.text());
        }
    }
    for accept in CODINGS {
        let answer = ask(&mut client, "/x.css", accept);
        let tag = answer.field("ETag").expect("a tag").to_owned();
        assert!(tag.starts_with('"') && !tags.contains(&tag), "{accept}: {tag}");
        assert_ne!(answer.field("Last-Modified"), plain.field("Last-Modified"), "{accept}");
        let fields = format!("Accept-Encoding: {accept}\r\nIf-None-Match: {tag}\r\n");
        let same = client.get_with("/x.css", &fields);
        assert_eq!((same.status, same.field("Vary")), (304, Some("Accept-Encoding")));
        assert_eq!(same.field("ETag"), Some(tag.as_str()));
        tags.push(tag);
    }
    // By its own name it is a file like any other.
    let own = client.get("/x.css.gz");
    assert_eq!((own.text().as_str(), coding(&own), own.field("Vary")), (GZIP, None, None));
    assert!(server.metrics().sum("weir_compressed_answers_total") > 0.0);
}

#[test]
fn a_part_is_a_part_of_the_file_that_is_chosen() {
    let site = with_siblings();
    let server = Server::of(site.path(), &["--precompressed", "--compress"]);
    let mut client = server.connect();
    wait_for(&mut client, "/x.css", "br");
    let tag = ask(&mut client, "/x.css", "br").field("ETag").expect("a tag").to_owned();
    let part = |client: &mut Client, more: &str| {
        client.get_with("/x.css", &format!("Range: bytes=4-9\r\n{more}"))
    };
    let fields = format!("Accept-Encoding: br\r\nIf-Range: {tag}\r\n");
    let of_brotli = in_coding("br", || part(&mut client, &fields));
    assert_eq!((of_brotli.status, coding(&of_brotli)), (206, Some("br")));
    assert_eq!(of_brotli.text(), &BROTLI[4..=9]);
    let total = format!("bytes 4-9/{}", BROTLI.len());
    assert_eq!(of_brotli.field("Content-Range"), Some(total.as_str()));
    // The tag of one is not that of another.
    let fields = format!("Accept-Encoding: gzip\r\nIf-Range: {tag}\r\n");
    let of_gzip = in_coding("gzip", || part(&mut client, &fields));
    assert_eq!((of_gzip.status, of_gzip.text().as_str()), (200, GZIP));
    let plain = part(&mut client, "");
    assert!(plain.status == 206 && plain.body == text(5000)[4..=9] && coding(&plain).is_none());
    // Several would be in a body that is in no coding.
    put(site.path(), "long.css", text(50_000), 3600);
    put(site.path(), "long.css.br", noise(1, 40_000), 1800);
    wait_for(&mut client, "/long.css", "br");
    let parts = "Range: bytes=0-999,30000-30999\r\n";
    let plain = client.get_with("/long.css", parts);
    assert_eq!((plain.status, coding(&plain)), (206, None));
    let fields = format!("{parts}Accept-Encoding: br\r\n");
    let of_brotli = in_coding("br", || client.get_with("/long.css", &fields));
    assert_eq!(of_brotli.status, 200);
    assert!(of_brotli.body == noise(1, 40_000));
}

#[test]
fn what_lies_beside_a_file_is_found_wherever_its_path_leads() {
    let site = tempfile::tempdir().unwrap();
    fs::create_dir(site.path().join("v2")).unwrap();
    for name in ["v2/x.css", "page.html"] {
        put(site.path(), name, text(5000), 3600);
        put(site.path(), &format!("{name}.br"), BROTLI, 1800);
    }
    for (key, path) in [("try_files = \"v2/{path}\"", "/x.css"), ("clean_urls = true", "/page")] {
        let keys = "precompressed = true\ncache_control = \"no-cache\"";
        let server = Server::configured(&format!("root = {:?}\n{keys}\n{key}\n", site.path()), &[]);
        let mut client = server.connect();
        wait_for(&mut client, path, "br");
        let answer = ask(&mut client, path, "br");
        assert_eq!((answer.status, answer.text().as_str()), (200, BROTLI), "{path}");
        // It is sent as its file is.
        assert_eq!(answer.field("Cache-Control"), Some("no-cache"), "{path}");
        assert!(client.get(path).body == text(5000), "{path}");
    }
}

#[test]
fn files_of_a_route_are_compressed_as_well() {
    let site = tempfile::tempdir().unwrap();
    put(site.path(), "long.txt", text(50_000), 3600);
    let route = format!("[[route]]\npath = \"/docs\"\nroot = {:?}\n", site.path());
    let server = Server::configured(&format!("compress = true\n{route}strip_prefix = true\n"), &[]);
    let mut client = server.connect();
    wait_for(&mut client, "/docs/long.txt", "gzip");
    for _ in 0..3 {
        let answer = ask(&mut client, "/docs/long.txt", "gzip");
        assert!(coding(&answer) == Some("gzip") && content(&answer) == text(50_000));
    }
}

#[test]
fn what_was_not_made_of_the_file_as_it_is_is_not_sent() {
    let site = tempfile::tempdir().unwrap();
    put(site.path(), "older.css", text(5000), 3600);
    put(site.path(), "older.css.br", BROTLI, 3660);
    // Who unpacks both may write the compressed one first.
    put(site.path(), "unpacked.css", text(5000), 3600);
    put(site.path(), "unpacked.css.br", BROTLI, 3601);
    put(site.path(), "larger.css", "short", 3600);
    put(site.path(), "larger.css.br", BROTLI, 3600);
    put(site.path(), "x.png", text(5000), 3600);
    put(site.path(), "x.png.br", BROTLI, 3600);
    put(site.path(), "link.css", text(5000), 3600);
    std::os::unix::fs::symlink("/etc/hostname", site.path().join("link.css.br")).unwrap();
    put(site.path(), "folder.css", text(5000), 3600);
    fs::create_dir(site.path().join("folder.css.br")).unwrap();
    put(site.path(), "index.html", text(5000), 3600);
    put(site.path(), "index.html.br", BROTLI, 3600);
    let server = Server::of(site.path(), &["--precompressed", "--workers", "1"]);
    let mut client = server.connect();
    // The index has its file beside it, and all others are as old.
    wait_for(&mut client, "/", "br");
    wait_for(&mut client, "/unpacked.css", "br");
    assert_eq!(compressed(&mut client, "/index.html", "br").text(), BROTLI);
    for path in ["/older.css", "/larger.css", "/x.png", "/link.css", "/folder.css"] {
        let answer = ask(&mut client, path, "br");
        assert_eq!((answer.status, coding(&answer)), (200, None), "{path}");
        assert_eq!(answer.field("Vary").is_some(), path != "/x.png", "{path}");
    }
    // It comes, changes and goes as other files do.
    put(site.path(), "older.css.br", "new", 60);
    eventually("it is new enough", || ask(&mut client, "/older.css", "br").text() == "new");
    put(site.path(), "older.css.br", "newer", 30);
    eventually("it has changed", || ask(&mut client, "/older.css", "br").text() == "newer");
    fs::remove_file(site.path().join("older.css.br")).unwrap();
    eventually("it is gone", || ask(&mut client, "/older.css", "br").body == text(5000));
    put(site.path(), "index.html", "a newer page", 0);
    eventually("the page has changed", || ask(&mut client, "/", "br").text() == "a newer page");
}

#[test]
fn text_is_compressed_on_the_fly() {
    let site = tempfile::tempdir().unwrap();
    let long = text(100_000);
    put(site.path(), "small.txt", text(1000), 3600);
    put(site.path(), "noise.txt", noise(1, 50_000), 3600);
    put(site.path(), "text.png", text(50_000), 3600);
    put(site.path(), "huge.txt", text(1_000_001), 3600);
    put(site.path(), "most.txt", text(1_000_000), 3600);
    put(site.path(), "page.html", text(20_000), 3600);
    put(site.path(), "long.txt", &long, 3600);
    let server = Server::of(site.path(), &["--compress"]);
    let mut client = server.connect();
    let plain = client.get("/long.txt").field("ETag").expect("a tag").to_owned();
    let opened = plain.trim_end_matches('"');
    for (wanted, mark) in CODINGS.into_iter().zip(["z", "b", "g"]) {
        // Each coding has its own, so that a cache that keeps one never takes it for another.
        let weak = format!("W/{opened}-{mark}\"");
        wait_for(&mut client, "/long.txt", wanted);
        for _ in 0..3 {
            let answer = ask(&mut client, "/long.txt", wanted);
            assert!(content(&answer) == long && answer.body.len() < 30_000, "{wanted}");
            assert_eq!(answer.field("Vary"), Some("Accept-Encoding"));
            assert_eq!(answer.field("Accept-Ranges"), None, "its parts are not good for ever");
            assert_eq!(answer.field("ETag"), Some(weak.as_str()));
        }
        client.send(format!(
            "HEAD /long.txt HTTP/1.1\r\nHost: weir\r\nAccept-Encoding: {wanted}\r\n\r\n"
        ));
        let (head, answer) = (client.head(), ask(&mut client, "/long.txt", wanted));
        for name in ["Content-Length", "Content-Encoding", "ETag"] {
            assert_eq!(head.field(name), answer.field(name), "{name}");
        }
    }
    // Of those that the client likes equally, Zstandard comes first.
    wait_for_all(&mut client, "/page.html");
    assert_eq!(coding(&ask(&mut client, "/page.html", "gzip, deflate, br, zstd")), Some("zstd"));
    assert!(content(&ask(&mut client, "/most.txt", "gzip")) == text(1_000_000));
    for path in ["/small.txt", "/noise.txt", "/text.png", "/huge.txt"] {
        assert_eq!(coding(&ask(&mut client, path, "gzip, br, zstd")), None, "{path}");
    }
    assert_eq!(ask(&mut client, "/text.png", "gzip").field("Vary"), None);
    let tag = ask(&mut client, "/long.txt", "gzip").field("ETag").unwrap().to_owned();
    let fields = format!("Accept-Encoding: gzip\r\nIf-None-Match: {tag}\r\n");
    assert_eq!(client.get_with("/long.txt", &fields).status, 304);
    for accept in ["br", "identity"] {
        let fields = format!("Accept-Encoding: {accept}\r\nIf-None-Match: {tag}\r\n");
        assert_eq!(client.get_with("/long.txt", &fields).status, 200, "{accept}");
    }
    // A download that goes on is one of the file as it is, and begins anew if it was not.
    let fields = "Accept-Encoding: gzip\r\nRange: bytes=50000-\r\n";
    let rest = client.get_with("/long.txt", fields);
    assert!(rest.status == 206 && coding(&rest).is_none() && rest.body == long[50_000..]);
    let rest = client.get_with("/long.txt", &format!("{fields}If-Range: {tag}\r\n"));
    assert!(rest.status == 200 && content(&rest) == long);
    let metrics = server.metrics();
    assert!(metrics.value("weir_compressed_answers_total", "{coding=\"gzip\"}") > Some(3.0));
    assert!(metrics.sum("weir_compression_cache_bytes") > 3000.0);
    assert!(metrics.sum("weir_compression_processor_time_seconds_total") > 0.0);
}

#[test]
fn a_site_that_says_itself_how_its_files_are_coded_has_no_others() {
    let site = with_siblings();
    for change in ["set = { Content-Encoding = \"aes128gcm\" }", "remove = [\"Content-Encoding\"]"]
    {
        let root = site.path().display();
        let keys = format!("root = \"{root}\"\nprecompressed = true\ncompress = true\n");
        let server = Server::configured(&format!("{keys}headers = {{ {change} }}\n"), &[]);
        let mut client = server.connect();
        for _ in 0..3 {
            let answer = ask(&mut client, "/x.css", "gzip, br");
            assert!(answer.body == text(5000) && answer.field("Vary").is_none(), "{change}");
        }
    }
}

#[test]
fn a_change_shows_compressed_as_well() {
    let site = tempfile::tempdir().unwrap();
    // One that is kept in memory, and two that are not.
    for length in [3000, 100_000, 300_000] {
        put(site.path(), "file.txt", text(length), 3600);
        let server = Server::of(site.path(), &["--compress", "--workers", "2"]);
        let mut client = server.connect();
        wait_for(&mut client, "/file.txt", "gzip");
        let new = text(length + 700).split_off(700);
        put(site.path(), "file.txt", &new, 3600);
        eventually("it changes", || content(&ask(&mut client, "/file.txt", "gzip")) == new);
        wait_for(&mut client, "/file.txt", "gzip");
        for _ in 0..20 {
            assert!(content(&ask(&mut server.connect(), "/file.txt", "gzip")) == new, "{length}");
        }
    }
}

#[test]
fn with_no_room_for_results_each_is_made_again() {
    let site = tempfile::tempdir().unwrap();
    put(site.path(), "file.txt", text(50_000), 3600);
    let server = Server::of(site.path(), &["--compress", "--compress-cache", "0"]);
    let mut client = server.connect();
    wait_for(&mut client, "/file.txt", "zstd");
    for _ in 0..5 {
        assert!(content(&ask(&mut client, "/file.txt", "zstd")) == text(50_000));
    }
    eventually("the last has been sent", || {
        server.metrics().sum("weir_compression_cache_bytes") == 0.0
    });
}

#[test]
fn nothing_is_compressed_unless_the_configuration_says_so() {
    let site = with_siblings();
    put(site.path(), "long.txt", text(100_000), 3600);
    let server = Server::of(site.path(), &[]);
    let mut client = server.connect();
    for path in ["/x.css", "/long.txt"] {
        server.make_hot(&mut client, path);
        let answer = ask(&mut client, path, "gzip, br, zstd");
        assert_eq!((coding(&answer), answer.field("Vary")), (None, None), "{path}");
    }
}

#[test]
fn only_the_types_that_are_listed_are_compressed() {
    let site = tempfile::tempdir().unwrap();
    put(site.path(), "a.html", text(5000), 3600);
    put(site.path(), "a.json", text(5000), 3600);
    let flags = ["--compress", "--compress-types", "application/json"];
    let server = Server::of(site.path(), &flags);
    let mut client = server.connect();
    wait_for(&mut client, "/a.json", "gzip");
    let page = ask(&mut client, "/a.html", "gzip");
    assert_eq!((coding(&page), page.field("Vary")), (None, None));
}

#[test]
fn curl_reads_what_is_compressed() {
    let site = tempfile::tempdir().unwrap();
    let long = text(100_000);
    put(site.path(), "long.txt", &long, 3600);
    let server = Server::of(site.path(), &["--compress"]);
    // curl accepts what it was built with.
    wait_for_all(&mut server.connect(), "/long.txt");
    let url = format!("http://{}/long.txt", server.address());
    assert!(curl(&["--compressed"], &url).as_bytes() == long);
    let count = curl(&["--compressed", "-o", "/dev/null", "-w", "%{size_download}"], &url);
    let count: usize = count.trim().parse().expect("a number of bytes");
    assert!(count < long.len() / 2, "{count}");
    assert!(curl(&[], &url).as_bytes() == long);
}
