//! Shows that the command line and the configuration file do what they say, and say what is wrong.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use crate::support::{Server, as_nobody, end_of, eventually, tool, weir};

/// `weir` with `arguments`; it must end by itself.
fn run(arguments: &[&str]) -> Output {
    let mut command = weir();
    command.args(arguments);
    end_of(command)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Fails unless `weir` with `arguments` ends with `code` and says all of `parts`.
fn assert_refused(arguments: &[&str], code: i32, parts: &[&str]) {
    let output = run(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    for part in parts {
        assert!(said.contains(part), "{arguments:?}: {part:?} is not in {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

fn config(directory: &Path, text: &str) -> String {
    let file = directory.join("weir.toml");
    fs::write(&file, text).expect("a file");
    file.to_str().expect("a name in UTF-8").to_owned()
}

#[test]
fn a_configuration_is_checked_without_serving() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("public")).unwrap();
    // Its port is in use, as by the server that is to be started anew: that is no error.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let file = config(directory.path(), &format!("root = \"public\"\nlisten = \"{address}\"\n"));
    let output = run(&["serve", "--check", "--config", &file]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("is valid"), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("{address} is in use")), "{}", stderr(&output));

    // Nobody has this address (RFC 5737).
    let file = config(directory.path(), "listen = \"192.0.2.1:80\"\n");
    assert_refused(&["serve", "--check", "--config", &file], 1, &["cannot listen on 192.0.2.1:80"]);
    let file = config(directory.path(), "root = \"public\"\n\nuplnk = \"1mbit\"\n");
    let parts = [&format!("{file}:3:")[..], "`uplnk`", "did you mean `uplink`?"];
    assert_refused(&["serve", "--check", "--config", &file], 2, &parts);
    let file = config(directory.path(), "policy = \"best\"\n");
    assert_refused(&["serve", "--check", "--config", &file], 2, &[":1:", "best", "protective"]);
    let file = config(directory.path(), "root = \"missing\"\n");
    assert_refused(&["serve", "--check", "--config", &file], 1, &["cannot serve", "missing"]);
    assert_refused(&["serve", "--config", "/nowhere/weir.toml"], 2, &["/nowhere/weir.toml"]);
}

#[test]
fn routes_are_checked_without_serving() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("public")).unwrap();
    let check = |text: &str, flags: &[&str]| {
        let file = config(directory.path(), text);
        run(&[&["serve", "--check", "--config", &file][..], flags].concat())
    };
    // Names are looked up, and nothing is connected to.
    let route = "[[route]]\npath = \"/app\"\nbackends = [\"http://no-such-host.invalid:9\", \"unix:gone\"]\n";
    for (text, flags, warned) in [
        (format!("root = \"public\"\n{route}"), &[][..], false),
        (route.to_owned(), &[], true),
        (route.to_owned(), &["--proxy", "/=http://127.0.0.1:1"], false),
        (route.to_owned(), &["--proxy", "/app=http://127.0.0.1:1", "--proxy-protocol"], true),
    ] {
        let output = check(&text, flags);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{text} {flags:?}: {said}");
        assert!(said.contains("is valid"), "{said}");
        assert_eq!(said.contains("answered with 404"), warned, "{text} {flags:?}: {said}");
        for backend in ["http://no-such-host.invalid:9", "unix:"] {
            let warning = format!("backend {backend}");
            let warned =
                said.lines().any(|l| l.contains(&warning) && l.contains("cannot be found"));
            let there = !flags.iter().any(|flag| flag.starts_with("/app="));
            assert_eq!(warned, there, "{backend}: {said}");
        }
        assert!(!said.contains("127.0.0.1:1 "), "{said}");
    }
    for (text, parts) in [
        (format!("{route}balence = \"hash\"\n"), &[":4:", "`balence` of a route", "`balance`"][..]),
        (format!("{route}\n{route}"), &[":5:", "second route for \"/app\"", "line 1"]),
        ("\n[[route]]\npath = \"/\"\n".to_owned(), &[":2:", "needs `backends`"]),
        (format!("{route}\n[route.health]\npath = \"ok\"\n"), &[":6:", "begin with a slash"]),
        ("proxy = \"/=ftp://a\"\n".to_owned(), &[":1:", "not a scheme"]),
        ("[[route]]\npath = \"/\"\nfiles = true\n".to_owned(), &["line 1", "no `root`"]),
    ] {
        let output = check(&text, &[]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}: {said}");
        for part in parts {
            assert!(said.contains(part), "{text}: {part:?} is not in {said}");
        }
    }
}

