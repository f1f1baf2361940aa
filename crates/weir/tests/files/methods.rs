//! Shows how methods other than GET and HEAD are answered: by weir itself, and on their way to backends.

use std::fs;

use crate::support::{Backend, Client, Server, curl, tool};

const ALLOW: Option<&str> = Some("GET, HEAD, OPTIONS");

#[test]
fn options_says_which_methods_there_are() {
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("file"), "content").unwrap();
    let server = Server::of(site.path(), &[]);
    for address in [server.address(), server.admin()] {
        let mut client = Client::connect(address);
        for target in ["*", "/", "/file", "/missing", "/a?b"] {
            client.send(format!("OPTIONS {target} HTTP/1.1\r\nHost: weir\r\n\r\n"));
            let answer = client.response();
            assert_eq!((answer.status, answer.field("Allow")), (204, ALLOW), "{target}");
            for none in ["Content-Length", "Content-Type", "Transfer-Encoding", "Connection"] {
                assert_eq!(answer.field(none), None, "{}", answer.head);
            }
            assert!(answer.field("Date").is_some());
        }
        // A body would stand in front of the next response.
        let expected = if address == server.address() { 404 } else { 200 };
        assert_eq!(client.get("/metrics").status, expected);
    }
    let logged = server.metrics().value("weir_responses_total", "{status=\"204\"}");
    assert_eq!(logged, Some(5.0));
    let url = format!("http://{}/file", server.address());
    let said = curl(&["-X", "OPTIONS", "-i"], &url);
    assert!(said.starts_with("HTTP/1.1 204 No Content\r\n"), "{said}");
    assert!(said.contains("\r\nAllow: GET, HEAD, OPTIONS\r\n"), "{said}");
}

#[test]
fn known_methods_are_not_allowed_and_unknown_ones_are_not_implemented() {
    let mut server = Server::builtin(&[]);
    let mut client = server.connect();
    for (method, status, allow) in [
        ("POST", 405, ALLOW),
        ("PUT", 405, ALLOW),
        ("DELETE", 405, ALLOW),
        ("PATCH", 405, ALLOW),
        ("TRACE", 405, ALLOW),
        ("get", 501, None),
        ("OPTION", 501, None),
        ("PROPFIND", 501, None),
        ("BREW", 501, None),
    ] {
        client.send(format!("{method} / HTTP/1.1\r\nHost: weir\r\nX-Secret: 1\r\n\r\n"));
        let answer = client.response();
        assert_eq!((answer.status, answer.field("Allow")), (status, allow), "{method}");
        assert!(!answer.text().contains("Secret"), "TRACE would echo it");
    }
    assert_eq!(client.get("/").status, 200, "the connection goes on");
    let mut admin = Client::connect(server.admin());
    admin.send("POST /metrics HTTP/1.1\r\nHost: weir\r\n\r\n");
    let answer = admin.response();
    assert_eq!((answer.status, answer.field("Allow")), (405, ALLOW));
    server.assert_alive();
}

/// It asks for a tunnel and not for anything that is here.
#[test]
fn connect_is_not_implemented_wherever_it_comes() {
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("index.html"), "content").unwrap();
    let plain = Server::of(site.path(), &[]);
    let routes = "[[route]]\nhost = \"example.org\"\npath = \"/\"\nfiles = true\n\
                  deny = \"127.0.0.1\"\n\
                  [[route]]\npath = \"/old\"\nredirect = \"/new\"\n\
                  [[route]]\npath = \"/\"\nfiles = true\n";
    let routed = Server::site(site.path(), routes);
    for address in [plain.address(), plain.admin(), routed.address(), routed.admin()] {
        let mut client = Client::connect(address);
        client.send("CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n");
        let answer = client.response();
        assert_eq!((answer.status, answer.field("Allow")), (501, None));
        assert_eq!(client.get("/").status, 200, "the connection goes on");
    }
}

#[test]
fn curl_is_refused_to_put_a_file() {
    let server = Server::builtin(&[]);
    let url = format!("http://{}/new", server.address());
    let mut command = tool("curl", "curl");
    command.args(["-q", "--noproxy", "*", "-sS", "--max-time", "60", "-o", "/dev/null"]);
    command.args(["-w", "%{http_code}", "-T", "Cargo.toml", &url]);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(crate::support::output_of(command), "405");
}

/// What a route adds to requests may be secret, and a backend that echoes it would tell the client.
#[test]
fn trace_never_reaches_a_backend() {
    let backend = Backend::saying("ok");
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    for fields in ["", "Max-Forwards: 0\r\n", "Max-Forwards: 5\r\n"] {
        client.send(format!("TRACE /x HTTP/1.1\r\nHost: weir\r\n{fields}\r\n"));
        assert_eq!(client.response().status, 501, "{fields}");
    }
    assert_eq!(client.get("/after").text(), "ok");
    assert_eq!(backend.targets(), ["/after"]);
}
