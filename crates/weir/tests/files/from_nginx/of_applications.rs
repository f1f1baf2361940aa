//! The snippets about applications: paths, fields, several backends, switched protocols, bodies.

use super::both::{Stand, get, get_with, place};
use crate::support::wire::Source as _;
use crate::support::{Backend, Barrier, Client, Then};

/// Answers with the method, the target and the length of the body.
fn application() -> Backend {
    Backend::new(|call| {
        let asked = call.asked;
        let method = asked.head.split(' ').next().unwrap_or_default();
        let length = asked.body.as_ref().map_or(0, Vec::len);
        let said = format!("{method} {} {length}", asked.target());
        call.ok_with("X-App: yes\r\n", said)
    })
}

#[test]
fn an_application() {
    let backend = application();
    let both = Stand::of("An application").before(&backend).start();
    for (request, said) in [
        (get("/app/"), "GET /app/ 0"),
        (get("/app/list?page=2&x=%2F"), "GET /app/list?page=2&x=%2F 0"),
        (get("/app/a%20b/"), "GET /app/a%20b/ 0"),
        (
            "POST /app/x HTTP/1.1\r\nHost: example.org\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
            "POST /app/x 3",
        ),
        (
            "PUT /app/x HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: chunked\r\n\r\n\
             3\r\nabc\r\n0\r\n\r\n"
                .to_owned(),
            "PUT /app/x 3",
        ),
    ] {
        let [_, answer] = both.same(&request, &["X-App", "Content-Length"]);
        assert_eq!(answer.text(), said);
    }
    let asked = backend.requests().len();
    for path in ["/", "/other", "/apple"] {
        assert_eq!(both.same(&get(path), &[])[1].status, 404, "{path}");
    }
    assert_eq!(backend.requests().len(), asked);
    // By design: the backend is told for which host it is asked.
    let hosts = both.asked(&backend, &get("/app/")).map(|asked| asked.fields("Host").concat());
    assert_eq!(hosts, [place(&backend.url), "example.org"]);
    // By design: the path of a route is part of it, with its slash or without.
    let [nginx, weir] = both.ask(&get("/app"));
    assert_eq!((nginx.status, weir.text().as_str()), (301, "GET /app 0"));
}

#[test]
fn an_application_below_a_prefix() {
    let backend = Backend::new(|call| {
        let host = call.asked.fields("Host").concat();
        let location = match call.asked.target() {
            "/absolute" => format!("http://{host}/login"),
            "/path" => "/login".to_owned(),
            target => return call.ok(target),
        };
        let head =
            format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
        call.send(head);
        Then::Keep
    });
    let both = Stand::of("An application below a prefix").before(&backend).start();
    for (path, target) in [
        ("/app/", "/"),
        ("/app/list?page=2", "/list?page=2"),
        ("/app/a%20b", "/a%20b"),
        ("/api/users", "/v2/users"),
        ("/api/users?x=1", "/v2/users?x=1"),
    ] {
        assert_eq!(both.same(&get(path), &[])[1].text(), target, "{path}");
    }
    let [_, moved] = both.same(&get("/app/absolute"), &["Location"]);
    assert_eq!(moved.field("Location"), Some("http://example.org/app/login"));
    // By design: a path alone leads back below the prefix, too, and the application is told of it.
    let [nginx, weir] = both.ask(&get("/app/path"));
    assert!(
        nginx.field("Location").is_some_and(|to| to.ends_with("/login") && !to.contains("/app"))
    );
    assert_eq!(weir.field("Location"), Some("/app/login"));
    let told = both
        .asked(&backend, &get("/app/"))
        .map(|asked| asked.fields("X-Forwarded-Prefix").concat());
    assert_eq!(told, ["", "/app"]);
}

#[test]
fn several_backends() {
    let (heavy, light) = (Backend::saying("heavy"), Backend::saying("light"));
    let both = Stand::of("Several backends")
        .before(&heavy)
        .with("127.0.0.1:9001", place(&light.url))
        .start();
    let asked = || (heavy.requests().len(), light.requests().len());
    for address in both.addresses() {
        let before = asked();
        for _ in 0..8 {
            assert_eq!(Client::connect(address).get("/").status, 200);
        }
        let now = asked();
        assert_eq!((now.0 - before.0, now.1 - before.1), (6, 2), "{address}");
    }
}