#[test]
fn wrong_flags_are_refused_with_what_is_right() {
    for (arguments, parts) in [
        (&["--uplink", "0"][..], &["not a rate", "300mbit"][..]),
        (&["--uplink", "1bit"], &["cannot be paced", "8kbit"]),
        (&["--uplink", "300Mbps"], &["not a rate", "write 300mbit"]),
        (&["--policy", "best"], &["best", "there are fair, fifo,"]),
        (&["--workers", "0"], &["number of workers"]),
        (&["--idle-timeout", "0s"], &["not a time"]),
        (&["--uplink-exempt", "10.0.0.0/40"], &["not an address or a network"]),
        (&["--uplink-pace", "2"], &["not a share"]),
        (&["--listen", "nowhere"], &["--listen", "write such as 127.0.0.1:8080"]),
        (&["--listen", ":8080"], &["0.0.0.0:8080 and [::]:8080"]),
        (&["--admin", "example.org:9900"], &["names are not looked up"]),
        (&["--proxy", "http://127.0.0.1:9000"], &["not a path and its backends", "/=http://"]),
        (&["--proxy", "app=http://a"], &["begin with a slash", "\"/app\""]),
        (&["--proxy", "/=ftp://a"], &["not a scheme"]),
        (&["--proxy", "/=http://a", "--proxy", "/=http://b"], &["\"/\" twice", "commas"]),
        (&["--backend-limit", "0"], &["--backend-limit"]),
        (&["--backend-order", "best"], &["best", "adaptive, newest-first"]),
        (&["--proxy-protocol=perhaps"], &["perhaps", "nor true or false"]),
        (&["--public-tls-port", "0"], &["not a port from 1 to 65535", "such as 443"]),
        (&["--no-such-flag"], &["--no-such-flag"]),
    ] {
        assert_refused(&[&["serve"][..], arguments].concat(), 2, parts);
    }
    assert_eq!(run(&["serve", "--help"]).status.code(), Some(0));
}

