//! Shows that requests reach a backend, and its answers the client, with the fields that are
//! theirs: addresses, hosts, what belongs to one connection only. Bodies are in `proxy_bodies.rs`.

use crate::support::{Asked, Backend, Client, Server, Then, route};

/// Fields that name nothing but the request itself, which every backend sees.
const PLAIN: &str = "Accept: text/*\r\nCookie: a=1; b=2\r\nX-Two: one\r\nX-Two: two\r\n";

#[track_caller]
fn assert_fields(asked: &Asked, name: &str, values: &[&str]) {
    assert_eq!(asked.fields(name), values, "{name} in {}", asked.head);
}

#[test]
fn a_request_goes_through_and_its_answer_comes_back() {
    for flags in [&[][..], &["--uplink", "100mbit"], &["--workers", "1"]] {
        let backend = Backend::new(|call| {
            call.send(
                "HTTP/1.1 203 Quite Fine\r\nContent-Length: 5\r\nServer: app\r\nX-A: 1\r\n\
                 Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
                 Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Type: text/x\r\n\r\nhello",
            );
            Then::Keep
        });
        let server = Server::before(&backend, flags);
        let answer = server.connect().get_with("/a/b%20c//d?x=1&y=%2F&z", PLAIN);
        assert_eq!((answer.status, answer.text().as_str()), (203, "hello"));
        assert_eq!(answer.field("X-A"), Some("1"));
        assert_eq!(answer.field("Content-Type"), Some("text/x"));
        assert_eq!(answer.field("Server"), Some("app"));
        assert_eq!(answer.field("Date"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
        let cookies = answer.head.to_ascii_lowercase();
        let places = [cookies.find("set-cookie: a=1\r\n"), cookies.find("set-cookie: b=2\r\n")];
        assert!(places[0].is_some() && places[0] < places[1], "{}", answer.head);
        let asked = backend.only();
        assert!(
            asked.head.starts_with("GET /a/b%20c//d?x=1&y=%2F&z HTTP/1.1\r\n"),
            "the target is as the client wrote it: {}",
            asked.head
        );
        assert_fields(&asked, "Host", &["weir"]);
        assert_fields(&asked, "Accept", &["text/*"]);
        assert_fields(&asked, "Cookie", &["a=1; b=2"]);
        assert_fields(&asked, "X-Two", &["one", "two"]);
        assert_fields(&asked, "Content-Length", &[]);
        assert_fields(&asked, "Transfer-Encoding", &[]);
    }
}

#[test]
fn the_backend_is_told_who_asks_whatever_the_client_says() {
    let backend = Backend::saying("");
    let server = Server::before(&backend, &[]);
    server.get("/");
    let lies = "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\nX-Real-IP: 6.6.6.6\r\n\
                X-Forwarded-Host: evil\r\nForwarded: for=6.6.6.6\r\nX_Forwarded_For: 6.6.6.6\r\n";
    server.connect().get_with("/", lies);
    // A field that the connection is said to be about stays all the same.
    server.connect().get_with("/", "Connection: X-Forwarded-For, X-Forwarded-Host, Host\r\n");
    let from = Client::connect_from([127, 0, 0, 7].into(), server.address()).get("/");
    assert_eq!(from.status, 200);
    let requests = backend.requests();
    for (asked, client) in requests.iter().zip(["127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.7"])
    {
        assert_fields(asked, "X-Forwarded-For", &[client]);
        assert_fields(asked, "X-Forwarded-Proto", &["http"]);
        assert_fields(asked, "X-Forwarded-Host", &["weir"]);
        assert_fields(asked, "Host", &["weir"]);
        assert!(!asked.head.contains("6.6.6.6") && !asked.head.contains("evil"), "{}", asked.head);
    }
    assert_eq!(requests.len(), 4);
}

#[test]
fn what_a_trusted_proxy_says_is_added_to() {
    let said = "X-Forwarded-For: 192.0.2.9\r\nX-Forwarded-Proto: https\r\n\
                Forwarded: for=192.0.2.9;proto=https\r\n";
    for (style, x, standard) in [
        ("x-forwarded", Some("192.0.2.9, 127.0.0.1"), "for=192.0.2.9;proto=https"),
        ("both", Some("192.0.2.9, 127.0.0.1"), "127.0.0.1"),
        ("standard", None, "127.0.0.1"),
    ] {
        let backend = Backend::saying("");
        let keys = format!("forwarded = \"{style}\"\ntrust_forwarded = true\n");
        let server = Server::routed(&[&backend.url], &keys);
        assert_eq!(server.connect().get_with("/", said).status, 200);
        let asked = backend.only();
        if let Some(x) = x {
            assert_eq!(asked.fields("X-Forwarded-For").join(", "), x, "{style}");
            assert_fields(&asked, "X-Forwarded-Proto", &["https"]);
        }
        let forwarded = asked.fields("Forwarded").join(", ");
        assert!(forwarded.starts_with("for=192.0.2.9;proto=https"), "{style}: {forwarded}");
        assert!(forwarded.contains(standard), "{style}: {forwarded}");
    }
    let backend = Backend::saying("");
    let server = Server::routed(&[&backend.url], "forwarded = \"off\"\n");
    server.connect().get_with("/", said);
    for name in ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded"] {
        assert_fields(&backend.only(), name, &[]);
    }
}

#[test]
fn fields_of_one_connection_stay_there() {
    let backend = Backend::new(|call| {
        call.ok_with(
            "Connection: X-Back, keep-alive\r\nX-Back: 1\r\nKeep-Alive: timeout=5\r\n\
             Proxy-Connection: keep-alive\r\nUpgrade: h2c\r\nX-Kept: 1\r\n",
            "",
        )
    });
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    let answer = client.get_with(
        "/",
        "Connection: keep-alive, X-Hop\r\nconnection: X-Other\r\nX-Hop: 1\r\nX-Other: 1\r\n\
         Keep-Alive: timeout=5\r\nTE: deflate\r\nProxy-Connection: keep-alive\r\n\
         Upgrade: nothing\r\nX-Kept: 1\r\n",
    );
    assert_eq!((answer.status, answer.field("X-Kept")), (200, Some("1")));
    for name in ["X-Back", "Keep-Alive", "Proxy-Connection", "Upgrade"] {
        assert_eq!(answer.field(name), None, "{}", answer.head);
    }
    let asked = backend.only();
    assert_fields(&asked, "X-Kept", &["1"]);
    for name in ["X-Hop", "X-Other", "Keep-Alive", "TE", "Proxy-Connection", "Upgrade"] {
        assert_fields(&asked, name, &[]);
    }
    let named = asked.fields("Connection").join(", ").to_ascii_lowercase();
    assert!(!named.contains("x-"), "{}", asked.head);
    // A client that ends its connection ends not that to the backend.
    assert_eq!(client.get_with("/", "Connection: close\r\n").field("Connection"), Some("close"));
    client.assert_closed();
    let again = &backend.requests()[1];
    assert!(!again.fields("Connection").contains(&"close"), "{}", again.head);
}

#[test]
fn framing_cannot_be_declared_a_matter_of_the_connection() {
    let backend = Backend::saying("");
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    for framing in [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ] {
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: weir\r\nConnection: Content-Length, Transfer-Encoding\r\n\
             {framing}"
        ));
        assert_eq!(client.response().status, 200);
    }
    for asked in backend.requests() {
        assert_eq!(asked.body.as_deref(), Some(&b"hello"[..]), "{}", asked.head);
    }
    assert_eq!(backend.requests().len(), 2);
}

