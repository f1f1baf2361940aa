//! What no client should send ends its own connection, with a word where there is one, and nobody
//! else's.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::sync::Arc;

use rustls::ClientConnection;
use rustls::pki_types::ServerName;

use crate::authority::Authority;
use crate::handshakes_that_ended as handshakes;
use crate::secure_client::{SecureClient, config};
use crate::support::{Client, DEADLINE, Server, eventually, noise, tool};

/// What a server answers to these bytes until it closes.
fn answer_to(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(to).expect("the server accepts");
    socket.set_read_timeout(Some(DEADLINE)).expect("a read time-out");
    // It may close before it has read all.
    let _ = socket.write_all(bytes);
    let mut answer = Vec::new();
    let mut room = [0; 4096];
    while let Ok(count @ 1..) = socket.read(&mut room) {
        answer.extend_from_slice(&room[..count]);
    }
    answer
}

/// A page over TLS, as for anybody else.
fn assert_serves(authority: &Authority, server: &Server) {
    let config = Arc::new(config(authority, None));
    let client = SecureClient::connect(&config, server.address(), "a.test");
    let (head, _) = client.and_then(|mut client| client.get("/")).expect("a page");
    assert!(head.starts_with("HTTP/1.1 200 "));
}

/// The first message of a client, and the client.
fn first_message(authority: &Authority) -> (Vec<u8>, ClientConnection) {
    let name = ServerName::try_from("a.test").expect("a name");
    let client = ClientConnection::new(Arc::new(config(authority, None)), name);
    let mut client = client.expect("a client");
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).expect("memory takes all");
    (bytes, client)
}

#[test]
fn http_in_clear_text_is_told_what_is_wrong() {
    let authority = Authority::new();
    let server = authority.server(&[]);
    let answer = server.connect().get("/secret?with=query");
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("this port speaks TLS; write https://"), "{}", answer.text());
    assert_eq!(answer.field("Connection"), Some("close"));
    assert!(answer.field("Date").is_some(), "{}", answer.head);
    eventually("both are counted", || {
        let refused = server.metrics().value("weir_responses_total", "{status=\"400\"}");
        handshakes(&server, "clear text") == 1.0 && refused == Some(1.0)
    });
    assert_serves(&authority, &server);
}

#[test]
fn garbage_is_answered_with_an_alert() {
    let authority = Authority::new();
    let server = authority.server(&[]);
    let (hello, _) = first_message(&authority);
    let mut cut_inside = hello.clone();
    cut_inside[5..9].copy_from_slice(&[1, 0, 0, 1]);
    for bytes in [
        &[0x16, 3, 1, 0xff, 0xff, 1, 2, 3][..],
        // A handshake message of 16 MB.
        &[0x16, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff],
        // SSL 2.
        &[0x80, 0x2e, 1, 0, 2, 0, 0x15],
        &[0x17, 3, 3, 0, 1, 0],
        &[0x15, 3, 3, 0, 2, 2, 40],
        &cut_inside,
    ] {
        let answer = answer_to(server.address(), bytes);
        assert!(answer.is_empty() || answer[0] == 0x15, "{bytes:?}: {answer:?}");
    }
    for seed in 0..20 {
        answer_to(server.address(), &[&[0x16, 3, 1, 2, 0][..], &noise(seed, 700)].concat());
    }
    assert_serves(&authority, &server);
    eventually("they are counted", || handshakes(&server, "failed") >= 20.0);
}

#[test]
fn a_first_message_may_come_a_byte_at_a_time() {
    let authority = Authority::new();
    let server = authority.server(&[]);
    let (hello, mut client) = first_message(&authority);
    let mut socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.set_nodelay(true).unwrap();
    for byte in hello {
        socket.write_all(&[byte]).unwrap();
    }
    while client.is_handshaking() {
        client.complete_io(&mut socket).unwrap();
    }
    eventually("the server has agreed, too", || handshakes(&server, "full") == 1.0);
}

#[test]
fn a_handshake_that_does_not_end_is_ended() {
    let authority = Authority::new();
    let server = authority.server(&["--handshake-timeout", "200ms"]);
    let (hello, _) = first_message(&authority);
    // Nothing after the first message, part of it, nothing at all but one byte.
    for (place, count) in [hello.len(), hello.len() / 2, 1].into_iter().enumerate() {
        answer_to(server.address(), &hello[..count]);
        let ended = (place + 1) as f64;
        eventually("it is counted", || handshakes(&server, "timed out") == ended);
    }
    assert_serves(&authority, &server);
}

#[test]
fn a_client_that_leaves_in_the_middle_leaves_nothing() {
    let authority = Authority::new();
    let server = authority.server(&[]);
    let (hello, _) = first_message(&authority);
    for count in [1, 5, 100, hello.len() - 1, hello.len()] {
        let mut socket = TcpStream::connect(server.address()).unwrap();
        socket.write_all(&hello[..count]).unwrap();
    }
    eventually("all are gone", || handshakes(&server, "left") == 5.0);
    server.wait_for_metric("weir_connections", 0.0);
}

