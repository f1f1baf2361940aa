//! Shows that bodies pass whole in both directions, however they are framed and however slowly they
//! are read, and that a client that reads slowly holds up nobody.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::support::{Backend, Client, Server, Then, noise};

/// The ways a server sends: at once, and over the uplink's gate.
const WAYS: [&[&str]; 2] = [&[], &["--uplink", "1gbit"]];

fn chunks_of(body: &[u8], sizes: &[usize]) -> Vec<u8> {
    let mut coded = Vec::new();
    let mut rest = body;
    for &size in sizes.iter().cycle() {
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        coded.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        coded.extend(chunk);
        coded.extend(b"\r\n");
        if chunk.is_empty() {
            coded.truncate(coded.len() - 2);
            return coded;
        }
    }
    coded
}

#[test]
fn bodies_of_requests_arrive_whole_in_either_framing() {
    let backend = Backend::new(|call| {
        let body = call.asked.body.clone().unwrap_or_default();
        call.ok(body)
    });
    for flags in WAYS {
        let server = Server::before(&backend, flags);
        let mut client = server.connect();
        for size in [0, 1, 5, 16_384, 100_000, 3_000_000] {
            let body = noise(size as u64, size);
            client.send(format!("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: {size}\r\n\r\n"));
            client.send(&body);
            assert!(client.response().body == body, "{size} with a length");
            client.send("PUT / HTTP/1.1\r\nHost: weir\r\nTransfer-Encoding: chunked\r\n\r\n");
            client.send(chunks_of(&body, &[1, 10, 7000, 50_000]));
            client.send("\r\n");
            assert!(client.response().body == body, "{size} in chunks");
        }
        assert_eq!(client.get("/").body, b"", "the connection goes on");
    }
    for asked in backend.requests() {
        let framing = [asked.fields("Content-Length"), asked.fields("Transfer-Encoding")].concat();
        let expected = usize::from(!asked.head.starts_with("GET"));
        assert_eq!(framing.len(), expected, "{}", asked.head);
    }
}

#[test]
fn trailers_of_a_request_arrive() {
    let backend = Backend::saying("");
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    client.send(
        "POST / HTTP/1.1\r\nHost: weir\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
         5;name=value;other=\"a;b\"\r\nhello\r\n0\r\nX-Sum: 42\r\nContent-Length: 3\r\n\
         X-Forwarded-For: 6.6.6.6\r\n\r\n",
    );
    assert_eq!(client.response().status, 200);
    let asked = backend.only();
    assert_eq!(asked.body.as_deref(), Some(&b"hello"[..]));
    assert_eq!(asked.trailers.to_ascii_lowercase(), "x-sum: 42\r\n", "and no framing");
}

#[test]
fn a_client_that_waits_for_leave_to_send_gets_it() {
    let backend = Backend::saying("thanks");
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    for framing in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: weir\r\nExpect: 100-continue\r\n{framing}\r\n\r\n"
        ));
        let leave = client.head();
        assert_eq!((leave.status, leave.head.lines().count()), (100, 2), "{}", leave.head);
        client.send(if framing.starts_with('C') { "hello" } else { "5\r\nhello\r\n0\r\n\r\n" });
        assert_eq!(client.response().text(), "thanks");
    }
    for asked in backend.requests() {
        assert_eq!(asked.body.as_deref(), Some(&b"hello"[..]));
        assert_eq!(asked.fields("Expect"), [""; 0], "weir has answered it");
    }
    client.send("POST / HTTP/1.1\r\nHost: weir\r\nExpect: miracles\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(client.response().status, 417);
    assert_eq!(backend.requests().len(), 2);
}

#[test]
fn an_answer_that_begins_before_its_request_has_ended_is_whole() {
    const SIZE: usize = 2_000_000;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    // Answers at once, and then sends back what comes.
    let echo = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the server connects");
        let mut begun = [0; 16 * 1024];
        let _ = stream.read(&mut begun);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("the server reads");
        let mut to = stream.try_clone().expect("a descriptor");
        let mut bytes = 0;
        while let Ok(count @ 1..) = stream.read(&mut begun) {
            bytes += count;
            if bytes >= 100_000 {
                break;
            }
        }
        to.write_all(&noise(3, SIZE)).expect("the server reads on");
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    let server = Server::routed(&[&url], "buffer = \"1kb\"\noverflow = \"push-back\"\n");
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 200000\r\n\r\n");
    client.send([b'x'; 100_000]);
    assert_eq!(client.head().status, 200);
    client.send([b'x'; 50_000]);
    assert!(client.read(SIZE) == noise(3, SIZE));
    let _ = client.try_send("GET /hidden HTTP/1.1\r\nHost: weir\r\n\r\n");
    client.assert_closed();
    echo.join().expect("the call ended");
}