#[test]
fn fields_of_requests() {
    let backend = Backend::new(|call| call.ok_with("X-Powered-By: app\r\nX-Kept: yes\r\n", "ok"));
    let both = Stand::of("Fields of requests").before(&backend).start();
    let request = get_with("/", "Cookie: a=1\r\nX-Site: mine\r\nX-Own: kept\r\n");
    let [_, answer] = both.same(&request, &["X-Powered-By", "X-Kept"]);
    assert_eq!((answer.field("X-Powered-By"), answer.field("X-Kept")), (None, Some("yes")));
    for asked in both.asked(&backend, &request) {
        for (name, value) in [
            ("Host", "example.org"),
            ("X-Forwarded-For", "127.0.0.1"),
            ("X-Forwarded-Proto", "http"),
            ("X-Site", "www"),
            ("X-Own", "kept"),
            ("Cookie", ""),
        ] {
            assert_eq!(asked.fields(name).concat(), value, "{name} in {}", asked.head);
        }
    }
    // By design: what a client says of itself is replaced.
    let lie = get_with("/", "X-Forwarded-For: 6.6.6.6\r\n");
    let told = both.asked(&backend, &lie).map(|asked| asked.fields("X-Forwarded-For").concat());
    assert_eq!(told, ["6.6.6.6, 127.0.0.1", "127.0.0.1"]);
}

#[test]
fn web_sockets() {
    let backend = Backend::new(|call| {
        let said = call.asked.fields("Upgrade").concat();
        call.send(format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: {said}\r\n\r\n"
        ));
        while let Some(bytes) = call.some_bytes() {
            call.send(bytes);
        }
        Then::Close
    });
    let both = Stand::of("WebSockets").before(&backend).start();
    for address in both.addresses() {
        let mut client = Client::connect(address);
        client.ask_with("/ws", "Connection: Upgrade\r\nUpgrade: websocket\r\n");
        let switched = client.head();
        assert_eq!((switched.status, switched.field("Upgrade")), (101, Some("websocket")));
        for message in ["first", "second"] {
            client.send(message);
            assert_eq!(client.read(message.len()), message.as_bytes(), "{address}");
        }
    }
}

#[test]
fn streams_of_events() {
    let barrier = Barrier::default();
    let next = barrier.clone();
    let backend = Backend::new(move |call| {
        call.send(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
             Transfer-Encoding: chunked\r\n\r\n",
        );
        for event in ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"] {
            call.send(format!("{:x}\r\n{event}\r\n", event.len()));
            next.pass();
        }
        call.send("0\r\n\r\n");
        Then::Keep
    });
    let both = Stand::of("Streams of events").before(&backend).start();
    for address in both.addresses() {
        let mut client = Client::connect(address);
        client.ask("/events");
        assert_eq!(client.head().status, 200);
        for number in 1..=3 {
            // The backend sends no more before this one has been seen.
            client.until(format!("data: {number}\n\n").as_bytes()).expect("the event");
            barrier.open(1);
        }
        client.until(b"0\r\n\r\n").expect("the end");
    }
}

#[test]
fn size_of_uploads() {
    const MOST: usize = 10 * 1024 * 1024;
    let backend = application();
    let both = Stand::of("Size of uploads").before(&backend).start();
    for address in both.addresses() {
        // Who asks whether to send it hears the same as who sends it.
        for (length, status) in [(MOST, 100), (MOST + 1, 413)] {
            let mut client = Client::connect(address);
            client.send(format!(
                "POST / HTTP/1.1\r\nHost: example.org\r\nExpect: 100-continue\r\n\
                 Content-Length: {length}\r\n\r\n"
            ));
            assert_eq!(client.head().status, status, "{length} bytes to {address}");
        }
    }
    assert!(backend.requests().is_empty());
}
