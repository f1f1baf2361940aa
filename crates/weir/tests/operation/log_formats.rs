//! Shows that the access log is written in each format and to the journal as it is said, and that the
//! server's messages can be JSON.

use std::collections::HashMap;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;

use crate::support::{
    Backend, Client, DEADLINE, Server, Then, end_of, eventually, held, nginx, own_host, route,
    wait_for_waiting, weir,
};
use rustix::process::Signal;
use serde_json::Value;

fn read(log: &Path) -> Vec<String> {
    fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).expect(line)
}

/// The lines of a log in JSON, once there are so many.
fn objects(log: &Path, count: usize) -> Vec<Value> {
    eventually("the lines are written", || read(log).len() >= count);
    read(log).iter().map(|line| parsed(line)).collect()
}

fn seconds(line: &Value, name: &str) -> f64 {
    line[name].as_f64().expect(name)
}

/// `weir serve` with this configuration, and addresses of its own.
fn configured(directory: &Path, text: &str) -> Server {
    let file = directory.join("weir.toml");
    fs::write(&file, text).expect("the configuration is written");
    let mut command = weir();
    command.args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    command.arg("--config").arg(file);
    Server::run(command, 1, true)
}

/// Both are asked the same, and must say the same but for the date.
#[test]
fn the_combined_format_is_that_of_nginx() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir(path("site")).unwrap();
    fs::write(path("site/a.txt"), "twelve bytes").unwrap();
    let here = directory.path().display();
    let address = SocketAddr::from((own_host(), 8080));
    let http = format!(
        "access_log {here}/nginx.log combined;\nserver {{\nlisten {address};\nroot {here}/site;\n}}\n"
    );
    let _nginx = nginx(directory.path(), &http, || TcpStream::connect(address).is_ok());
    let log = path("weir.log");
    let flags = ["--access-log", log.to_str().unwrap(), "--log-format", "combined"];
    let server = Server::of(&path("site"), &[&flags[..], &["--workers", "1"]].concat());
    let requests = [
        "GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a.txt?q=1 HTTP/1.1\r\nHost: a\r\nReferer: http://b/\r\nUser-Agent: c (\"d\\e\") \u{e9}\r\n\r\n",
        "HEAD /a.txt HTTP/1.1\r\nHost: a\r\nUser-Agent: x\r\n\r\n",
        "GET /a.txt HTTP/1.0\r\nUser-Agent: y\r\n\r\n",
    ];
    for request in requests {
        for to in [address, server.address()] {
            let mut client = Client::connect(to);
            client.send(request);
            assert_eq!(client.head().status, 200, "{request}");
        }
    }
    let without_date = |line: &String| {
        let (begin, rest) = line.split_once('[').expect("a date");
        let (date, rest) = rest.split_once(']').expect("the end of a date");
        assert_eq!(date.len(), "06/Nov/1994:08:49:37 +0000".len(), "{line}");
        format!("{begin}{rest}")
    };
    let lines = |log: &Path| {
        eventually("the lines are written", || read(log).len() == requests.len());
        read(log).iter().map(without_date).collect::<Vec<_>>()
    };
    assert_eq!(lines(&log), lines(&path("nginx.log")));
}

#[test]
fn the_common_format_has_a_dash_for_no_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let flags = ["--access-log", log.to_str().unwrap(), "--log-format", "common"];
    let server = Server::builtin(&flags);
    let mut client = server.connect();
    assert_eq!(client.get_with("/files/1kb.bin", "User-Agent: a\r\n").status, 200);
    client.send("HEAD / HTTP/1.1\r\nHost: weir\r\n\r\n");
    assert_eq!(client.head().status, 200);
    eventually("two lines", || read(&log).len() == 2);
    let lines = read(&log);
    assert!(lines[0].ends_with("] \"GET /files/1kb.bin HTTP/1.1\" 200 1000"), "{lines:?}");
    assert!(lines[1].ends_with("] \"HEAD / HTTP/1.1\" 200 -"), "{lines:?}");
}

