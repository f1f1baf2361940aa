//! Shows that bodies which memory has no room for wait in temporary files, so that slow clients hold
//! no slot; that files are bounded for each body, each client and in all; that without files the other
//! side waits; and that a request whose file is lost is answered.

use std::fs::File;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use crate::support::{Backend, Client, Server, Then, end_of, eventually, noise, route, tool, weir};
use crate::support::{asking, held, wait_for_waiting};

/// More than the kernel keeps for a client that does not read.
const LARGE: usize = 40_000_000;

const DISK: &str = "weir_proxy_disk_bytes";
const MEMORY: &str = "weir_proxy_memory_bytes";

/// `/large` is long, `/length` says how long the request was, everything else answers with its path.
fn application() -> Backend {
    Backend::new(|call| match call.asked.target() {
        "/large" => call.ok(noise(7, LARGE)),
        "/length" => call.ok(call.asked.body.as_ref().map_or(0, Vec::len).to_string()),
        target => call.ok(target),
    })
}

fn from(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

/// A client of this address that asks for much, and reads nothing until it is told.
fn slow_reader(server: &Server, address: u8) -> Client {
    let mut client = Client::connect_from(from(address), server.address());
    client.ask("/large");
    client
}

/// A client of this address that has sent `sent` bytes of a body of `length`.
fn slow_sender(server: &Server, address: u8, sent: usize, length: usize) -> Client {
    let mut client = Client::connect_from(from(address), server.address());
    client.send(format!("POST /length HTTP/1.1\r\nHost: weir\r\nContent-Length: {length}\r\n\r\n"));
    client.send(noise(1, sent));
    client
}

fn wait_for_slots(server: &Server) {
    server.wait_for_metric("weir_backend_under_way", 0.0);
}

#[test]
fn a_request_waits_in_a_file_until_it_has_come_whole() {
    let backend = application();
    let server = Server::routed(&[&backend.url], "backend_limit = 1\nbuffer = \"10kb\"\n");
    let mut slow = slow_sender(&server, 1, 20_000_000, 20_300_000);
    eventually("most of it is in the file", || server.metrics().sum(DISK) > 19_000_000.0);
    let memory = server.metrics().sum(MEMORY);
    assert!(memory < 1_000_000.0, "{memory}");
    assert_eq!(server.get("/other").text(), "/other");
    assert_eq!(server.metrics().sum("weir_backend_calls_total"), 1.0, "it was not begun");
    slow.send(noise(1, 300_000));
    assert_eq!(slow.response().text(), "20300000");
    for figure in [DISK, MEMORY] {
        server.wait_for_metric(figure, 0.0);
    }
}

#[test]
fn an_answer_waits_in_a_file_and_what_nobody_takes_is_forgotten() {
    let backend = application();
    // Small windows of its own: what waits is in weir.
    for flags in [&[][..], &["--uplink", "1gbit"]] {
        let text = format!("{}backend_limit = 1\nbuffer = \"10kb\"\n", route("/", &[&backend.url]));
        let server = Server::configured(&text, flags);
        let mut slow = slow_reader(&server, 1);
        let leaver = slow_reader(&server, 2);
        server.wait_for_metric("weir_backend_calls_total", 2.0);
        wait_for_slots(&server);
        assert_eq!(server.get("/other").text(), "/other");
        let both = server.metrics().sum(DISK);
        drop(leaver);
        eventually("its file is gone", || server.metrics().sum(DISK) < 0.6 * both);
        assert!(slow.response().body == noise(7, LARGE));
        for figure in [DISK, MEMORY] {
            server.wait_for_metric(figure, 0.0);
        }
    }
}

#[test]
fn a_body_has_no_more_of_files_than_it_may() {
    let backend = application();
    let keys = "backend_limit = 1\nbuffer = \"10kb\"\nmax_spill = \"1mb\"\n";
    let server = Server::routed(&[&backend.url], keys);
    let mut reader = slow_reader(&server, 1);
    // The backend is held up, but not its slot.
    eventually("the file is full", || server.metrics().sum(DISK) >= 1_000_000.0);
    wait_for_slots(&server);
    let disk = server.metrics().sum(DISK);
    assert!(disk < 1_600_000.0, "{disk}");
    // The rest of a request goes on as it comes.
    let mut sender = slow_sender(&server, 2, 3_000_000, 3_000_010);
    server.wait_for_metric("weir_backend_calls_total", 2.0);
    let disk = server.metrics().sum(DISK);
    assert!(disk < 3_200_000.0, "{disk}");
    assert_eq!(server.get("/other").text(), "/other");
    sender.send(noise(1, 10));
    assert_eq!(sender.response().text(), "3000010");
    assert!(reader.response().body == noise(7, LARGE));
}

#[test]
fn a_client_that_fills_files_leaves_some_to_others() {
    let backend = application();
    let route = route("/", &[&backend.url]);
    let keys = "backend_limit = 20\nbuffer = \"10kb\"\n";
    let server = Server::configured(&format!("proxy_disk = \"45mb\"\n{route}{keys}"), &[]);
    let greedy: Vec<_> = (0..4).map(|_| slow_reader(&server, 9)).collect();
    eventually("it has its share", || server.metrics().sum(DISK) > 4_900_000.0);
    wait_for_slots(&server);
    let before = server.metrics().sum(DISK);
    assert!(before < 8_000_000.0, "a ninth, and what was under way to each file: {before}");
    let mut other = slow_sender(&server, 8, 3_000_000, 3_000_010);
    eventually("the other's body is in a file", || {
        server.metrics().sum(DISK) > before + 2_000_000.0
    });
    assert_eq!(server.metrics().sum("weir_backend_calls_total"), 4.0, "it was not begun");
    other.send(noise(1, 10));
    assert_eq!(other.response().text(), "3000010");
    drop(greedy);
    server.wait_for_metric(DISK, 0.0);
}

/// Bodies in both directions pass whole, and somebody says that there are no files.
fn assert_waits_in_memory(server: &Server, why: &str) {
    let mut reader = slow_reader(server, 1);
    let mut sender = slow_sender(server, 2, 10_000_000, 10_000_010);
    eventually("it is said", || {
        server.log().iter().any(|line| line.contains("WARN") && line.contains(why))
    });
    // Both hold up the backend, but not its slot.
    server.wait_for_metric("weir_backend_calls_total", 2.0);
    wait_for_slots(server);
    sender.send(noise(1, 10));
    assert_eq!(sender.response().text(), "10000010");
    assert!(reader.response().body == noise(7, LARGE));
}

fn with_files_in(directory: &Path, backend: &Backend) -> Server {
    let route = route("/", &[&backend.url]);
    let text =
        format!("proxy_temp_dir = {directory:?}\n{route}backend_limit = 2\nbuffer = \"10kb\"\n");
    Server::configured(&text, &[])
}

#[test]
fn without_a_directory_the_other_side_waits() {
    let backend = application();
    let directory = tempfile::tempdir().expect("a directory");
    let server = with_files_in(directory.path(), &backend);
    directory.close().expect("it is empty: the files have no names");
    assert_waits_in_memory(&server, "cannot write a temporary file in");
}

#[test]
fn on_a_full_disk_the_other_side_waits() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut mount = tool("mount", "mount");
    mount.args(["-t", "tmpfs", "-o", "size=1m", "weir"]).arg(directory.path());
    assert!(mount.status().expect("mount runs").success(), "this test needs root");
    let backend = application();
    let server = with_files_in(directory.path(), &backend);
    assert_waits_in_memory(&server, "No space left on device");
    drop(server);
    eventually("it can be unmounted", || {
        Command::new("umount").arg(directory.path()).status().is_ok_and(|done| done.success())
    });
}