#[test]
fn a_body_larger_than_allowed_is_refused() {
    let backend = Backend::saying("");
    let server = Server::routed(&[&backend.url], "max_body = \"1000\"\n");
    let post = |framing: &str, body: &[u8]| {
        let mut client = server.connect();
        client.send(format!("POST / HTTP/1.1\r\nHost: weir\r\n{framing}\r\n\r\n"));
        // It may answer and close before it has read all.
        let _ = client.try_send(body);
        client.response().status
    };
    let (fits, exceeds) = (noise(1, 1000), noise(1, 1001));
    assert_eq!(post("Content-Length: 1000", &fits), 200);
    assert_eq!(post("Content-Length: 1001", &exceeds), 413);
    let in_chunks = |body| [chunks_of(body, &[400]), b"\r\n".to_vec()].concat();
    assert_eq!(post("Transfer-Encoding: chunked", &in_chunks(&fits)), 200);
    assert_eq!(post("Transfer-Encoding: chunked", &in_chunks(&exceeds)), 413);
    for asked in backend.requests() {
        assert!(asked.body.is_none_or(|body| body.len() == 1000), "no more than allowed");
    }
}

#[test]
fn answers_come_whole_in_every_framing() {
    let backend = Backend::new(|call| {
        let (framing, size) = call.asked.target()[1..].split_once('/').expect("two words");
        let body = noise(1, size.parse().expect("a size"));
        match framing {
            "length" => call.ok(&body),
            "chunked" => {
                call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                call.send(chunks_of(&body, &[1, 3000, 20]));
                call.send("\r\n");
                Then::Keep
            }
            _ => {
                call.send("HTTP/1.1 200 OK\r\n\r\n");
                call.send(&body);
                Then::Close
            }
        }
    });
    for flags in WAYS {
        let server = Server::before(&backend, flags);
        let mut client = server.connect();
        for size in [0, 1, 1000, 65_536, 65_537, 200_000, 3_000_000] {
            for framing in ["length", "chunked", "close"] {
                let what = format!("/{framing}/{size}");
                let answer = client.get(&what);
                assert_eq!(answer.status, 200, "{what}");
                assert!(answer.body == noise(1, size), "{what}: {} bytes", answer.body.len());
                // What it is passed on in is the server's choice, but for one that is known.
                let length = answer.field("Content-Length");
                let length = length.map(|length| length.parse().expect("a length"));
                assert!(framing != "length" || length == Some(size), "{what}: {}", answer.head);

                let mut old = server.connect();
                old.send(format!("GET {what} HTTP/1.0\r\n\r\n"));
                let head = old.head();
                assert_eq!(head.field("Transfer-Encoding"), None, "{what}");
                assert!(old.rest() == noise(1, size), "{what} for HTTP/1.0");
            }
        }
    }
}

#[test]
fn trailers_of_an_answer_are_passed_on() {
    for size in [5, 300_000] {
        let backend = Backend::new(move |call| {
            call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n");
            call.send(chunks_of(&noise(1, size), &[10_000]));
            call.send("X-Sum: 42\r\nContent-Length: 3\r\n\r\n");
            Then::Keep
        });
        let server = Server::before(&backend, &[]);
        let mut client = server.connect();
        let answer = client.get_with("/", "Connection: TE\r\nTE: trailers\r\n");
        assert!(answer.body == noise(1, size));
        assert_eq!(answer.trailers.to_ascii_lowercase(), "x-sum: 42\r\n", "{size}");
        assert_eq!(backend.requests()[0].fields("TE"), ["trailers"]);
        client.send("GET / HTTP/1.0\r\n\r\n");
        client.head();
        assert!(client.rest() == noise(1, size), "HTTP/1.0 has no trailers");
    }
}