#[test]
fn json_tells_where_a_request_went_and_how_long_it_waited_for_a_backend() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let (backend, barrier) = held();
    let server = configured(
        directory.path(),
        &format!(
            "workers = 1\naccess_log = \"log\"\nlog_format = \"json\"\n{}host = \"a.test\"\n\
             backend_limit = 1\n",
            route("/app", &[&backend.url])
        ),
    );
    let ask = |path: &str| {
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: A.test:80\r\nReferer: \"r\"\r\n\r\n"));
        client
    };
    let mut first = ask("/app/first?a=b");
    backend.wait_for_requests(1);
    let mut second = ask("/app/second");
    wait_for_waiting(&server, 1);
    barrier.open(2);
    assert_eq!((first.response().status, second.response().status), (200, 200));
    assert_eq!(ask("/none").response().status, 404);
    let lines = objects(&log, 3);
    let (first, second, none) = (&lines[0], &lines[1], &lines[2]);
    for (name, value) in [
        ("client", "127.0.0.1"),
        ("method", "GET"),
        ("path", "/app/first"),
        ("query", "a=b"),
        ("protocol", "HTTP/1.1"),
        ("host", "A.test:80"),
        ("route", "a.test/app"),
        ("backend", backend.url.as_str()),
        ("referer", "\"r\""),
        ("ended", "complete"),
    ] {
        assert_eq!(first[name], value, "{name} in {first}");
    }
    assert_eq!(first["status"], 200);
    assert_eq!(first["bytes"], "/app/first?a=b".len());
    assert!(first["user_agent"].is_null() && second["query"].is_null(), "{first} {second}");
    assert_eq!((seconds(first, "wait_backend"), seconds(first, "wait_disk")), (0.0, 0.0));
    assert!(seconds(second, "wait_backend") > 0.0, "{second}");
    for line in [first, second] {
        let (first_byte, total) = (seconds(line, "first_byte"), seconds(line, "total"));
        assert!(0.0 < first_byte && first_byte <= total, "{line}");
        assert!(seconds(line, "wait_backend") <= first_byte, "{line}");
    }
    let time = first["time"].as_str().unwrap();
    assert!(time.len() == "1994-11-06T08:49:37.123Z".len() && time.ends_with('Z'), "{time}");
    assert!(none["route"].is_null() && none["backend"].is_null(), "{none}");
}

#[test]
fn json_tells_of_the_routes_of_files_too() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    fs::create_dir(directory.path().join("site")).unwrap();
    fs::write(directory.path().join("site/a"), "here").unwrap();
    let server = configured(
        directory.path(),
        "workers = 1\nroot = \"site\"\naccess_log = \"log\"\nlog_format = \"json\"\n\
         [[route]]\npath = \"/a\"\nfiles = true\n",
    );
    assert_eq!(server.get("/a").text(), "here");
    assert_eq!(server.get("/b").status, 404);
    let lines = objects(&log, 2);
    assert_eq!(lines[0]["route"], "/a");
    assert_eq!(lines[1]["route"], "/");
    assert!(lines[0]["backend"].is_null() && seconds(&lines[0], "wait_disk") >= 0.0);
}

/// The first answer that is compressed takes the same way as one that is not in memory.
#[test]
fn waiting_for_the_compressor_is_not_waiting_for_a_disk() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    fs::create_dir(directory.path().join("site")).unwrap();
    fs::write(directory.path().join("site/a.txt"), "a few words, ".repeat(4_000)).unwrap();
    let server = configured(
        directory.path(),
        "workers = 1\nroot = \"site\"\ncompress = true\naccess_log = \"log\"\n\
         log_format = \"json\"\n",
    );
    let mut client = server.connect();
    server.make_hot(&mut client, "/a.txt");
    let answer = client.get_with("/a.txt?compressed", "Accept-Encoding: gzip\r\n");
    assert_eq!(answer.status, 200);
    let line = || {
        // The last may not be there whole yet.
        let lines = read(&log).into_iter();
        let mut lines = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        lines.find(|line| line["query"] == "compressed")
    };
    eventually("the line is written", || line().is_some());
    let line = line().unwrap();
    assert!(seconds(&line, "first_byte") > 0.0, "{line}");
    assert_eq!(seconds(&line, "wait_disk"), 0.0, "{line}");
}

#[test]
fn json_tells_of_waiting_for_the_uplink() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let flags = ["--access-log", log.to_str().unwrap(), "--log-format", "json"];
    let server = Server::builtin(&[&flags[..], &["--uplink", "8mbit"]].concat());
    assert_eq!(server.get("/files/100kb.bin").body.len(), 100_000);
    let lines = objects(&log, 1);
    // A tenth of a second at this rate, most of it waiting for grants.
    let waited = seconds(&lines[0], "wait_uplink");
    assert!(waited > 0.0 && waited <= seconds(&lines[0], "total"), "{}", lines[0]);
}

#[test]
fn json_tells_why_a_response_ended() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let flags = ["--access-log", log.to_str().unwrap(), "--log-format", "json"];
    let with = |more: &[&str]| Server::builtin(&[&flags[..], more].concat());
    let large = |server: &Server| {
        let mut client = Client::with_small_buffer(server.address());
        client.ask("/files/1gb.bin");
        assert_eq!(client.head().status, 200);
        client
    };
    let server = with(&[]);
    large(&server).reset();
    assert_eq!(objects(&log, 1)[0]["ended"], "client left");
    let server = with(&["--send-timeout", "100ms"]);
    let silent = large(&server);
    assert_eq!(objects(&log, 2)[1]["ended"], "timed out");
    drop(silent);
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    let broken = Backend::raw(half, Then::Close);
    let server = with(&["--proxy", &format!("/={}", broken.url)]);
    let mut client = server.connect();
    client.ask_with("/", "Connection: close\r\n");
    client.rest();
    // What has come by when the end comes decides between the two.
    let line = objects(&log, 3).remove(2);
    assert!(line["ended"] == "error" || line["status"] == 502, "{line}");
    let mut server = with(&["--stop-timeout", "50ms"]);
    let _cut = large(&server);
    server.signal(Signal::TERM);
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(objects(&log, 4)[3]["ended"], "server stopped");
}