#[test]
fn the_version_names_the_commit() {
    let output = run(&["--version"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let commit = text.trim().strip_prefix(concat!("weir ", env!("CARGO_PKG_VERSION"), " ("));
    let commit = commit.and_then(|rest| rest.strip_suffix(')')).expect("a commit in brackets");
    let hash = commit.strip_suffix(" with changes").unwrap_or(commit);
    let is_hash = hash.len() >= 10 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(commit == "unknown" || is_hash, "{text}");
}

#[test]
fn what_cannot_be_opened_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let in_use = ["cannot listen", address.as_str(), "in use"];
    for workers in ["1", "2"] {
        assert_refused(&["serve", "--listen", &address, "--workers", workers], 1, &in_use);
    }
    let flags = ["serve", "--listen", "127.0.0.1:0", "--admin", &address];
    assert_refused(&flags, 1, &in_use);
    let site = tempfile::tempdir().unwrap();
    let missing = site.path().join("missing");
    let parts = ["cannot serve", missing.to_str().unwrap(), "No such file"];
    assert_refused(&["serve", parts[1], "--listen", "127.0.0.1:0"], 1, &parts);
    let flags = ["serve", "--listen", "127.0.0.1:0", "--access-log", "/nowhere/log"];
    let parts = ["cannot open the access log", "/nowhere/log", "No such file"];
    assert_refused(&flags, 1, &parts);
}

#[test]
fn a_log_that_could_not_be_written_is_found_without_serving() {
    let directory = tempfile::tempdir().unwrap();
    let name = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(name("file"), "what was there\n").unwrap();
    fs::create_dir(name("directory")).unwrap();
    for (log, parts) in [
        ("missing/log", &["no file can be created in", "missing: No such file"][..]),
        ("file/log", &["Not a directory"]),
        ("directory", &["is a directory"]),
    ] {
        let log = name(log);
        let parts = [&["cannot open the access log", &log], parts].concat();
        assert_refused(&["serve", "--check", "--access-log", &log], 1, &parts);
    }
    for log in ["file", "new"] {
        let output = run(&["serve", "--check", "--access-log", &name(log)]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    assert_eq!(fs::read_to_string(name("file")).unwrap(), "what was there\n");
    assert!(!Path::new(&name("new")).exists(), "checking makes no file");
}

/// This test needs root, to be somebody else.
#[test]
fn what_its_user_may_not_use_is_refused_at_the_start_and_by_a_check() {
    let directory = tempfile::tempdir().unwrap();
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    set(directory.path(), 0o755).unwrap();
    let site = directory.path().join("site");
    fs::create_dir(&site).unwrap();
    fs::write(site.join("file"), "found").unwrap();
    let log = directory.path().join("log");
    fs::write(&log, "").unwrap();
    let (site_name, log_name) = (site.to_str().unwrap(), log.to_str().unwrap());
    let new_log = directory.path().join("new");
    let refused = |arguments: &[&str], parts: &[&str]| {
        for check in [&["--check"][..], &[]] {
            let mut command = as_nobody();
            command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).args(check);
            let output = end_of(command);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{arguments:?} {check:?}: {said}");
            assert!(parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
        }
    };
    // To be listed it need not be, but names in it must be looked up.
    set(&site, 0o744).unwrap();
    refused(&[site_name], &["cannot serve", site_name, "permission denied"]);
    set(&site, 0o711).unwrap();
    let mut command = as_nobody();
    command.args(["serve", site_name]);
    assert_eq!(Server::launch(command, &[]).get("/file").text(), "found");
    set(&log, 0o644).unwrap();
    refused(&["--access-log", log_name], &["cannot open the access log", log_name, "denied"]);
    let new_log = new_log.to_str().unwrap();
    refused(&["--access-log", new_log], &["cannot open the access log", new_log, "denied"]);
}

/// Two servers on one port would each get some of the connections, and nobody would notice.
#[test]
fn a_port_that_another_server_has_is_in_use() {
    for (first, second) in [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")] {
        let server = Server::builtin(&["--workers", first]);
        let address = server.address().to_string();
        let mut command = weir();
        command.args(["serve", "--listen", &address, "--workers", second]);
        // It must not stay; if it does, it is ended and the status tells.
        let mut limited = tool("timeout", "coreutils");
        limited.arg("20").arg(command.get_program()).args(command.get_args());
        let output = end_of(limited);
        let said = stderr(&output);
        let code = output.status.code();
        assert_eq!(code, Some(1), "{first} workers, then {second}: {said}");
        assert!(said.contains("in use"), "{said}");
    }
}

#[test]
fn flags_override_the_file() {
    let directory = tempfile::tempdir().unwrap();
    for root in ["one", "two"] {
        fs::create_dir(directory.path().join(root)).unwrap();
        fs::write(directory.path().join(root).join("index.html"), root).unwrap();
    }
    let file = config(
        directory.path(),
        "root = \"one\"\nlisten = \"127.0.0.1:1\"\nuplink = \"8kbit\"\npolicy = \"fair\"\n",
    );
    let start = |arguments: &[&str]| {
        let mut command = weir();
        command.args(["serve", "--config", &file]).args(arguments);
        Server::launch(command, &[])
    };
    let server = start(&[]);
    assert_eq!(server.get("/").text(), "one");
    let said = server.log().join("\n");
    assert!(said.contains("uplink 8kbit with policy fair"), "{said}");
    let two = directory.path().join("two");
    let server = start(&[two.to_str().unwrap(), "--uplink", "2mbit", "--policy", "srpt"]);
    assert_eq!(server.get("/").text(), "two");
    let said = server.log().join("\n");
    assert!(said.contains("uplink 2mbit with policy srpt"), "{said}");
    let server = start(&["--uplink", "off"]);
    assert!(!server.log().join("\n").contains("uplink"), "{:#?}", server.log());
}

#[test]
fn paths_in_the_file_are_relative_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("public")).unwrap();
    fs::write(directory.path().join("public/index.html"), "beside").unwrap();
    let file = config(directory.path(), "root = \"public\"\naccess_log = \"access.log\"\n");
    let mut command = weir();
    command.args(["serve", "--config", &file, "--listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0"]).current_dir(elsewhere.path());
    let server = Server::run(command, 1, true);
    assert_eq!(server.get("/").text(), "beside");
    let log = directory.path().join("access.log");
    let other = elsewhere.path().join("access.log");
    eventually("the log is written", || log.exists() || other.exists());
    assert!(log.exists(), "the log is in the directory where the server was started");
}

/// The first thing that people type.
#[test]
fn a_directory_or_flags_of_serve_are_enough_to_serve() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("index.html"), "here").unwrap();
    // Not even a directory that is called like a command takes its place.
    fs::create_dir(directory.path().join("help")).unwrap();
    let start = |arguments: &[&str]| {
        let mut command = weir();
        command.current_dir(directory.path());
        Server::launch(command, arguments)
    };
    let absolute = directory.path().to_str().unwrap();
    for directory in [".", "./", absolute] {
        assert_eq!(start(&[directory]).get("/").text(), "here", "{directory}");
    }
    let server = start(&["--workers", "1"]);
    assert!(server.log().join("\n").contains("the built-in site"), "{:#?}", server.log());
    let server = start(&["--listen", "localhost:0", "./"]);
    assert!(server.address().ip().is_loopback());

    assert_refused(&["./nowhere"], 1, &["cannot serve ./nowhere", "No such file"]);
    assert_refused(
        &["nowhere"],
        2,
        &["unrecognized subcommand", "nowhere", "name one that is there"],
    );
    assert_refused(&["serv"], 2, &["'serve'"]);
    assert_eq!(run(&["--version"]).status.code(), Some(0));
    let mut command = weir();
    command.arg("help").current_dir(directory.path());
    let output = end_of(command);
    assert!(String::from_utf8_lossy(&output.stdout).contains("Usage: weir"), "{output:?}");
}

