//! Shows that a server takes a new configuration whole or not at all, and that nobody who is connected
//! notices.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};

use rustix::process::Signal;

use crate::support::passwords::{HASH, RIGHT, STRANGER, right_of};
use crate::support::{
    Backend, Client, Configuration, Load, Refusing, SMALL, Server, end_of, eventually, load, route,
    weir,
};

const START: &str =
    "workers = 1\naccess_log = \"off\"\nroot = \"public\"\nlisten = \"127.0.0.1:0\"\n";

/// Where the server has said that it serves on `host`.
fn announced(server: &Server, host: &str) -> SocketAddr {
    let at = |line: &String| {
        let (_, rest) = line.split_once(&format!("on http://{host}:"))?;
        let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
        format!("{host}:{port}").parse().ok()
    };
    server.log().iter().rev().find_map(at).expect("the address is announced")
}

fn times(server: &Server, said: &str) -> usize {
    server.log().iter().filter(|line| line.contains(said)).count()
}

#[test]
fn what_the_file_says_is_taken_at_once_by_everybody() {
    let backend = Backend::saying("ok");
    let configuration = Configuration::new(START);
    let server = configuration.start(1);
    let mut kept = server.connect();
    assert_eq!(kept.get("/small").body.len(), SMALL);
    assert_eq!(kept.get("/app").status, 404);

    fs::create_dir(configuration.path("other")).unwrap();
    fs::write(configuration.path("other/new"), "new\n").unwrap();
    let log = configuration.path("access.log");
    let said = configuration.change(&format!(
        "workers = 1\naccess_log = {log:?}\nroot = \"other\"\nlisten = \"127.0.0.2:0\"\n{}",
        route("/app", &[&backend.url])
    ));
    for key in ["`access_log`", "`root`", "`listen`", "`route`"] {
        assert!(said.contains(key), "{said}");
    }
    assert!(!said.contains("`workers`"), "{said}");
    // Who was connected is served by it from the next request on.
    assert_eq!(kept.get("/new").text(), "new\n");
    assert_eq!(kept.get("/small").status, 404);
    assert_eq!(kept.get("/app").text(), "ok");
    assert_eq!(Client::connect(announced(&server, "127.0.0.2")).get("/new").status, 200);
    eventually("the old address is closed", || TcpStream::connect(server.address()).is_err());
    let logged = || fs::read_to_string(&log).unwrap_or_default();
    eventually("the new log is written", || logged().contains("\"GET /app HTTP/1.1\" 200"));

    let said = configuration.change(START);
    assert!(said.contains("`root`"), "{said}");
    assert_eq!(kept.get("/small").body.len(), SMALL);
    assert_eq!(kept.get("/app").status, 404);
    let backend = backend.url.trim_start_matches("http://");
    assert!(!server.metrics().0.contains(backend), "a backend that has gone has no figures");
    assert!(configuration.change(START).contains("nothing has changed"));
    assert_eq!(server.stop().code(), Some(0));
    assert!(!configuration.control().exists());
}

#[test]
fn a_configuration_that_cannot_be_taken_changes_nothing() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let in_use = taken.local_addr().unwrap();
    let configuration = Configuration::new(START);
    let server = configuration.start(1);
    let mut kept = server.connect();
    let first = kept.get("/small");
    // Each is right up to the last step, and would change the root.
    let start = START.replace("public", "other");
    fs::create_dir(configuration.path("other")).unwrap();
    for (text, why) in [
        (format!("{start}nonsense = 1\n"), "nonsense".to_owned()),
        (format!("{start}idle_timeout = \"soon\"\n"), "\"soon\" is not a time".to_owned()),
        ("= [".to_owned(), "weir.toml".to_owned()),
        (START.replace("public", "nowhere"), "nowhere".to_owned()),
        (start.replace("\"127.0.0.1:0\"", &format!("\"{in_use}\"")), in_use.to_string()),
        (start.replace("\"off\"", "\"nowhere/log\""), "nowhere/log".to_owned()),
        (format!("{start}tls = \"none.pem\"\n"), "none.pem".to_owned()),
        (start.replace("workers = 1", "workers = 2"), "`workers` can be changed by".to_owned()),
        (format!("{start}cache = \"1MB\"\n"), "`cache` can be changed by a hand-over".to_owned()),
        (start.replace("workers = 1", "workers = 2\ncache = 1"), "`workers`, `cache`".to_owned()),
    ] {
        configuration.write(&text);
        let (code, said) = configuration.reload();
        assert!(code == Some(1) && said.contains(&why), "{text}: {code:?}: {said}");
        let logged = |line: &String| line.contains("stays as it was") && line.contains(&why);
        eventually("the log says so", || server.log().iter().any(logged));
        assert_eq!(kept.get("/small").body, first.body, "{text}");
        assert_eq!(server.get("/small").status, 200);
    }
    fs::remove_file(configuration.file()).unwrap();
    assert_eq!(configuration.reload().0, Some(1));
    assert!(configuration.change(&start).contains("changed: `root`"));
    assert_eq!(kept.get("/small").status, 404);
}

