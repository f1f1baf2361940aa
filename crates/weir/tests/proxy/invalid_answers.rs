//! Shows that an answer which breaks off is never passed on as a whole one, and that an invalid answer is
//! a 502.

use std::thread;
use std::time::Duration;

use super::faults::{assert_logged, wait_for_slots};
use crate::support::{Backend, Barrier, Client, Server, Then, eventually};

#[test]
fn an_answer_that_breaks_off_is_never_passed_on_as_whole() {
    let heads = ["Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n186a0\r\n"];
    for (head, then) in heads.iter().flat_map(|head| [(head, Then::Close), (head, Then::Reset)]) {
        let barrier = Barrier::default();
        let (passed_on, head) = (barrier.clone(), format!("HTTP/1.1 200 OK\r\n{head}begun"));
        let backend = Backend::new(move |call| {
            if call.asked.target() == "/" {
                return call.ok("");
            }
            call.send(&head);
            if call.asked.target() == "/later" {
                passed_on.pass();
            }
            then
        });
        for flags in [&[][..], &["--uplink", "1gbit"]] {
            let mut server = Server::before(&backend, flags);
            // Before or after the head was passed on: a clear error, or a clear cut.
            let mut client = server.connect();
            client.ask("/now");
            let answer = client.head();
            if answer.status == 200 {
                let rest = client.rest();
                assert!(!rest.ends_with(b"0\r\n\r\n") && rest.len() < 1000, "{then:?}");
            } else {
                assert_eq!(answer.status, 502, "{then:?}");
            }
            let mut client = server.connect();
            client.ask("/later");
            assert_eq!(client.head().status, 200);
            barrier.open(1);
            let rest = client.rest();
            assert!(!rest.ends_with(b"0\r\n\r\n") && rest.len() < 1000, "{then:?}");
            // What has no other end than that of the connection must not seem to end well.
            let mut old = server.connect();
            old.send("GET /later HTTP/1.0\r\n\r\n");
            let sized = old.head().field("Content-Length").is_some();
            barrier.open(1);
            if sized {
                assert_eq!(old.rest(), b"begun")
            } else {
                old.assert_reset()
            }
            assert_logged(&server, &backend.url);
            wait_for_slots(&server);
            server.assert_alive();
        }
    }
}

#[test]
fn an_answer_cut_at_any_byte_is_never_taken_for_whole() {
    const ANSWERS: [&str; 2] = [
        "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 12\r\n\r\nhello, world",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
         5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\nX-Sum: 42\r\n\r\n",
    ];
    let backend = Backend::new(|call| {
        let (nth, cut) = call.asked.target()[1..].split_once('/').expect("two numbers");
        let (nth, cut): (usize, usize) = (nth.parse().unwrap(), cut.parse().unwrap());
        call.send(&ANSWERS[nth][..cut]);
        Then::Close
    });
    let mut server = Server::before(&backend, &[]);
    for (nth, answer) in ANSWERS.iter().enumerate() {
        for cut in 0..answer.len() {
            let mut client = server.connect();
            client.ask(&format!("/{nth}/{cut}"));
            if let Ok(got) = client.try_response() {
                assert_eq!(got.status, 502, "cut at {cut} of {answer}: {got:?}");
            }
        }
        assert_eq!(server.get(&format!("/{nth}/{}", answer.len())).text(), "hello, world");
    }
    wait_for_slots(&server);
    server.assert_alive();
}

#[test]
fn a_reset_is_no_end_of_an_answer_without_a_length() {
    let barrier = Barrier::default();
    let passed_on = barrier.clone();
    let backend = Backend::new(move |call| {
        call.send("HTTP/1.1 200 OK\r\n\r\nbegun");
        passed_on.pass();
        Then::Reset
    });
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    client.ask("/");
    assert_eq!(client.head().field("Transfer-Encoding"), Some("chunked"));
    barrier.open(1);
    assert!(!client.rest().ends_with(b"0\r\n\r\n"));
}