/// RFC 5246, section 7.2.2: a server may refuse it with a warning, and go on.
#[test]
fn a_renegotiation_is_not_begun() {
    let authority = Authority::new();
    // OpenSSL waits for more until the server closes.
    let server = authority.server(&["--idle-timeout", "5s"]);
    let mut command = tool("openssl", "openssl");
    command.args(["s_client", "-tls1_2", "-servername", "a.test", "-connect"]);
    command.arg(server.address().to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    eventually("they have agreed", || handshakes(&server, "full") == 1.0);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"R\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no renegotiation") || said.contains("alert"), "{said}");
    assert_eq!(handshakes(&server, "full"), 1.0);
    assert_serves(&authority, &server);
}

#[test]
fn clients_that_never_read_hold_up_nobody_and_are_let_go() {
    let authority = Authority::new();
    let server = authority.server(&["--send-timeout", "500ms", "--workers", "1"]);
    let config = Arc::new(config(&authority, None));
    let stuck: Vec<_> = (0..8)
        .map(|_| {
            let mut client = SecureClient::connect(&config, server.address(), "a.test").unwrap();
            let request = b"GET /files/100mb.bin HTTP/1.1\r\nHost: a.test\r\n\r\n";
            client.stream.write_all(request).unwrap();
            client
        })
        .collect();
    assert_serves(&authority, &server);
    eventually("all are let go", || {
        server.metrics().sum("weir_incomplete_responses_total") == stuck.len() as f64
    });
}

#[test]
fn a_client_that_reads_slowly_gets_all_to_the_last_record() {
    let authority = Authority::new();
    let config = Arc::new(config(&authority, None));
    for flags in [&[][..], &["--uplink", "1gbit"]] {
        let server = authority.server(flags);
        // Its kernel takes little at a time, so that of the server is full until the end.
        let socket = Client::with_small_buffer(server.address()).stream;
        let mut client = SecureClient::over(socket, &config, "a.test").unwrap();
        for _ in 0..2 {
            assert_eq!(client.get("/files/1mb.bin").unwrap().1.len(), 1_000_000);
        }
    }
}

#[test]
fn records_that_were_changed_on_their_way_end_the_connection() {
    let authority = Authority::new();
    let server = authority.server(&[]);
    let config = Arc::new(config(&authority, None));
    let mut client = SecureClient::connect(&config, server.address(), "a.test").unwrap();
    assert!(client.get("/").is_ok());
    client.stream.sock.write_all(&[0x17, 3, 3, 0, 20]).unwrap();
    client.stream.sock.write_all(&[7; 20]).unwrap();
    assert!(client.get("/").is_err());
    assert_serves(&authority, &server);
}

/// A reset may overtake the alert, or have the client forget it.
#[test]
fn who_spoils_a_handshake_is_told_so_and_not_reset() {
    let authority = Authority::new();
    let server = authority.server(&[]);
    let (hello, mut client) = first_message(&authority);
    let mut socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.write_all(&hello).unwrap();
    // There is a session once the server has answered.
    let mut answer = vec![0; 16 * 1024];
    let count = socket.read(&mut answer).unwrap();
    answer.truncate(count);
    // No record of it, and more than is read at once.
    let garbage = [&[0x17_u8, 3, 3, 0, 20][..], &[7; 50_000]].concat();
    socket.write_all(&garbage).unwrap();
    server.wait_for_metric("weir_connections", 0.0);
    let error = socket.take_error().unwrap();
    assert!(error.is_none(), "{error:?}");
    socket.read_to_end(&mut answer).unwrap();
    let mut bytes = &answer[..];
    let mut told = None;
    while told.is_none() && !bytes.is_empty() {
        client.read_tls(&mut bytes).unwrap();
        told = client.process_new_packets().err();
    }
    assert!(matches!(told, Some(rustls::Error::AlertReceived(_))), "{told:?}");
    assert_eq!(handshakes(&server, "failed"), 1.0);
}

#[test]
fn a_proxy_header_stands_before_the_handshake() {
    let authority = Authority::new();
    let server = authority.server(&["--proxy-protocol", "--access-log", "stderr"]);
    let (hello, mut client) = first_message(&authority);
    let mut socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    let header = b"PROXY TCP4 192.0.2.7 192.0.2.1 5555 443\r\n";
    socket.write_all(&[&header[..], &hello].concat()).unwrap();
    while client.is_handshaking() {
        client.complete_io(&mut socket).unwrap();
    }
    client.writer().write_all(b"GET /named HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    client.complete_io(&mut socket).unwrap();
    eventually("the line has the client's address", || {
        server.log().iter().any(|line| line.contains("192.0.2.7") && line.contains("/named"))
    });
    // TLS alone is no header.
    assert!(Client::connect(server.address()).try_send(first_message(&authority).0).is_ok());
}
