//! Shows that a server hands its listening sockets to a successor and nobody notices, and that it goes on if
//! the successor fails.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use crate::support::{
    Backend, Client, Configuration, DEADLINE, Load, curl, end_of, eventually, load, route, weir,
};

const START: &str =
    "workers = 2\naccess_log = \"off\"\nroot = \"public\"\nlisten = \"127.0.0.1:0\"\n";

#[test]
fn twenty_hand_overs_lose_no_request() {
    for (hand_overs, keys) in [(20, ""), (5, "uplink = \"1gbit\"\n")] {
        let backend = Backend::saying("ok");
        let text = format!("{START}{keys}{}", route("/app", &[&backend.url]));
        let configuration = Configuration::new(&text);
        let mut server = configuration.start(1);
        let (at, admin) = (server.address(), server.admin());
        let mut load = Load::of_short_connections(at);
        load.add("kept", load::renewed(at, "/small"));
        load.add("kept, proxied", load::renewed(at, "/app"));
        load.add("admin", load::renewed(admin, "/healthz"));
        load.add("admin, close", load::once(Client::connect, admin, "/healthz"));
        load.progress();
        for _ in 0..hand_overs {
            let successor = configuration.take_over(1);
            assert_eq!((successor.address(), successor.admin()), (at, admin));
            assert_eq!(server.wait().code(), Some(0));
            let log = server.log();
            assert!(!log.iter().any(|line| line.contains("cut:")), "{log:#?}");
            server = successor;
            load.progress();
        }
        load.end();
        assert_eq!(server.stop().code(), Some(0));
        assert!(!configuration.control().exists(), "the last one removes it");
    }
}

/// What needs a hand-over can be changed by one, and addresses come and go with it.
#[test]
fn the_successor_serves_by_its_own_configuration() {
    let configuration = Configuration::new(START);
    let socket = configuration.path("weir.sock");
    let listen = format!("listen = [\"127.0.0.1:0\", \"unix:{}\"]", socket.display());
    let with_socket = START.replace("listen = \"127.0.0.1:0\"", &listen);
    let served = || {
        let path = socket.to_str().unwrap();
        curl(
            &["--unix-socket", path, "-o", "/dev/null", "-w", "%{size_download}"],
            "http://a/small",
        )
    };
    let mut old = configuration.start(1);
    let at = old.address();
    for (text, has_socket) in [
        (with_socket.replace("workers = 2", "workers = 3\ncache = \"10MB\""), true),
        (with_socket, true),
        (START.to_owned(), false),
    ] {
        configuration.write(&text);
        let new = configuration.take_over(1);
        assert_eq!(old.wait().code(), Some(0));
        assert_eq!((new.address(), new.get("/small").status), (at, 200));
        assert_eq!(socket.exists(), has_socket, "{text}");
        if has_socket {
            assert_eq!(served(), "1000");
        }
        old = new;
    }
    // It can be reached as its predecessor could.
    assert!(configuration.change(&format!("{START}idle_timeout = 7\n")).contains("idle_timeout"));
}

#[test]
fn a_response_under_way_is_ended_by_the_predecessor() {
    let configuration = Configuration::new(START);
    let large = vec![b'x'; 20_000_000];
    fs::write(configuration.path("public/huge"), &large).unwrap();
    let mut old = configuration.start(1);
    let mut busy = Client::with_small_buffer(old.address());
    busy.ask("/huge");
    assert_eq!(busy.head().status, 200);
    let mut idle = old.connect();
    assert_eq!(idle.get("/small").status, 200);
    let new = configuration.take_over(1);
    idle.assert_closed();
    assert_eq!(new.get("/small").status, 200);
    assert!(busy.read(large.len()) == large);
    busy.assert_closed();
    assert_eq!(old.wait().code(), Some(0));
}

#[test]
fn a_successor_that_fails_changes_nothing() {
    let configuration = Configuration::new(START);
    let mut server = configuration.start(1);
    let mut kept = server.connect();
    // It gets the sockets, and then finds that it cannot serve.
    let mut command = configuration.command();
    command.args(["--take-over", "--access-log", "/nowhere/log"]);
    let output = end_of(command);
    assert_eq!(output.status.code(), Some(1));
    let gone = || server.log().iter().filter(|line| line.contains("has gone before")).count();
    eventually("it is noticed", || gone() == 1);
    assert_eq!((kept.get("/small").status, server.get("/small").status), (200, 200));

    // One that says nothing.
    let mut silent = UnixStream::connect(configuration.control()).unwrap();
    silent.set_read_timeout(Some(DEADLINE)).unwrap();
    silent.write_all(b"take-over\n").unwrap();
    assert_ne!(silent.read(&mut [0; 1000]).unwrap(), 0);
    let mut command = configuration.command();
    command.arg("--take-over");
    let output = end_of(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("another successor"), "{said}");
    let (code, said) = configuration.reload();
    assert!(code == Some(1) && said.contains("a successor is starting"), "{said}");
    assert_eq!((kept.get("/small").status, server.get("/small").status), (200, 200));
    drop(silent);
    eventually("it is noticed", || gone() == 2);

    // One that works.
    let successor = configuration.take_over(1);
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(successor.get("/small").status, 200);
}

#[test]
fn the_first_server_has_nobody_to_take_over_from() {
    let configuration = Configuration::new(START);
    let server = configuration.take_over(1);
    assert!(server.log().iter().any(|line| line.contains("this is the first")));
    assert_eq!(server.get("/small").status, 200);
    // Killed, it leaves a socket on which nobody answers.
    drop(server);
    assert!(configuration.control().exists());
    assert_eq!(configuration.take_over(1).get("/small").status, 200);
    let mut command = weir();
    command.args(["serve", "--take-over", "--listen", "127.0.0.1:0"]);
    command.env_remove("RUNTIME_DIRECTORY");
    let output = end_of(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("write `control = "), "{said}");
}
