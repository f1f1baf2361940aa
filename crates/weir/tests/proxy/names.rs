//! Shows what becomes of a backend whose name leads nowhere: at the start, at a reload, and while the server
//! runs. These tests need root, to give a server names of its own.

use std::fs;
use std::net::{SocketAddr, UdpSocket};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::{
    Backend, Configuration, DEADLINE, Server, Silent, Then, eventually, route, tool,
};

const START: &str =
    "workers = 1\naccess_log = \"off\"\nroot = \"public\"\nlisten = \"127.0.0.1:0\"\n";

/// Runs a command that sees the files of a directory in place of those by which names are looked up.
const INSIDE: &str = "for file in hosts nsswitch.conf resolv.conf; do \
                      mount --bind \"$0/$file\" \"/etc/$file\" || exit 1; done; exec \"$@\"";

/// What names of hosts lead to, for one server.
struct Names(TempDir);

impl Names {
    /// Those of a file, which is empty.
    fn new() -> Names {
        Names::found_in("files", "")
    }

    /// Those of the name server at this address, with a patience of minutes.
    fn asked_of(server: &str) -> Names {
        let options = "options timeout:30 attempts:5";
        Names::found_in("dns", &format!("nameserver {server}\n{options}\n"))
    }

    fn found_in(source: &str, resolver: &str) -> Names {
        let names = Names(tempfile::tempdir().expect("a temporary directory"));
        names.write("nsswitch.conf", &format!("hosts: {source}\n"));
        names.write("resolv.conf", resolver);
        names.are("");
        names
    }

    /// Lines of /etc/hosts: an address and its names.
    fn are(&self, lines: &str) {
        self.write("hosts", lines);
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).expect("a file");
    }

    /// A server by `configuration`, for which names lead where these do.
    fn start(&self, configuration: &Configuration) -> Server {
        let command = configuration.command();
        let mut inside = tool("unshare", "util-linux");
        inside.args(["--mount", "sh", "-c", INSIDE]).arg(self.0.path());
        inside.arg(command.get_program()).args(command.get_args());
        Server::run(inside, 1, true)
    }
}

/// The URL of a backend by a name.
fn called(name: &str, backend: &Backend) -> String {
    backend.url.replace("127.0.0.1", name)
}

#[test]
fn a_name_that_leads_nowhere_at_the_start_or_at_a_reload_is_looked_up_for_each_request() {
    let (app, other) = (Backend::saying("app"), Backend::saying("other"));
    let names = Names::new();
    let text = START.to_owned() + &route("/app", &[&called("app.internal", &app)]);
    let configuration = Configuration::new(&text);
    let server = names.start(&configuration);
    let mut client = server.connect();
    for _ in 0..5 {
        assert_eq!(client.get("/app").status, 502);
    }
    let why = format!(
        "backend {}: cannot be reached: failed to lookup address",
        called("app.internal", &app)
    );
    eventually("the log says why", || server.log().iter().any(|line| line.contains(&why)));
    assert_eq!(client.get("/small").status, 200);
    names.are("127.0.0.1 app.internal\n");
    assert_eq!(client.get("/app").text(), "app");

    let more = route("/other", &[&called("other.internal", &other)]);
    assert!(configuration.change(&(text + &more)).contains("changed: `route`"));
    assert_eq!(client.get("/other").status, 502);
    assert_eq!(client.get("/app").text(), "app");
    names.are("127.0.0.1 app.internal other.internal\n");
    assert_eq!(client.get("/other").text(), "other");
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn a_name_that_leads_nowhere_any_more_ends_no_connection() {
    let app = Backend::new(|call| match call.asked.target() {
        "/last" => {
            call.ok("the last");
            Then::Close
        }
        _ => call.ok("app"),
    });
    let names = Names::new();
    names.are("127.0.0.1 app.internal\n");
    let text = START.to_owned() + &route("/", &[&called("app.internal", &app)]);
    let configuration = Configuration::new(&text);
    let server = names.start(&configuration);
    let mut client = server.connect();
    assert_eq!(client.get("/").text(), "app");
    names.are("");
    for _ in 0..5 {
        assert_eq!(client.get("/").text(), "app");
    }
    assert_eq!(app.connections(), 1);
    assert_eq!(client.get("/last").text(), "the last");
    assert_eq!(client.get("/").status, 502, "there is no way to a new connection");
    names.are("127.0.0.1 app.internal\n");
    assert_eq!(client.get("/").text(), "app");
    assert_eq!(app.connections(), 2);
}

#[test]
fn while_a_name_leads_nowhere_the_other_backends_answer() {
    let (app, other) = (Backend::saying("app"), Backend::saying("other"));
    let names = Names::new();
    let backends = route("/", &[&called("app.internal", &app), &other.url]);
    let keys = "max_fails = 1\nfail_timeout = \"100ms\"\n";
    let configuration = Configuration::new(&format!("{START}{backends}{keys}"));
    let server = names.start(&configuration);
    let mut client = server.connect();
    for _ in 0..20 {
        assert_eq!(client.get("/").text(), "other");
    }
    assert_eq!(server.metrics().sum("weir_backend_up"), 1.0);
    names.are("127.0.0.1 app.internal\n");
    eventually("it is asked as well", || client.get("/").text() == "app");
    server.wait_for_metric("weir_backend_up", 2.0);
}

#[test]
fn an_address_that_does_not_answer_keeps_nobody_from_the_next() {
    let silent = Silent::new();
    let address = SocketAddr::from(([127, 0, 0, 2], silent.port()));
    let backend = Backend::on(address, |call| call.ok("app"));
    let names = Names::new();
    // The first one comes first: it is more like the address that weir connects from (RFC 6724,
    // section 6, rule 9).
    names.are("127.0.0.1 app.internal\n127.0.0.2 app.internal\n");
    let url = backend.url.replace("127.0.0.2", "app.internal");
    let configuration = Configuration::new(&(START.to_owned() + &route("/app", &[&url])));
    let server = names.start(&configuration);
    assert_eq!(server.get("/app").text(), "app");
}

/// A look-up cannot be broken off: it goes on when nobody waits for it any more.
#[test]
fn a_name_server_that_does_not_answer_holds_up_nobody_else_and_no_shutdown() {
    let silent = UdpSocket::bind("127.0.53.1:53").expect("root may have this port");
    silent.set_read_timeout(Some(DEADLINE)).expect("a read time-out");
    let backend = Backend::saying("app");
    let names = Names::asked_of("127.0.53.1");
    let app = route("/app", &[&called("app.internal", &backend)]);
    let keys = "connect_timeout = \"300ms\"\n";
    let configuration = Configuration::new(&format!("{START}{app}{keys}"));
    let mut server = names.start(&configuration);
    let mut waiting = server.connect();
    waiting.ask("/app");
    silent.recv(&mut [0; 512]).expect("the name is asked for");
    let mut client = server.connect();
    for _ in 0..20 {
        assert_eq!(client.get("/small").status, 200);
    }
    assert_eq!(waiting.response().status, 502);
    server.signal(Signal::TERM);
    assert_eq!(server.wait().code(), Some(0));
}