#[test]
fn connections_to_backends_are_kept_unless_they_say_otherwise() {
    let backend = Backend::new(|call| match call.asked.target() {
        "/last" => {
            call.ok_with("Connection: close\r\n", "last");
            Then::Close
        }
        "/old" => {
            call.send("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold");
            Then::Close
        }
        _ => call.ok("more"),
    });
    let server = Server::before(&backend, &["--workers", "1"]);
    // Whose connection it is makes no difference.
    for _ in 0..3 {
        let mut client = server.connect();
        assert_eq!(client.get("/").text(), "more");
        assert_eq!(client.get("/").text(), "more");
    }
    assert_eq!(backend.connections(), 1);
    assert_eq!(server.get("/last").text(), "last");
    assert_eq!(server.get("/old").text(), "old");
    assert_eq!(server.get("/").text(), "more");
    let connections: Vec<_> = backend.requests().iter().map(|asked| asked.connection).collect();
    assert_eq!(connections, [0, 0, 0, 0, 0, 0, 0, 1, 2]);
}

#[test]
fn a_backend_of_http_1_0_that_keeps_connections_gets_bodies_whole() {
    let backend = Backend::new(|call| {
        call.send("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok");
        Then::Keep
    });
    let server = Server::before(&backend, &["--workers", "1"]);
    let mut client = server.connect();
    assert_eq!(client.get("/").text(), "ok");
    client.send(
        "POST / HTTP/1.1\r\nHost: weir\r\nTransfer-Encoding: chunked\r\n\r\n\
         5\r\nhello\r\n0\r\n\r\n",
    );
    assert_eq!(client.response().text(), "ok");
    let requests = backend.requests();
    // In HTTP/1.0, which has no chunks, this body would be none.
    assert_eq!(requests[1].body.as_deref(), Some(&b"hello"[..]), "{}", requests[1].head);
    assert_eq!(requests[1].connection, 1, "the first one is not used again");
}