/// The file in `directory` that the server has open and that has no name.
fn open_file(server: &Server, directory: &Path) -> Option<File> {
    let descriptors = format!("/proc/{}/fd", server.process().as_raw_pid());
    let entries = std::fs::read_dir(descriptors).expect("the server runs");
    let mut paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let path = paths.find(|path| {
        let file = std::fs::read_link(path);
        file.is_ok_and(|file| file.starts_with(directory))
    });
    File::options().write(true).open(path?).ok()
}

#[test]
fn a_request_that_cannot_be_read_from_its_file_is_answered_and_blames_nobody() {
    let (backend, barrier) = held();
    let directory = tempfile::tempdir().expect("a directory");
    let top = format!("workers = 1\nproxy_temp_dir = {:?}\n", directory.path());
    let keys = "backend_limit = 1\nbuffer = \"10kb\"\n";
    let server = Server::configured(&format!("{top}{}{keys}", route("/", &[&backend.url])), &[]);
    let mut first = asking(&server, "/first");
    backend.wait_for_requests(1);
    let mut sender = slow_sender(&server, 2, 1_000_000, 1_000_000);
    wait_for_waiting(&server, 1);
    let mut before = 0;
    eventually("all but what stays in memory is in the file", || {
        let file = open_file(&server, directory.path());
        let length = file.map_or(0, |file| file.metadata().expect("an open file").len());
        let is_steady = std::mem::replace(&mut before, length) == length;
        is_steady && length > 900_000 && server.metrics().sum(DISK) == length as f64
    });
    // The disk loses it.
    let file = open_file(&server, directory.path()).expect("the file");
    file.set_len(0).expect("it can be emptied");
    barrier.open(2);
    assert_eq!(first.response().text(), "/first");
    assert_eq!(sender.response().status, 503);
    eventually("it is said", || {
        let why = "the request body cannot be read";
        server.log().iter().any(|line| line.contains("WARN") && line.contains(why))
    });
    wait_for_slots(&server);
    let metrics = server.metrics();
    for nobody in ["failed_calls", "dead_in_service"] {
        assert_eq!(metrics.sum(&format!("weir_backend_{nobody}_total")), 0.0, "{nobody}");
    }
    assert_eq!(sender.get("/next").text(), "/next", "the connection goes on");
    for figure in [DISK, MEMORY] {
        server.wait_for_metric(figure, 0.0);
    }
}

