//! Shows that a server on a Unix socket serves as on a port, leaves alone what others use, and claims no
//! address for clients that have none.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Instant;

use crate::support::{
    Backend, DEADLINE, Server, curl, end_of, eventually, held, route, tool, weir,
};

/// A directory, and the path and the address of a socket in it.
fn place() -> (tempfile::TempDir, String, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("weir.sock").display().to_string();
    let address = format!("unix:{path}");
    (directory, path, address)
}

fn curl_at(socket: &str, path: &str) -> String {
    curl(&["--unix-socket", socket], &format!("http://weir{path}"))
}

/// How many bytes a download has.
fn downloaded(socket: &str, path: &str) -> String {
    let quiet = ["-o", "/dev/null", "-w", "%{size_download}", "--unix-socket", socket];
    curl(&quiet, &format!("http://weir{path}"))
}

/// A connection over which `bytes` were sent.
fn sent(socket: &str, bytes: impl AsRef<[u8]>) -> UnixStream {
    let mut stream = UnixStream::connect(socket).expect("the server listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a read time-out");
    stream.write_all(bytes.as_ref()).expect("the server takes the request");
    stream
}

/// The answer to a request on a connection of its own.
fn answer(socket: &str, start: &str, fields: &str) -> String {
    let head = format!("{start}GET / HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n{fields}\r\n");
    let mut text = String::new();
    sent(socket, head).read_to_string(&mut text).expect("an end of the answer");
    text
}

