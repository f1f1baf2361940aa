//! Shows that weir stands in front of what people run: nginx, an application in Python, a WebSocket
//! that Chromium opens.

use std::fs;

use crate::support::{App, Client, Server, chromium, curl, noise, output_of, route, tool};

/// What curl says of the statuses and of the connections it made, over all URLs.
const FIGURES: &str = "%{http_code} %{num_connects};";

#[test]
fn curl_gets_from_nginx_what_it_would_get_without_weir() {
    let (here, site) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let content = noise(1, 30_000_000);
    fs::write(site.path().join("file.bin"), &content).unwrap();
    fs::write(site.path().join("index.html"), "the page of nginx").unwrap();
    let nginx = App::nginx(here.path(), site.path());
    for flags in [&[][..], &["--uplink", "1gbit"]] {
        let proxy = format!("/={}", nginx.url);
        let server = Server::builtin(&[&["--proxy", &proxy][..], flags].concat());
        let root = format!("http://{}/", server.address());
        let url = format!("{root}file.bin");
        let to = here.path().join("download");
        let name = to.to_str().unwrap();

        assert_eq!(curl(&[], &root), "the page of nginx");
        curl(&["-o", name], &url);
        assert!(fs::read(&to).unwrap() == content, "the whole");
        fs::write(&to, &content[..1_234_567]).unwrap();
        curl(&["-C", "-", "-o", name], &url);
        assert!(fs::read(&to).unwrap() == content, "the resumed");
        curl(&["-r", "1000-1999", "-o", name], &url);
        assert!(fs::read(&to).unwrap() == content[1000..2000], "a range");
        // Twice on one connection: with and without a body.
        let figures = ["-o", "/dev/null", "-o", "/dev/null", "-w", FIGURES];
        assert_eq!(curl(&[&figures[..], &[&root]].concat(), &url), "200 1;200 0;");
        assert_eq!(curl(&[&figures[..], &["-I", &root]].concat(), &url), "200 1;200 0;");
        let head = curl(&["-I"], &url);
        let is_tag = |line: &&str| line.to_ascii_lowercase().starts_with("etag: ");
        let tag = head.lines().find(is_tag).and_then(|line| line.split_once(": "));
        let (_, tag) = tag.unwrap_or_else(|| panic!("no ETag in {head}"));
        let condition = format!("If-None-Match: {}", tag.trim());
        assert_eq!(curl(&[&figures[..], &["-H", &condition]].concat(), &url), "304 1;");
        let data = format!("@{name}");
        let said = curl(&["--data-binary", &data], &format!("{root}said"));
        assert_eq!(said, format!("POST 1000 {}", server.address()), "the host is kept");
        let missing = ["-o", "/dev/null", "-w", "%{http_code}", "--no-fail"];
        assert_eq!(curl(&missing, &format!("{root}missing")), "404");
    }
}

#[test]
fn many_at_once_get_every_response_of_nginx() {
    let (here, site) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(site.path().join("10kb.bin"), noise(1, 10_000)).unwrap();
    let nginx = App::nginx(here.path(), site.path());
    for limit in ["auto", "1"] {
        let proxy = format!("/={}", nginx.url);
        let server = Server::builtin(&["--proxy", &proxy, "--backend-limit", limit]);
        let mut command = tool("h2load", "nghttp2-client");
        command.args(["--h1", "-n", "2000", "-c", "50", "-t", "1"]);
        command.arg(format!("http://{}/10kb.bin", server.address()));
        let said = output_of(command);
        assert!(said.contains("2000 done, 2000 succeeded, 0 failed, 0 errored"), "{limit}: {said}");
        assert!(said.contains("status codes: 2000 2xx"), "{limit}: {said}");
        assert_eq!(server.metrics().sum("weir_backend_calls_total"), 2000.0);
    }
}