#[test]
fn answers_without_a_body_have_none() {
    let backend = Backend::new(|call| {
        call.send(match call.asked.target() {
            "/204" => "HTTP/1.1 204 No Content\r\n\r\n",
            "/304" => "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\n",
            _ if call.asked.head.starts_with("HEAD") => {
                "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"
            }
            _ => "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext",
        });
        Then::Keep
    });
    for flags in WAYS {
        let server = Server::before(&backend, flags);
        let mut client = server.connect();
        for round in 0..2 {
            client.ask("/204");
            let none = client.head();
            assert_eq!((none.status, none.field("Content-Length")), (204, None), "{round}");
            assert_eq!(none.field("Transfer-Encoding"), None);
            client.ask("/304");
            let same = client.head();
            assert_eq!((same.status, same.field("ETag")), (304, Some("\"a\"")));
            client.send("HEAD /head HTTP/1.1\r\nHost: weir\r\n\r\n");
            let head = client.head();
            assert_eq!((head.status, head.field("Content-Length")), (200, Some("5000")));
            assert_eq!(client.get("/next").text(), "next");
        }
    }
}

#[test]
fn requests_that_come_at_once_are_answered_in_their_order() {
    let backend = Backend::new(|call| {
        let number: usize = call.asked.target()[1..].parse().expect("a number");
        let size = if number.is_multiple_of(5) { 300_000 } else { number };
        call.ok(noise(number as u64, size))
    });
    for flags in WAYS {
        let server = Server::before(&backend, flags);
        let mut client = server.connect();
        let post = |number: usize| {
            format!("POST /{number} HTTP/1.1\r\nHost: weir\r\nContent-Length: 3\r\n\r\nabc")
        };
        let get = |number: usize| format!("GET /{number} HTTP/1.1\r\nHost: weir\r\n\r\n");
        let requests: String = (0..20).map(|n| if n % 3 == 0 { post(n) } else { get(n) }).collect();
        client.send(requests);
        for number in 0..20 {
            let size = if number % 5 == 0 { 300_000 } else { number };
            assert!(client.response().body == noise(number as u64, size), "{number}");
        }
    }
}

#[test]
fn a_client_that_reads_slowly_gets_every_byte() {
    const SIZE: usize = 20_000_000;
    for coding in ["", "chunked"] {
        let backend = Backend::new(move |call| {
            if call.asked.target() == "/small" {
                return call.ok("small");
            }
            let body = noise(7, SIZE);
            if coding.is_empty() {
                return call.ok(body);
            }
            call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            call.send(chunks_of(&body, &[100_000]));
            call.send("\r\n");
            Then::Keep
        });
        for flags in WAYS {
            let server = Server::before(&backend, &[&["--workers", "1"][..], flags].concat());
            let mut slow = server.connect();
            slow.ask("/large");
            // Others are served between any two of its bytes.
            let mut other = server.connect();
            let head = slow.head();
            assert_eq!((head.status, other.get("/small").text().as_str()), (200, "small"));
            let body = if coding.is_empty() {
                let mut body = Vec::new();
                while body.len() < SIZE {
                    body.extend(slow.read(SIZE / 40));
                    assert_eq!(other.get("/small").text(), "small");
                }
                body
            } else {
                slow.rest_of_chunks()
            };
            assert!(body == noise(7, SIZE), "{coding} {flags:?}");
            assert_eq!(slow.get("/small").text(), "small");
        }
    }
}

#[test]
fn a_slow_client_does_not_hold_a_slot() {
    const SIZE: usize = 500_000;
    let backend = Backend::new(|call| match call.asked.target() {
        "/large" => call.ok(noise(7, SIZE)),
        _ => call.ok("small"),
    });
    for flags in WAYS {
        let server = Server::before(&backend, &[&["--backend-limit", "1"][..], flags].concat());
        let mut slow = Client::with_small_buffer(server.address());
        slow.ask("/large");
        assert_eq!(slow.head().field("Content-Length"), Some("500000"));
        // The other one is answered although the first has hardly begun to read.
        assert_eq!(server.get("/small").text(), "small");
        assert!(slow.read(SIZE) == noise(7, SIZE));
    }
}

#[test]
fn a_large_answer_to_a_slow_client_can_go_to_a_file() {
    const SIZE: usize = 20_000_000;
    let backend = Backend::new(|call| match call.asked.target() {
        "/large" => call.ok(noise(7, SIZE)),
        _ => call.ok("small"),
    });
    let keys = "limit = 1\nbuffer = \"10kb\"\n";
    let server = Server::routed(&[&backend.url], keys);
    let mut slow = server.connect();
    slow.ask("/large");
    assert_eq!(slow.head().field("Content-Length"), Some("20000000"));
    // More than kernels keep, and the only slot is free all the same.
    assert_eq!(server.get("/small").text(), "small");
    assert!(slow.read(SIZE) == noise(7, SIZE));
    assert_eq!(slow.get("/small").text(), "small");
}