#[test]
fn a_directory_that_was_asked_for_must_be_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let missing = directory.path().join("missing");
    let run = |flags: &[&str]| {
        let mut command = weir();
        command.args(["serve", "--check", "--proxy", "/=http://127.0.0.1:1"]).args(flags);
        command.arg("--proxy-temp-dir").arg(&missing);
        end_of(command)
    };
    let refused = run(&[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot create temporary files in") && said.contains("proxy_temp_dir"));
    assert!(run(&["--proxy-disk", "0"]).status.success(), "nobody needs it");
    std::fs::create_dir(&missing).expect("a directory");
    assert!(run(&[]).status.success());
}

#[test]
fn nothing_goes_to_files_where_the_other_side_is_to_wait() {
    let backend = Backend::new(|call| {
        call.ok(noise(7, LARGE));
        Then::Close
    });
    let keys = "backend_limit = 1\nbuffer = \"10kb\"\noverflow = \"push-back\"\n";
    let server = Server::routed(&[&backend.url], keys);
    let mut slow = slow_reader(&server, 1);
    server.wait_for_metric("weir_backend_calls_total", 1.0);
    // No call is under way before the first one either.
    eventually("some waits in memory", || server.metrics().sum(MEMORY) >= 1.0);
    wait_for_slots(&server);
    let metrics = server.metrics();
    assert_eq!(metrics.sum(DISK), 0.0);
    assert!((1.0..200_000.0).contains(&metrics.sum(MEMORY)), "{}", metrics.sum(MEMORY));
    assert!(slow.response().body == noise(7, LARGE));
}