#[test]
fn curl_talks_to_an_application_in_python() {
    let app = App::python();
    let server = Server::builtin(&["--proxy", &format!("/={}", app.url)]);
    let root = format!("http://{}/", server.address());
    assert_eq!(curl(&[], &format!("{root}some/path?x=y")), "/some/path?x=y for 127.0.0.1");
    let here = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| here.path().join(name).to_str().unwrap().to_owned());
    for size in [0, 10, 3_000_000] {
        let content = noise(2, size);
        fs::write(&from, &content).unwrap();
        let data = format!("@{from}");
        // Of a megabyte and more curl asks first whether it may.
        for coding in ["X-Plain: 1", "Transfer-Encoding: chunked"] {
            curl(&["-H", coding, "--data-binary", &data, "-o", &to], &root);
            assert!(fs::read(&to).unwrap() == content, "{size} {coding}");
        }
    }
    let lines: String = (0..1000).map(|number| format!("line {number}\n")).collect();
    assert_eq!(curl(&[], &format!("{root}stream")), lines);
    assert_eq!(curl(&["--http1.0"], &format!("{root}stream")), lines);
    let twice = ["-o", "/dev/null", "-o", "/dev/null", "-w", FIGURES, &root];
    assert_eq!(curl(&twice, &format!("{root}stream")), "200 1;200 0;");
}

/// A text frame of a client (RFC 6455, section 5.2).
fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [1, 2, 3, 4];
    let mut frame = vec![0x80 | opcode];
    match payload.len() {
        length @ ..126 => frame.push(0x80 | length as u8),
        length @ ..65_536 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(payload.iter().enumerate().map(|(place, byte)| byte ^ mask[place % 4]));
    frame
}

fn open_web_socket(server: &Server) -> Client {
    let mut client = server.connect();
    let fields = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                  Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    client.ask_with("/ws", fields);
    let switched = client.head();
    assert_eq!(switched.status, 101, "{}", switched.head);
    assert_eq!(switched.field("Upgrade"), Some("websocket"));
    assert!(switched.field("Connection").is_some_and(|it| it.eq_ignore_ascii_case("upgrade")));
    // The example of RFC 6455, section 1.3.
    let accept = switched.field("Sec-WebSocket-Accept");
    assert_eq!(accept, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    client
}

#[test]
fn a_web_socket_carries_messages_both_ways() {
    let app = App::python();
    for flags in [&[][..], &["--uplink", "1gbit"]] {
        let proxy = format!("/={}", app.url);
        let flags = [&["--proxy", &proxy, "--backend-limit", "1"][..], flags].concat();
        let server = Server::builtin(&flags);
        let mut client = open_web_socket(&server);
        let mut other = open_web_socket(&server);
        for size in [5, 125, 126, 70_000, 5] {
            let message = noise(size as u64, size);
            client.send(frame(2, &message));
            let head = match size {
                0..126 => 2,
                126..65_536 => 4,
                _ => 10,
            };
            let echo = client.read(head + size);
            assert!(echo[0] == 0x82 && echo[head..] == message, "{size}");
            other.send(frame(1, b"mine"));
            assert_eq!(other.read(6), b"\x81\x04mine");
        }
        // An open one is no call under way: the only slot is free.
        assert_eq!(server.get("/x").text(), "/x for 127.0.0.1");
        assert_eq!(server.metrics().sum("weir_backend_under_way"), 0.0);
        client.send(frame(8, b"\x03\xe8"));
        assert_eq!(client.read(4), b"\x88\x02\x03\xe8");
        client.assert_closed();
        drop(other);
        crate::support::eventually("all are gone", || {
            server.metrics().sum("weir_connections") == 0.0
        });
    }
}

#[test]
fn chromium_opens_a_web_socket_through_weir() {
    let app = App::python();
    let site = tempfile::tempdir().unwrap();
    // The page has loaded when /wait is answered: after the echo has been seen.
    let page = r#"<!doctype html><title>page</title><p id="said">nothing</p><script>
        const socket = new WebSocket("ws://" + location.host + "/ws");
        socket.onopen = () => socket.send("hello from Chromium");
        socket.addEventListener("message", (event) => {
            document.getElementById("said").textContent = "echo: " + event.data;
            socket.send("seen");
        }, { once: true });
        </script><img src="/wait">"#;
    fs::write(site.path().join("index.html"), page).unwrap();
    let root = format!("root = {:?}\n", site.path().to_str().unwrap());
    let text = root + &route("/ws", &[&app.url]) + &route("/wait", &[&app.url]);
    let server = Server::configured(&text, &[]);
    let here = tempfile::tempdir().unwrap();
    let url = format!("http://{}/", server.address());
    let shown = chromium(here.path(), "--dump-dom", &url);
    assert!(shown.contains("<p id=\"said\">echo: hello from Chromium</p>"), "{shown}");
    crate::support::eventually("the switched connection has ended and is counted", || {
        server.metrics().value("weir_responses_total", "{status=\"101\"}") == Some(1.0)
    });
}