/// The same as the command does, and what it always did: logs and certificates.
#[test]
fn a_signal_does_the_same() {
    let configuration = Configuration::new(START);
    let server = configuration.start(1);
    configuration.write(&format!("{START}idle_timeout = 7\n"));
    server.signal(Signal::HUP);
    eventually("it is taken", || times(&server, "changed: `idle_timeout`") == 1);
    configuration.write("nonsense = 1\n");
    server.signal(Signal::HUP);
    eventually("it is refused", || times(&server, "the configuration stays as it was") == 1);
    assert_eq!(server.get("/small").status, 200);
}

#[test]
fn messages_are_of_the_new_level() {
    let configuration = Configuration::new(START);
    let server = configuration.start(1);
    configuration.change(&format!("{START}log = \"warn\"\n"));
    configuration.change(&format!("{START}log = \"warn\"\nidle_timeout = 7\n"));
    configuration.change(START);
    let is_last = |line: &String| line.contains("`log`") && line.contains("`idle_timeout`");
    eventually("the last is told", || server.log().iter().any(is_last));
    assert_eq!(times(&server, "was read anew"), 1, "{:#?}", server.log());
}

/// Who is connected has the next request logged in the new format, and the admin address answers by the routes
/// that readiness depends on by then.
#[test]
fn logs_and_readiness_are_those_of_the_new_file() {
    let refusing = Refusing::new();
    let app = route("/app", &[&refusing.url()]) + "max_fails = 1\nretries = 0\n";
    let text = START.replace("\"off\"", "\"access.log\"") + &app;
    let configuration = Configuration::new(&text);
    let server = configuration.start(1);
    let ready = || Client::connect(server.admin()).get("/readyz").status;
    let mut kept = server.connect();
    assert_eq!(kept.get("/app").status, 502);
    server.wait_for_metric("weir_backend_up", 0.0);
    assert_eq!(ready(), 200);
    let json = "log_format = \"json\"\nmessages = \"json\"\nready_routes = \"/app\"\n";
    let said = configuration.change(&format!("{json}{text}"));
    for key in ["`log_format`", "`messages`", "`ready_routes`"] {
        assert!(said.contains(key), "{said}");
    }
    assert_eq!(ready(), 503);
    assert_eq!(kept.get("/small").status, 200);
    let log = configuration.path("access.log");
    eventually("the request is logged in JSON", || {
        let lines = fs::read_to_string(&log).unwrap_or_default();
        let last = lines.lines().last().unwrap_or_default();
        let last = serde_json::from_str::<serde_json::Value>(last).unwrap_or_default();
        last["path"] == "/small" && last["route"] == "/"
    });
    let is_json = |line: &String| line.starts_with('{') && line.contains("`messages`");
    eventually("messages are in JSON", || server.log().iter().any(is_json));
    configuration.change(&text);
    assert_eq!(ready(), 200);
    let is_text = |line: &String| !line.starts_with('{') && line.contains("`messages`");
    eventually("messages are text again", || server.log().iter().any(is_text));
}