#[test]
fn nonsense_is_a_bad_gateway() {
    let endless = "z".repeat(1_000_000);
    let long = format!("HTTP/1.1 200 OK\r\nX-Long: {}\r\n\r\n", "a".repeat(1_000_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-Many: a\r\n".repeat(50_000));
    for (name, answer) in [
        ("nothing", ""),
        ("half a head", "HTTP/1.1 200 OK\r\nContent-Le"),
        ("garbage", "\x16\x03\x01\x02 this is not HTTP\r\n\r\n"),
        ("garbage that never ends", endless.as_str()),
        ("another version", "HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        ("no status", "HTTP/1.1 abc OK\r\nContent-Length: 2\r\n\r\nok"),
        ("a status of no class", "HTTP/1.1 99 Low\r\nContent-Length: 2\r\n\r\nok"),
        ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk"),
        ("a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nokk"),
        (
            "length and chunked",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n\
             2\r\nok\r\n0\r\n\r\n",
        ),
        ("a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok"),
        ("a length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok"),
        ("a huge length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok"),
        ("an unknown coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: rot13\r\n\r\nok"),
        (
            "a coding after chunked",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        ),
        ("chunks that are none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok"),
        ("a space before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok"),
        ("a folded line", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok"),
        (
            "a switch nobody asked for",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        ),
        ("a field of a megabyte", long.as_str()),
        ("a megabyte of fields", many.as_str()),
    ] {
        let backend = Backend::raw(answer, Then::Close);
        let mut server = Server::before(&backend, &["--backend-limit", "1"]);
        let mut client = server.connect();
        assert_eq!(client.get("/").status, 502, "{name}");
        assert_eq!(client.get("/").status, 502, "{name} again: slot and connection are free");
        assert_logged(&server, &backend.url);
        wait_for_slots(&server);
        server.assert_alive();
    }
}

#[test]
fn the_largest_head_of_an_answer_is_the_same_however_it_comes() {
    let sized = |size: usize| {
        let start = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Long: ";
        format!("{start}{}\r\n\r\n", "a".repeat(size - start.len() - 4))
    };
    let fields = |count: usize| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{}\r\n", "X: a\r\n".repeat(count - 1))
    };
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    for (head, status) in [
        (sized(65_536), 200),
        (sized(65_537), 502),
        (sized(70_000), 502),
        (sized(131_000), 502),
        (fields(100), 200),
        (fields(101), 502),
    ] {
        for before in ["", hint] {
            let answer = format!("{before}{head}ok");
            let backend = Backend::new(move |call| {
                let pieces = if call.asked.target() == "/whole" { answer.len() } else { 8000 };
                for piece in answer.as_bytes().chunks(pieces) {
                    call.send(piece);
                    // Read apart, mostly; what comes of it is the same.
                    thread::sleep(Duration::from_millis(1));
                }
                Then::Close
            });
            let server = Server::before(&backend, &[]);
            for path in ["/whole", "/pieces"] {
                let mut client = server.connect();
                client.ask(path);
                let mut answer = client.head();
                if answer.status == 103 {
                    answer = client.head();
                }
                assert_eq!(answer.status, status, "{path}: {} bytes", head.len());
            }
        }
    }
}

#[test]
fn interim_answers_without_end_are_a_bad_gateway() {
    let hint = format!("HTTP/1.1 103 Early Hints\r\nLink: <{}>\r\n\r\n", "a".repeat(1000));
    for flood in [hint.as_str(), "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\n"]
    {
        let flood = flood.to_owned();
        let backend = Backend::new(move |call| {
            while call.asked.target() != "/other" && call.send(&flood) {}
            call.ok("other")
        });
        let mut server = Server::before(&backend, &["--backend-limit", "1"]);
        for version in ["1.1", "1.0"] {
            let mut client = server.connect();
            client.send(format!("GET / HTTP/{version}\r\nHost: weir\r\n\r\n"));
            let mut bytes = 0;
            let answer = loop {
                let answer = client.head();
                bytes += answer.head.len();
                if !matches!(answer.status, 102 | 103) {
                    break answer;
                }
            };
            assert_eq!(answer.status, 502);
            assert!(bytes < 66_000, "{bytes}");
            wait_for_slots(&server);
        }
        // Nor does one go on that nobody waits for.
        let mut client = server.connect();
        client.ask("/");
        drop(client);
        wait_for_slots(&server);
        assert_eq!(server.get("/other").text(), "other");
        server.assert_alive();
    }
}

#[test]
fn nothing_follows_half_of_an_interim_answer() {
    let hint = format!("HTTP/1.1 103 Early Hints\r\nlink: <{}>\r\n\r\n", "a".repeat(31_000));
    for ending in ["an answer", "no answer in time", "no answer"] {
        let flood = hint.repeat(2);
        let backend = Backend::new(move |call| {
            call.send(&flood);
            match ending {
                "an answer" => call.ok("done"),
                "no answer" => Then::Close,
                _ => {
                    call.until_closed();
                    Then::Close
                }
            }
        });
        let keys = "first_byte_timeout = \"200ms\"\nretries = 0\n";
        let server = Server::routed(&[&backend.url], keys);
        let mut client = Client::with_small_segments(server.address());
        client.ask("/");
        eventually("the client is given up", || {
            server.metrics().value("weir_responses_total", "{status=\"499\"}") == Some(1.0)
        });
        let rest = String::from_utf8(client.rest()).expect("ASCII");
        let rest = rest.strip_prefix(&hint).unwrap_or(&rest);
        assert!(
            hint.starts_with(rest) && rest.len() < hint.len(),
            "{ending}: {} bytes",
            rest.len()
        );
        assert!(!rest.is_empty(), "{ending}: all of it fitted");
    }
}

#[test]
fn a_length_that_no_answer_has_is_a_bad_gateway() {
    // The last is one byte above what may be announced.
    for length in [u64::MAX, u64::MAX - 3, u64::MAX - 100, 1 << 63, (1 << 50) + 1] {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nok");
        let backend = Backend::raw(answer, Then::Keep);
        for flags in [&[][..], &["--uplink", "1gbit"]] {
            let mut server = Server::before(&backend, flags);
            let mut client = server.connect();
            client.ask("/");
            assert_eq!(client.head().status, 502, "{length}");
            wait_for_slots(&server);
            server.assert_alive();
        }
    }
}

#[test]
fn what_a_backend_sends_too_much_is_no_answer_to_the_next_request() {
    let poison = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned";
    for (request, answer) in [
        ("GET / HTTP/1.1", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        (
            "GET / HTTP/1.1",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        ),
        ("GET / HTTP/1.1", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET / HTTP/1.1", "HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n"),
        ("HEAD / HTTP/1.1", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n"),
    ] {
        let backend = Backend::new(move |call| {
            if call.asked.target() == "/next" {
                return call.ok("clean");
            }
            call.send(format!("{answer}{poison}"));
            Then::Keep
        });
        let server = Server::before(&backend, &["--workers", "1"]);
        for _ in 0..5 {
            let mut client = server.connect();
            client.send(format!("{request}\r\nHost: weir\r\nConnection: close\r\n\r\n"));
            client.rest();
            assert_eq!(server.get("/next").text(), "clean", "after {answer:?}");
        }
    }
}