#[test]
fn an_idle_connection_to_a_backend_is_closed_in_time() {
    let backend = Backend::saying("");
    let server = Server::routed(&[&backend.url], "keep_alive = \"50ms\"\n");
    assert_eq!(server.get("/").status, 200);
    backend.wait_for_closed(1);
    assert_eq!(server.get("/").status, 200);
    assert_eq!(backend.connections(), 2);
}

#[test]
fn all_methods_go_through_but_connect() {
    let backend = Backend::saying("ok");
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    let methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "M-SEARCH"];
    for method in methods {
        client.send(format!("{method} /x HTTP/1.1\r\nHost: weir\r\n\r\n"));
        assert_eq!(client.response().text(), "ok", "{method}");
    }
    client.send("OPTIONS * HTTP/1.1\r\nHost: weir\r\n\r\n");
    assert_eq!(client.response().text(), "ok", "OPTIONS *");
    let lines: Vec<_> = backend.requests().iter().map(|asked| asked.head.clone()).collect();
    for (line, method) in lines.iter().zip(methods) {
        assert!(line.starts_with(&format!("{method} /x HTTP/1.1\r\n")), "{line}");
    }
    assert!(lines[methods.len()].starts_with("OPTIONS * HTTP/1.1\r\n"), "{lines:?}");
    client.send("CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\n\r\n");
    assert_eq!(client.response().status, 501);
    assert_eq!(backend.requests().len(), methods.len() + 1);
}

#[test]
fn the_host_of_an_absolute_target_wins() {
    let backend = Backend::saying("");
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    client.send("GET http://true.example/a?b HTTP/1.1\r\nHost: false.example\r\n\r\n");
    assert_eq!(client.response().status, 200);
    let asked = backend.only();
    assert_eq!(asked.target(), "/a?b");
    assert_fields(&asked, "Host", &["true.example"]);
    assert_fields(&asked, "X-Forwarded-Host", &["true.example"]);
}

#[test]
fn what_no_uri_contains_is_passed_on_encoded() {
    for (keys, path) in [("", "/app/a%3Cb%3E"), ("strip_prefix = true\n", "/a%3Cb%3E")] {
        let backend = Backend::saying("found");
        let server = Server::configured(&format!("{}{keys}", route("/app", &[&backend.url])), &[]);
        let mut client = server.connect();
        assert_eq!(client.get("/app/x?q=\"exact\"&r=<b>").text(), "found", "{keys}");
        assert_eq!(client.get("/app/a<b>?c=\"%22").text(), "found", "{keys}");
        let targets = backend.targets();
        assert!(targets[0].ends_with("/x?q=%22exact%22&r=%3Cb%3E"), "{targets:?}");
        assert_eq!(targets[1], format!("{path}?c=%22%22"));
    }
}

#[test]
fn interim_answers_are_passed_on_to_who_knows_them() {
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
    let backend = Backend::new(move |call| {
        call.send(hint);
        call.send("HTTP/1.1 102 Processing\r\n\r\n");
        call.ok("done")
    });
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    client.ask("/");
    let early = client.head();
    assert_eq!((early.status, early.field("Link")), (103, Some("</a.css>; rel=preload")));
    assert_eq!(client.head().status, 102);
    assert_eq!(client.response().text(), "done");
    // HTTP/1.0 has none.
    client.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(client.response().text(), "done");
}

#[test]
fn an_http_1_0_client_without_a_host_is_served() {
    let backend = Backend::saying("old");
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    client.send("GET /x HTTP/1.0\r\n\r\n");
    assert_eq!(client.response().text(), "old");
    client.assert_closed();
    let asked = backend.only();
    assert!(asked.head.starts_with("GET /x HTTP/1.1\r\n"), "{}", asked.head);
    assert_eq!(asked.fields("Host").len(), 1, "{}", asked.head);
    for _ in 0..2 {
        let mut client = server.connect();
        client.send("GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(client.response().field("Connection"), Some("keep-alive"));
        client.send("GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(client.response().text(), "old");
    }
}

#[test]
fn a_backend_on_a_unix_socket_is_as_good() {
    let here = tempfile::tempdir().unwrap();
    let backend = Backend::at(&here.path().join("app.sock"), |call| call.ok(call.asked.target()));
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.get("/one?two").text(), "/one?two");
    }
    assert_eq!(backend.connections(), 1);
    assert_fields(&backend.requests()[0], "Host", &["weir"]);
    assert_fields(&backend.requests()[0], "X-Forwarded-For", &["127.0.0.1"]);
}
