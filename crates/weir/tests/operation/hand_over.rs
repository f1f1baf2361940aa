//! Shows that a server hands its listening sockets to a successor and nobody notices, and that it goes on if
//! the successor fails.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use crate::support::{
    Backend, Client, Configuration, DEADLINE, Load, Server, curl, end_of, eventually, load, route,
    weir,
};
use rustix::process::Signal;

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

/// A service manager that stops a unit signals all its processes, and the predecessor is one of them.
#[test]
fn after_a_hand_over_the_first_signal_cuts_nothing_and_the_second_does() {
    let configuration = Configuration::new(&format!("stop_timeout = \"1d\"\n{START}"));
    let large = vec![b'x'; 20_000_000];
    fs::write(configuration.path("public/huge"), &large).unwrap();
    for signals in [1, 2] {
        let mut old = configuration.start(1);
        let mut busy = Client::with_small_buffer(old.address());
        busy.ask("/huge");
        assert_eq!(busy.head().status, 200);
        let new = configuration.take_over(1);
        let says = |what: &str| old.log().iter().any(|line| line.contains(what));
        eventually("it has handed over", || says("has taken over"));
        old.signal(Signal::TERM);
        eventually("it has heard of it", || says("is stopping already"));
        if signals == 1 {
            assert!(busy.read(large.len()) == large);
            busy.assert_closed();
        } else {
            old.signal(Signal::TERM);
        }
        assert_eq!(old.wait().code(), Some(0));
        let is_cut = old.log().iter().any(|line| line.contains("1 connection was cut"));
        assert_eq!(is_cut, signals == 2, "{:#?}", old.log());
        assert_eq!(new.stop().code(), Some(0));
    }
}

/// Clients of an address that nobody serves are refused: they would wait for ever.
#[test]
fn addresses_that_the_successor_does_not_name_are_closed() {
    let two = START.replace("\"127.0.0.1:0\"", "[\"127.0.0.1:0\", \"127.0.0.2:0\"]");
    let configuration = Configuration::new(&two);
    let mut old = configuration.start(2);
    let (admin, stays) = (old.admin(), old.address());
    let named = |line: &String| line.split_once("http://127.0.0.2:")?.1.trim().parse::<u16>().ok();
    let goes = ("127.0.0.2", old.log().iter().find_map(named).unwrap());
    assert!(TcpStream::connect(goes).is_ok());
    configuration.write(START);
    let mut command = configuration.command();
    command.args(["--take-over", "--admin", "127.0.0.2:0"]);
    let new = Server::run(command, 1, true);
    assert_eq!(old.wait().code(), Some(0));
    assert_eq!((new.address(), new.get("/small").status), (stays, 200));
    assert_ne!(new.admin(), admin);
    assert!(TcpStream::connect(goes).is_err() && TcpStream::connect(admin).is_err());
}

#[test]
fn a_successor_that_fails_changes_nothing() {
    let configuration = Configuration::new(START);
    let socket = configuration.path("weir.sock");
    let listen = format!("listen = [\"127.0.0.1:0\", \"unix:{}\"]", socket.display());
    configuration.write(&START.replace("listen = \"127.0.0.1:0\"", &listen));
    let mut server = configuration.start(1);
    let mut kept = server.connect();
    let gone = || server.log().iter().filter(|line| line.contains("has gone before")).count();
    // It gets the sockets, and then finds that it cannot serve.
    for (failures, wrong) in
        [&["--access-log", "/nowhere/log"][..], &["/nowhere"]].iter().enumerate()
    {
        let mut command = configuration.command();
        command.arg("--take-over").args(*wrong);
        let output = end_of(command);
        assert_eq!(output.status.code(), Some(1));
        eventually("it is noticed", || gone() == failures + 1);
        assert!(socket.exists() && configuration.control().exists(), "{wrong:?}");
    }
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
    assert!(
        output.status.code() == Some(1) && said.contains("starting as a successor; end it"),
        "{said}"
    );
    assert!(said.contains(&format!("process {} is", std::process::id())), "{said}");
    let (code, said) = configuration.reload();
    assert!(code == Some(1) && said.contains("is starting as a successor; give"), "{said}");
    assert_eq!((kept.get("/small").status, server.get("/small").status), (200, 200));
    drop(silent);
    eventually("it is noticed", || gone() == 3);

    // One that works.
    let successor = configuration.take_over(1);
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(successor.get("/small").status, 200);
}

/// A server that is stopped while its successor starts does not take its files along.
#[test]
fn what_is_offered_is_left_to_the_successor_by_a_server_that_is_stopped() {
    let configuration = Configuration::new("");
    let (socket, admin) = (configuration.path("weir.sock"), configuration.path("admin.sock"));
    let text = format!(
        "control = {:?}\nadmin = \"unix:{}\"\naccess_log = \"off\"\n\
         listen = [\"127.0.0.1:0\", \"unix:{}\"]\n",
        configuration.control(),
        admin.display(),
        socket.display()
    );
    fs::write(configuration.file(), text).unwrap();
    let files = [socket, admin, configuration.control()];
    for is_offered in [true, false] {
        let server = Server::run(configuration.command(), 1, false);
        let mut successor = UnixStream::connect(configuration.control()).unwrap();
        if is_offered {
            successor.write_all(b"take-over\n").unwrap();
            assert_ne!(successor.read(&mut [0; 1000]).unwrap(), 0);
        }
        assert_eq!(server.stop().code(), Some(0));
        let left: Vec<_> = files.iter().filter(|file| file.exists()).collect();
        assert_eq!(left.len(), if is_offered { 3 } else { 0 }, "{left:?}");
    }
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
    assert!(said.contains("`systemctl restart`"), "{said}");
}