/// The kernel keeps `send_timeout` as well: a server that is held up finds the connection given up.
#[test]
fn json_tells_of_a_time_out_of_which_the_kernel_knows_first() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let flags = ["--access-log", log.to_str().unwrap(), "--log-format", "json"];
    let server = Server::builtin(&[&flags[..], &["--send-timeout", "200ms"]].concat());
    let mut client = Client::with_small_buffer(server.address());
    client.ask("/files/1gb.bin");
    assert_eq!(client.head().status, 200);
    server.signal(Signal::STOP);
    let ports = [server.address().port(), client.stream.local_addr().unwrap().port()];
    let socket = ports.map(|port| format!("0100007F:{port:04X}")).join(" ");
    eventually("the kernel has given the connection up", || {
        !fs::read_to_string("/proc/net/tcp").unwrap().contains(&socket)
    });
    server.signal(Signal::CONT);
    assert_eq!(objects(&log, 1)[0]["ended"], "timed out");
}

/// What the fields of an entry say.
fn fields(entry: &str) -> HashMap<&str, &str> {
    entry.lines().map(|line| line.split_once('=').expect("NAME=value")).collect()
}

#[test]
fn the_journal_gets_fields() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let target = format!("journal:{}", socket.display());
    for check in [&["--check"][..], &[]] {
        let mut command: Command = weir();
        command.args(["serve", "--listen", "127.0.0.1:0", "--access-log", &target]).args(check);
        let output = end_of(command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in ["cannot open the access log journal:", "write stderr, stdout or a file"] {
            assert!(said.contains(part), "{said}");
        }
    }
    let journal = UnixDatagram::bind(&socket).unwrap();
    journal.set_read_timeout(Some(DEADLINE)).unwrap();
    let next = || {
        let mut entry = vec![0; 1 << 18];
        let count = journal.recv(&mut entry).unwrap();
        String::from_utf8(entry[..count].to_vec()).unwrap()
    };
    let server = Server::builtin(&["--access-log", &target]);
    let mut client = server.connect();
    assert_eq!(client.get("/files/1kb.bin?q").status, 200);
    let entry = next();
    let read = fields(&entry);
    assert!(read["MESSAGE"].contains("\"GET /files/1kb.bin?q HTTP/1.1\" 200 1000"), "{entry}");
    for (name, value) in [
        ("PRIORITY", "6"),
        ("SYSLOG_IDENTIFIER", "weir"),
        ("WEIR_CLIENT", "127.0.0.1"),
        ("WEIR_PATH", "/files/1kb.bin"),
        ("WEIR_QUERY", "q"),
        ("WEIR_STATUS", "200"),
        ("WEIR_BYTES", "1000"),
        ("WEIR_ENDED", "complete"),
    ] {
        assert_eq!(read.get(name), Some(&value), "{entry}");
    }
    assert!(read["WEIR_TOTAL"].parse::<f64>().is_ok_and(|seconds| seconds >= 0.0), "{entry}");
    // The largest head that is served has an entry, too.
    let agent = "\u{e9}".repeat(15_000);
    assert_eq!(client.get_with("/", &format!("User-Agent: {agent}\r\n")).status, 200);
    assert_eq!(fields(&next())["WEIR_USER_AGENT"], agent);
    // A journal that does not read holds nobody up.
    for _ in 0..2000 {
        assert_eq!(client.get("/files/1kb.bin").status, 200);
    }
}

#[test]
fn messages_are_json_if_that_is_asked_for() {
    // With a warning: there is no uplink.
    let mut server = Server::builtin(&["--messages", "json", "--policy", "srpt"]);
    server.signal(Signal::USR2);
    eventually("it is said", || server.log().iter().any(|line| line.contains("SIGUSR2")));
    server.signal(Signal::TERM);
    assert_eq!(server.wait().code(), Some(0));
    let log = server.log();
    let mut levels = Vec::new();
    for line in &log {
        let read = parsed(line);
        assert!(read["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
        assert!(read["message"].as_str().is_some_and(|text| !text.starts_with("weir:")), "{line}");
        levels.push(read["level"].as_str().unwrap_or_default().to_owned());
    }
    let said = |level: &str| levels.iter().any(|said| said == level);
    assert!(said("info") && said("warn"), "{log:#?}");
}

#[test]
fn why_the_server_could_not_start_is_json_too() {
    let mut command = weir();
    command.args(["serve", "/no/such/directory", "--listen", "127.0.0.1:0", "--messages", "json"]);
    let output = end_of(command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let read = parsed(said.trim());
    assert_eq!(read["level"], "error");
    assert!(read["message"].as_str().is_some_and(|why| why.starts_with("cannot serve")), "{said}");
}