#[test]
fn what_is_served_is_said_and_what_has_no_effect_too() {
    let site = tempfile::tempdir().unwrap();
    let root = site.path().to_str().unwrap();
    let route = ["--proxy", "/=http://127.0.0.1:9"];
    for (flags, what) in [
        (&[][..], "serving the built-in site on".to_owned()),
        (&[root], format!("serving {root} on")),
        (&route, "serving 1 route on".to_owned()),
        (
            &[root, "--proxy", "/a=unix:a", "--proxy", "/b=unix:b"],
            format!("serving {root} and 2 routes on"),
        ),
    ] {
        let said = Server::builtin(flags).log().join("\n");
        assert!(said.contains(&what), "{flags:?}: {said}");
    }
    for (flags, name) in [
        (&["--policy", "srpt"][..], "policy"),
        (&["--uplink-exempt", "10.0.0.0/8"], "uplink_exempt"),
        (&["--backend-limit", "3"], "backend_limit"),
        (&["--uplink", "off", "--policy", "srpt"], ""),
        (&["--uplink", "10mbit", "--policy", "srpt"], ""),
        (&["--backend-limit", "3", route[0], route[1]], ""),
    ] {
        let output = run(&[&["serve", "--check", "--listen", "127.0.0.1:0"][..], flags].concat());
        let said = stderr(&output);
        assert_eq!(said.contains("has no effect"), !name.is_empty(), "{flags:?}: {said}");
        assert!(said.contains(name), "{flags:?}: {said}");
    }
}