/// What a server that should not start on `address` says, and its exit status.
fn refused(address: &str) -> (Option<i32>, String) {
    let mut command = weir();
    command.args(["serve", "--access-log", "off", "--listen", address]);
    let output = end_of(command);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn it_is_served_like_a_port_and_logged_as_a_socket() {
    let (directory, path, address) = place();
    let log = directory.path().join("access.log");
    let (root, large) = (directory.path().join("public"), "large\n".repeat(200_000));
    fs::create_dir(&root).unwrap();
    fs::write(root.join("small"), "small\n").unwrap();
    fs::write(root.join("large"), &large).unwrap();
    // Everybody may connect, whatever the umask.
    let mut command = tool("sh", "dash");
    command
        .args(["-c", "umask 077; exec \"$0\" serve \"$@\""])
        .arg(weir().get_program())
        .arg(&root);
    let flags = ["--listen", &address, "--listen", "127.0.0.1:0", "--workers", "3"];
    let logged = ["--access-log", log.to_str().unwrap()];
    let server = Server::launch(command, &[&flags[..], &logged].concat());
    let said = server.log();
    assert!(said.iter().any(|line| line.ends_with(&format!("on {address}"))), "{said:#?}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
    assert_eq!(server.get("/small").text(), "small\n");
    for _ in 0..20 {
        assert_eq!(curl_at(&path, "/small"), "small\n");
    }
    // By sendfile(2), too.
    assert!(curl_at(&path, "/large") == large);
    assert_eq!(server.metrics().sum("weir_listen_queue_length"), 0.0);
    assert_eq!(server.stop().code(), Some(0));
    let lines = fs::read_to_string(&log).unwrap();
    let from = |peer: &str| lines.lines().filter(|line| line.starts_with(peer)).count();
    assert_eq!((from("unix: - - ["), from("127.0.0.1 - - [")), (21, 1), "{lines}");
    assert!(!Path::new(&path).exists(), "the socket is removed at the end");
}

#[test]
fn the_socket_of_a_dead_server_is_replaced_and_that_of_a_live_one_is_not() {
    let (_directory, path, address) = place();
    drop(UnixListener::bind(&path).unwrap());
    let server = Server::builtin(&["--listen", &address]);
    assert!(curl_at(&path, "/").contains("weir"));
    let (status, said) = refused(&address);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains(&format!("cannot listen on {address}: another server")), "{said}");
    assert!(curl_at(&path, "/").contains("weir"));
    // Another's by the time the server ends: it stays.
    fs::remove_file(&path).unwrap();
    let _other = UnixListener::bind(&path).unwrap();
    assert_eq!(server.stop().code(), Some(0));
    assert!(fs::metadata(&path).unwrap().file_type().is_socket());
}

#[test]
fn a_server_that_cannot_listen_changes_nothing() {
    let (directory, path, address) = place();
    fs::write(&path, "mine").unwrap();
    let inside = format!("{address}/weir.sock");
    let nowhere = format!("unix:{}/none/weir.sock", directory.path().display());
    let long = format!("unix:/{}", "a".repeat(107));
    for (address, code, part) in [
        (&address, 1, "a file that is no socket is there, and left alone"),
        (&format!("unix:{}", directory.path().display()), 1, "a directory is there"),
        (&nowhere, 1, "/none: No such file or directory"),
        (&inside, 1, "Not a directory"),
        (&long, 2, "is longer than 107 bytes"),
        (&"unix:".to_owned(), 2, "the path of the socket is missing"),
    ] {
        let (status, said) = refused(address);
        assert_eq!(status, Some(code), "{address}: {said}");
        assert!(said.contains(part), "{address}: {part} is not in {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn a_check_does_not_touch_what_is_there() {
    let (_directory, path, address) = place();
    let check = || {
        let mut command = weir();
        command.args(["serve", "--check", "--listen", &address]);
        let output = end_of(command);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, said) = check();
    assert!(status == Some(0) && !said.contains(&path), "{said}");
    assert!(!Path::new(&path).exists());
    let live = UnixListener::bind(&path).unwrap();
    let (status, said) = check();
    assert!(
        status == Some(0) && said.contains(&format!("{address} is a socket already")),
        "{said}"
    );
    live.set_nonblocking(true).unwrap();
    assert_eq!(live.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    let (status, said) = check();
    assert!(status == Some(1) && said.contains("no socket is there"), "{said}");
}

#[test]
fn operators_and_abstract_names_have_sockets_too() {
    let (_directory, path, address) = place();
    let name = format!("weir-test-{}", std::process::id());
    let mut command = weir();
    let abstract_address = format!("unix:@{name}");
    command.args(["serve", "--access-log", "off", "--listen", "127.0.0.1:0", "--workers", "2"]);
    command.args(["--listen", &abstract_address, "--admin", &address]);
    let server = Server::run(command, 1, false);
    let served = curl(&["--abstract-unix-socket", &name], "http://weir/");
    assert_eq!(served, server.get("/").text());
    assert!(curl_at(&path, "/metrics").contains("weir_connections"));
    let (status, said) = refused(&abstract_address);
    assert!(status == Some(1) && said.contains("in use"), "{said}");
    assert_eq!(server.stop().code(), Some(0));
    assert!(!Path::new(&path).exists());
}

#[test]
fn a_backend_is_told_no_address_that_a_client_does_not_have() {
    let (_directory, path, address) = place();
    let backend = Backend::saying("ok");
    for (keys, fields, list, forwarded) in [
        ("", "X-Forwarded-For: 192.0.2.9\r\n", None, "for=unknown;host=\"weir\";proto=http"),
        (
            "trust_forwarded = true\n",
            "X-Forwarded-For: 192.0.2.9\r\nForwarded: for=192.0.2.9\r\n",
            Some("192.0.2.9"),
            "for=192.0.2.9, for=unknown;host=\"weir\";proto=http",
        ),
    ] {
        let text = format!("{}forwarded = \"both\"\n{keys}", route("/", &[&backend.url]));
        let server = Server::configured(&text, &["--listen", &address]);
        assert!(answer(&path, "", fields).ends_with("ok"));
        let asked = backend.requests().pop().unwrap();
        assert_eq!(asked.fields("X-Forwarded-For"), Vec::from_iter(list), "{}", asked.head);
        assert_eq!(asked.fields("Forwarded"), [forwarded], "{}", asked.head);
        assert_eq!(server.stop().code(), Some(0));
    }
}

#[test]
fn a_proxy_header_names_the_client_everywhere() {
    let (directory, path, address) = place();
    let log = directory.path().join("access.log");
    let backend = Backend::saying("ok");
    // Who may open the socket is up to its file, not to the networks.
    let flags = ["--listen", &address, "--proxy-protocol=10.0.0.0/8"];
    let server =
        Server::before(&backend, &[&flags[..], &["--access-log", log.to_str().unwrap()]].concat());
    assert!(answer(&path, "PROXY TCP4 192.0.2.1 127.0.0.1 1234 80\r\n", "").ends_with("ok"));
    assert!(answer(&path, "PROXY UNKNOWN\r\n", "").ends_with("ok"));
    assert_eq!(answer(&path, "", ""), "");
    server.stop();
    let lists: Vec<_> =
        backend.requests().iter().map(|asked| asked.fields("X-Forwarded-For").concat()).collect();
    assert_eq!(lists, ["192.0.2.1", ""]);
    let lines = fs::read_to_string(&log).unwrap();
    let peers: Vec<_> = lines.lines().filter_map(|line| line.split(" - - ").next()).collect();
    assert_eq!(peers, ["192.0.2.1", "unix:"]);
}

#[test]
fn it_has_its_place_at_the_uplink() {
    let (_directory, path, address) = place();
    let server = Server::builtin(&["--listen", &address, "--uplink", "20mbit"]);
    let start = Instant::now();
    assert_eq!(downloaded(&path, "/files/1mb.bin"), "1000000");
    let took = start.elapsed().as_secs_f64();
    assert!(took > 0.3, "1 MB at 20 Mbit/s took only {took} s");
    // Who leaves is forgotten, whether it has stopped sending before or not.
    for half in [false, true] {
        let stream = sent(&path, "GET /files/10mb.bin HTTP/1.1\r\nHost: weir\r\n\r\n");
        server.wait_for_metric("weir_connections", 1.0);
        if half {
            stream.shutdown(Shutdown::Write).unwrap();
        }
        drop(stream);
        server.wait_for_metric("weir_connections", 0.0);
    }
    drop(server);
    // Networks take it for loopback.
    let flags = ["--listen", &address, "--uplink", "100kbit", "--uplink-exempt", "127.0.0.1"];
    let _server = Server::builtin(&flags);
    let start = Instant::now();
    assert_eq!(downloaded(&path, "/files/1mb.bin"), "1000000");
    assert!(start.elapsed() < DEADLINE, "1 MB at 100 kbit/s would take 80 s");
}

#[test]
fn a_client_that_leaves_is_noticed_in_every_way() {
    for how in ["event", "peek", "tcp-info"] {
        let (_directory, path, address) = place();
        let (backend, barrier) = held();
        let keys = format!("backend_limit = 1\ndisconnect_detection = \"{how}\"\n");
        let text = format!("workers = 1\n{}{keys}", route("/", &[&backend.url]));
        let server = Server::configured(&text, &["--listen", &address]);
        let get = |target: &str| sent(&path, format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let _first = get("/first");
        backend.wait_for_requests(1);
        let leaving = get("/leaving");
        server.wait_for_metric("weir_backend_waiting", 1.0);
        drop(leaving);
        server.wait_for_metric("weir_backend_waiting", 0.0);
        server.wait_for_metric("weir_backend_dead_in_queue_total", 1.0);
        barrier.open(1);
        eventually("the first is answered", || server.metrics().sum("weir_responses_total") == 2.0);
        assert_eq!(backend.targets(), ["/first"], "{how}");
    }
}