/// What nothing has changed about goes on, with what is remembered and what was counted.
#[test]
fn sites_limits_and_compression_are_those_of_the_new_file() {
    let configuration = Configuration::new(START);
    fs::create_dir(configuration.path("docs")).unwrap();
    fs::write(configuration.path("docs/page.txt"), "many words ".repeat(1000)).unwrap();
    let server = configuration.start(1);
    let mut kept = server.connect();
    assert_eq!(kept.get("/docs/page.txt").status, 404);
    server.make_hot(&mut kept, "/small");
    let misses = || server.metrics().sum("weir_name_cache_misses_total");
    let before = misses();
    configuration.change(&format!("{START}idle_timeout = 7\n"));
    assert_eq!((kept.get("/small").status, misses()), (200, before));

    let docs = "[[route]]\npath = \"/docs\"\nroot = \"docs\"\nstrip_prefix = true\n";
    let said = configuration.change(&format!("{START}{docs}"));
    assert!(said.contains("`route`"), "{said}");
    let ask = |client: &mut Client| client.get_with("/docs/page.txt", "Accept-Encoding: gzip\r\n");
    let page = ask(&mut kept);
    assert_eq!((page.status, page.field("Content-Encoding")), (200, None));
    let said = configuration.change(&format!("{START}compress = true\n{docs}"));
    assert!(said.contains("`compress`"), "{said}");
    eventually("it is compressed", || ask(&mut kept).field("Content-Encoding") == Some("gzip"));
    configuration.change(&format!("{START}{docs}"));
    assert_eq!(ask(&mut kept).body, page.body);

    let limited = format!("{START}limit_requests = \"1/h\"\nlimit_burst = 2\n");
    let said = configuration.change(&format!("{limited}{docs}"));
    assert!(said.contains("`limit_requests`"), "{said}");
    assert_eq!([(); 3].map(|()| kept.get("/small").status), [200, 200, 429]);
    configuration.change(&format!("{limited}deny = \"192.0.2.9\"\n{docs}"));
    assert_eq!(kept.get("/small").status, 429, "it was counted before");
    configuration.change(START);
    assert_eq!((kept.get("/small").status, kept.get("/docs/page.txt").status), (200, 404));
}

#[test]
fn passwords_are_asked_for_by_the_new_file_and_looked_after() {
    let configuration = Configuration::new(START);
    let users = configuration.path("users");
    let server = configuration.start(1);
    let mut kept = server.connect();
    let guarded =
        format!("{START}[[route]]\npath = \"/small\"\nfiles = true\nbasic_auth = \"users\"\n");
    configuration.write(&guarded);
    let (code, said) = configuration.reload();
    assert!(
        code == Some(1) && said.contains("cannot read the passwords of `basic_auth`"),
        "{said}"
    );
    assert_eq!(kept.get("/small").status, 200);
    fs::write(&users, format!("me:{HASH}\n")).unwrap();
    configuration.change(&guarded);
    // `me`, and `you`, both with that password.
    let mut status = |user: &str| {
        let field = match user {
            "me" => RIGHT,
            "you" => STRANGER,
            _ => "",
        };
        kept.get_with("/small", field).status
    };
    assert_eq!(["", "you", "me"].map(&mut status), [401, 401, 200]);
    fs::write(&users, format!("you:{HASH}\n")).unwrap();
    eventually("the file is read anew", || status("you") == 200);
    assert_eq!(status("me"), 401);
    configuration.change(START);
    assert_eq!(status(""), 200);
}

/// More clients than may wait to be checked ask during reloads, and one has used up the limit of its route.
#[test]
fn passwords_that_were_checked_are_known_and_limits_count_on() {
    let guarded = "[[route]]\npath = \"/small\"\nfiles = true\nbasic_auth = \"users\"\n";
    let limited = "[[route]]\npath = \"/large\"\nfiles = true\nlimit_requests = \"1/h\"\n\
                   limit_burst = 2\n";
    let text = |round: usize| {
        let deny = format!("deny = \"192.0.2.{round}\"\n");
        format!("{START}{deny}{guarded}{deny}{limited}{deny}")
    };
    let configuration = Configuration::new(&text(0));
    let of_letter = |first: char| ["a", "b"].map(|second| format!("{first}{second}"));
    let users: Vec<String> = ('a'..='z').flat_map(of_letter).collect();
    let lines: Vec<String> = users.iter().map(|user| format!("{user}:{HASH}\n")).collect();
    fs::write(configuration.path("users"), lines.concat()).unwrap();
    let server = configuration.start(1);
    let client = |user: &String| (server.connect(), right_of(user));
    let mut clients: Vec<(Client, String)> = users.iter().map(client).collect();
    for (client, right) in &mut clients {
        assert_eq!(client.get_with("/small", right).status, 200);
    }
    assert_eq!(server.get("/large").status, 200);
    for round in 1..=10 {
        clients.iter_mut().for_each(|(client, right)| client.ask_with("/small", right));
        configuration.change(&text(round));
        for (client, _) in &mut clients {
            assert_eq!(client.response().status, 200, "round {round}");
        }
        let limited = if round == 1 { 200 } else { 429 };
        assert_eq!(server.get("/large").status, limited, "round {round}");
    }
}

