//! Shows that behind another proxy the PROXY header tells who the client is, and that without one
//! nobody is served.

use crate::support::{Backend, Client, Server};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: weir\r\n\r\n";

/// Version 2 (haproxy's proxy-protocol.txt, section 2.2) with `command`, for TCP over IPv4.
fn binary(command: u8, source: [u8; 4]) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    header.extend([0x20 | command, 0x11, 0, 12]);
    header.extend(source);
    header.extend([127, 0, 0, 1, 0x12, 0x34, 0, 80]);
    header
}

#[test]
fn the_client_is_who_the_header_names() {
    let backend = Backend::saying("ok");
    let server = Server::before(&backend, &["--proxy-protocol"]);
    for (header, client) in [
        (b"PROXY TCP4 192.0.2.1 127.0.0.1 1234 80\r\n".to_vec(), "192.0.2.1"),
        (b"PROXY TCP6 2001:db8::1 ::1 1234 80\r\n".to_vec(), "2001:db8::1"),
        (b"PROXY UNKNOWN\r\n".to_vec(), "127.0.0.1"),
        (binary(1, [192, 0, 2, 7]), "192.0.2.7"),
        // A check of the proxy itself.
        (binary(0, [192, 0, 2, 7]), "127.0.0.1"),
    ] {
        for in_one_piece in [true, false] {
            let before = backend.requests().len();
            let mut connection = server.connect();
            if in_one_piece {
                connection.send([&header[..], GET].concat());
            } else {
                header.iter().for_each(|byte| connection.send([*byte]));
                connection.send(GET);
            }
            assert_eq!(connection.response().text(), "ok", "{client}");
            // It holds for the connection.
            connection.send(GET);
            assert_eq!(connection.response().text(), "ok");
            for asked in &backend.requests()[before..] {
                assert_eq!(asked.fields("X-Forwarded-For"), [client]);
            }
        }
    }
}

#[test]
fn without_a_header_nobody_is_served() {
    let backend = Backend::saying("ok");
    let server = Server::before(&backend, &["--proxy-protocol"]);
    let mut wrong = binary(1, [192, 0, 2, 7]);
    wrong[12] = 0x31;
    for header in [
        &b""[..],
        b"PROXY TCP4 192.0.2.1\r\n",
        b"PROXY TCP4 192.0.2.256 127.0.0.1 1234 80\r\n",
        b"PROXY TCP4 192.0.2.1 127.0.0.1 1234 80 more and more and more and more and more and more \
          and more and more and more and more",
        b"\r\n\r\n\0\r\nQUIX\n",
        &wrong,
    ] {
        let mut client = server.connect();
        let _ = client.try_send([header, GET].concat());
        let rest = client.rest();
        assert!(!rest.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&rest));
    }
    assert!(backend.requests().is_empty());
    // The header is not expected where nobody asked for it: then it is nonsense.
    let plain = Server::before(&backend, &[]);
    let mut client = plain.connect();
    let _ = client.try_send([&b"PROXY TCP4 192.0.2.1 127.0.0.1 1234 80\r\n"[..], GET].concat());
    assert!(client.rest().starts_with(b"HTTP/1.1 400"));
    assert!(backend.requests().is_empty());
    assert_eq!(Client::connect(server.admin()).get("/healthz").status, 200);
}

#[test]
fn only_the_balancers_that_are_named_may_connect() {
    let backend = Backend::saying("ok");
    let server = Server::before(&backend, &["--proxy-protocol=127.0.0.2,192.0.2.0/24"]);
    let header = b"PROXY TCP4 192.0.2.1 127.0.0.1 1234 80\r\n";
    let mut balancer = Client::connect_from([127, 0, 0, 2].into(), server.address());
    balancer.send([header, GET].concat());
    assert_eq!(balancer.response().text(), "ok");
    assert_eq!(backend.only().fields("X-Forwarded-For"), ["192.0.2.1"]);
    drop(balancer);
    for bytes in [[header, GET].concat(), GET.to_vec(), Vec::new()] {
        let mut other = server.connect();
        let _ = other.try_send(bytes);
        other.assert_closed();
    }
    assert_eq!(backend.requests().len(), 1);
    let log = server.stop_and_read_log().join("\n");
    assert!(
        log.contains("refused: its address is in none of the networks of proxy_protocol"),
        "{log}"
    );
}

#[test]
fn refusals_are_named_and_do_not_fill_the_log() {
    let server = Server::builtin(&["--proxy-protocol", "--workers", "1"]);
    for count in 0..50 {
        let mut client = server.connect();
        let header = match count {
            0 => "PROXY TCP4 192.0.2.1 127.0.0.1 none 80\r\n",
            _ => "GET /last\x1b HTTP/1.1\r\nCookie: secret\r\n\r\n",
        };
        let _ = client.try_send(header);
        client.assert_closed();
    }
    let log = server.stop_and_read_log();
    let lines: Vec<_> = log.iter().filter(|line| line.contains("refused")).collect();
    let [first, summary] = lines[..] else { panic!("{log:#?}") };
    let what = "version 1: no valid source port: \"PROXY TCP4 192.0.2.1 127.0.0.1 none 80\"";
    assert!(first.contains(" 127.0.0.1:") && first.ends_with(what), "{first}");
    let what = "does not begin with a PROXY header: \"GET /last\\x1b HTTP/1.1\"";
    assert!(summary.contains(" 49 more ") && summary.ends_with(what), "{summary}");
}

#[test]
fn the_time_for_a_head_counts_from_its_first_byte_even_if_it_came_with_the_header() {
    // The other times are longer than any test may take.
    let times = ["--header-timeout", "300ms", "--idle-timeout", "1h", "--send-timeout", "1h"];
    let server = Server::builtin(&[&["--proxy-protocol"][..], &times].concat());
    for pieces in [&["PROXY UNKNOWN\r\nGET / HT"][..], &["PROXY UNKNOWN\r\n", "GET / HT"]] {
        let mut client = server.connect();
        pieces.iter().for_each(|piece| client.send(piece));
        assert_eq!(client.response().status, 408, "{pieces:?}");
    }
    // Nor may the header itself take longer.
    let mut client = server.connect();
    client.send("PROXY UNK");
    client.assert_closed();
    let log = server.stop_and_read_log().join("\n");
    assert!(log.contains("no whole PROXY header within header_timeout"), "{log}");
}
