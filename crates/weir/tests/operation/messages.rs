//! Shows that the server's messages say of what they are, and why.

use std::fs::{self, File};
use std::process::Stdio;

use crate::support::{Backend, Client, Refusing, Server, Silent, Then, eventually, route, weir};
use rustix::process::{Pid, Signal, kill_process};
use socket2::{Domain, Socket, Type};

/// Waits for a line of the log with all `parts`.
fn wait_for(server: &Server, parts: &[&str]) {
    eventually(&format!("{parts:?} is said"), || {
        server.log().iter().any(|line| parts.iter().all(|part| line.contains(part)))
    });
}

#[test]
fn an_unhealthy_backend_is_named_with_the_reason() {
    let (refusing, silent) = (Refusing::new(), Silent::new());
    let resetting = Backend::new(|_| Then::Reset);
    for (url, keys, why) in [
        (refusing.url(), "", "Connection refused"),
        (silent.url(), "connect_timeout = \"50ms\"", "cannot be reached: timed out"),
        (resetting.url.clone(), "", "connection"),
    ] {
        let server = Server::routed(&[&url], keys);
        for _ in 0..3 {
            server.get("/");
        }
        let marked = format!("backend {url} marked unhealthy: calls fail, the last: ");
        wait_for(&server, &[&marked, why]);
    }
    let late = Backend::new(|call| {
        call.until_closed();
        Then::Close
    });
    let failing = Backend::raw("HTTP/1.1 503 Broken\r\nContent-Length: 0\r\n\r\n", Then::Keep);
    for (url, why) in [
        (refusing.url(), "cannot be reached: Connection refused"),
        (late.url.clone(), "no answer in 50ms to GET /well"),
        (failing.url.clone(), "503 Service Unavailable to GET /well"),
        (resetting.url.clone(), "no answer to GET /well: "),
    ] {
        let health = "[route.health]\npath = \"/well\"\ninterval = \"50ms\"\ntimeout = \"50ms\"\n";
        let server = Server::configured(&format!("{}{health}", route("/", &[&url])), &[]);
        wait_for(
            &server,
            &[&format!("backend {url} marked unhealthy: checks fail, the last: {why}")],
        );
    }
}

#[test]
fn a_file_that_is_truncated_while_it_is_sent_is_named() {
    let site = tempfile::tempdir().unwrap();
    let path = site.path().join("large file");
    fs::write(&path, vec![0; 50_000_000]).unwrap();
    let server = Server::of(site.path(), &[]);
    let mut client = Client::with_small_buffer(server.address());
    client.ask("/large%20file");
    assert_eq!(client.head().status, 200);
    File::options().write(true).open(&path).unwrap().set_len(1).unwrap();
    assert!(client.rest().len() < 50_000_000);
    wait_for(&server, &["/large%20file was cut short", "large file was truncated"]);
}

/// The disk under the server's log is full: nobody hears what it says, and it goes on.
#[test]
fn messages_that_cannot_be_written_do_not_end_the_server() {
    // Where it listens cannot be read, so a port is taken that both may have.
    let port = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    port.set_reuse_port(true).unwrap();
    port.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = port.local_addr().unwrap().as_socket().unwrap();
    let mut command = weir();
    command.args(["serve", "--listen", &address.to_string(), "--reuse-port"]);
    // With a warning, a message for each of these, and a line for each request.
    command.args(["--policy", "srpt"]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut server = command.stdin(Stdio::null()).stderr(full).spawn().unwrap();
    let pid = Pid::from_child(&server);
    eventually("it listens", || std::net::TcpStream::connect(address).is_ok());
    assert_eq!(Client::connect(address).get("/").status, 200);
    kill_process(pid, Signal::USR2).unwrap();
    assert_eq!(Client::connect(address).get("/").status, 200);
    kill_process(pid, Signal::TERM).unwrap();
    let mut ended = None;
    eventually("it ends", || {
        ended = server.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
}