#[test]
fn the_command_says_when_there_is_no_server() {
    let directory = tempfile::tempdir().unwrap();
    let ask = |flags: &[&str]| {
        let mut command = weir();
        command.arg("reload").args(flags).current_dir(directory.path());
        let output = end_of(command);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = ask(&["--control", "none"]);
    assert!(
        code == Some(1) && said.contains("no server answers at the control socket none"),
        "{said}"
    );
    fs::write(directory.path().join("weir.toml"), "control = \"there\"\n").unwrap();
    let (code, said) = ask(&["--config", "weir.toml"]);
    assert!(code == Some(1) && said.contains("there"), "{said}");
    fs::write(directory.path().join("weir.toml"), "control = \n").unwrap();
    let (code, said) = ask(&["--config", "weir.toml"]);
    assert!(code == Some(1) && said.contains("nothing was changed"), "{said}");
}

/// Backends that stay keep their connections, and with them what was learnt.
#[test]
fn a_backend_keeps_its_connections() {
    let (backend, other) = (Backend::saying("ok"), Backend::saying("other"));
    let (first, second) = (route("/app", &[&backend.url]), route("/other", &[&other.url]));
    let configuration = Configuration::new(&format!("{START}{first}"));
    let server = configuration.start(1);
    let mut client = server.connect();
    assert_eq!(client.get("/app").text(), "ok");
    configuration.change(&format!("{START}idle_timeout = 7\n{second}{first}"));
    assert_eq!(client.get("/other").text(), "other");
    for _ in 0..3 {
        assert_eq!(client.get("/app").text(), "ok");
    }
    assert_eq!((backend.connections(), other.connections()), (1, 1));
    configuration.change(&format!("{START}{first}"));
    assert_eq!((client.get("/other").status, client.get("/app").text()), (404, "ok".to_owned()));
    other.wait_for_closed(1);
    assert_eq!(backend.connections(), 1);
}

#[test]
fn a_response_under_way_ends_by_what_it_began_with() {
    let configuration = Configuration::new(START);
    let large = vec![b'x'; 20_000_000];
    fs::write(configuration.path("public/huge"), &large).unwrap();
    fs::create_dir(configuration.path("other")).unwrap();
    let server = configuration.start(1);
    let mut busy = Client::with_small_buffer(server.address());
    busy.ask("/huge");
    assert_eq!(busy.head().status, 200);
    configuration.change(&START.replace("public", "other").replace("0.1:0", "0.2:0"));
    assert!(busy.read(large.len()) == large);
    assert_eq!(busy.get("/huge").status, 404);
}

#[test]
fn a_hundred_reloads_lose_no_request() {
    for (reloads, uplinks) in [(100, ["", ""]), (20, ["1gbit", "900mbit"])] {
        let (backend, other) = (Backend::saying("ok"), Backend::saying("other"));
        let text = |round: usize| {
            let uplink = match uplinks[round % 2] {
                "" => String::new(),
                rate => format!("uplink = \"{rate}\"\n"),
            };
            let listen = &["127.0.0.1:0", "127.0.0.2:0"][..1 + round % 2];
            let routes = [route("/other", &[&other.url]), route("/app", &[&backend.url])];
            let routes = routes[round % 2..].concat();
            format!(
                "workers = 2\naccess_log = \"off\"\nroot = \"public\"\nlisten = {listen:?}\n{uplink}\
                 idle_timeout = {}\n{routes}",
                60 + round
            )
        };
        let configuration = Configuration::new(&text(0));
        let server = configuration.start(1);
        let at = server.address();
        let mut load = Load::of_short_connections(at);
        load.add("kept", load::kept(at, "/small"));
        load.add("kept, proxied", load::kept(at, "/app"));
        load.progress();
        for round in 1..=reloads {
            configuration.change(&text(round));
            load.progress();
        }
        load.end();
        // As many as clients at each worker, however often the configuration was read.
        assert!(backend.connections() <= 8, "{}", backend.connections());
        assert_eq!(server.stop().code(), Some(0));
    }
}
