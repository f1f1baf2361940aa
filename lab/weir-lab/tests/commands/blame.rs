//! `weir-lab blame` beside real servers whose files are on a slow disk: nginx is blamed for what it does
//! in its event loop, and weir is not. These tests need root, /dev/fuse and loop devices.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddrV4;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::programs::{start, weir_beside, weir_lab};
use crate::support::{end_of, noise, tool};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use slowdisk::{Disk, Model, Options as DiskOptions};
use weir_peers::nginx::{self, Nginx};
use weir_peers::probe::get;
use weir_peers::{Content, Options, Server, weir};
use weir_stand::address;

const FILES: u64 = 30;
const BYTES: usize = 300_000;

/// A disk with files, none of which is in memory.
fn disk(at: &Path) -> Disk {
    let disk = Disk::mount(&DiskOptions::new(at, 64 << 20))
        .expect("a disk can be made: this test needs root");
    for number in 0..FILES {
        // A directory each, so that each file takes reads of the disk to be found.
        let directory = disk.path().join(number.to_string());
        fs::create_dir(&directory).expect("a new directory");
        fs::write(directory.join("file"), noise(number, BYTES)).expect("a new file");
    }
    disk.remount().expect("the caches are emptied");
    disk.set_model(Some(Model {
        seek: Duration::from_millis(2),
        bytes_per_second: 60_000_000,
        channels: 1,
    }));
    disk
}

/// `weir-lab blame`, begun.
struct Watching(Child);

impl Watching {
    fn begin(pid: u32, flags: &[&str]) -> Watching {
        Watching::begin_by(weir_lab(), pid, flags)
    }

    /// `command` is what starts the binary.
    fn begin_by(mut command: Command, pid: u32, flags: &[&str]) -> Watching {
        command.args(["blame", &pid.to_string()]).args(flags);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let stderr = child.stderr.take().expect("stderr is piped");
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line).expect("it says that it has begun");
        assert!(line.starts_with("watching"), "{line}");
        Watching(child)
    }

    /// What it has on standard output, after Ctrl-C if it is still there.
    fn end(mut self) -> String {
        if let Ok(None) = self.0.try_wait() {
            kill_process(Pid::from_child(&self.0), Signal::INT).expect("it is there");
        }
        self.said()
    }

    /// What it has on standard output when it ends by itself.
    fn said(mut self) -> String {
        let mut text = String::new();
        let mut stdout = self.0.stdout.take().expect("stdout is piped");
        stdout.read_to_string(&mut text).expect("a report");
        assert!(self.0.wait().expect("it ends").success(), "{text}");
        text
    }
}

/// What is said of a server while clients ask for all files, each twice.
fn blame(server: &Server, address: SocketAddrV4) -> Value {
    let watching = Watching::begin(server.id(), &["--seconds", "120", "--json"]);
    for number in (0..FILES).chain(0..FILES) {
        let answer = get(address.into(), &format!("/{number}/file")).expect("an answer");
        assert!(answer.ends_with(&noise(number, BYTES)), "file {number} is not what was written");
    }
    let report: Value = serde_json::from_str(&watching.end()).expect("a report is JSON");
    assert_eq!(report["method"], "tracepoints", "this test needs root outside of containers");
    assert_eq!(report["lost_events"], 0);
    assert!(report["seconds"].as_f64() < Some(120.0), "Ctrl-C ends it early");
    report
}

/// Calls that blocked on files of the disk, in event loops or elsewhere.
fn on(disk: &Disk, report: &Value, in_event_loop: bool) -> Vec<String> {
    let below = format!("{}/", disk.path().display());
    let rows = report["blocked"].as_array().expect("rows").iter();
    let same = rows.filter(|row| {
        row["in_event_loop"] == in_event_loop
            && row["path"].as_str().is_some_and(|path| path.starts_with(&below))
    });
    same.map(|row| row["call"].as_str().expect("a name").to_owned()).collect()
}

fn has(calls: &[String], names: &[&str]) -> bool {
    calls.iter().any(|call| names.contains(&call.as_str()))
}

const OPENS: [&str; 3] = ["open", "openat", "openat2"];

#[test]
fn nginx_is_blamed_for_open_and_sendfile_on_the_slow_disk() {
    let (at, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let disk = disk(&at.path().join("disk"));
    let address = address::free().expect("a port");
    let options = Options {
        listen: address,
        tls: None,
        backlog: 512,
        content: Content::Files(disk.path()),
        directory: directory.path(),
        error_log: None,
        critical_only: true,
        user: Some("root"),
        connections: 512,
        open_files: None,
        idle_timeout: None,
        requests_per_connection: None,
    };
    let program = nginx::program(&options, &Nginx::default()).expect("nginx is installed");
    let server = start(program, address, directory.path());
    let report = blame(&server, address);
    let calls = on(&disk, &report, true);
    assert!(has(&calls, &OPENS) && has(&calls, &["sendfile"]), "{report:#}");
    assert!(report["ready"]["count"].as_u64() >= Some(FILES), "{report:#}");
    let turn = report["longest_turn"]["blocked"].as_array().expect("a turn");
    assert!(!turn.is_empty(), "{report:#}");
    drop(server);
    disk.unmount().expect("nothing is open there");
}

#[test]
fn weir_is_not_blamed_for_they_are_its_helpers_that_wait() {
    let (at, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let disk = disk(&at.path().join("disk"));
    let address = address::free().expect("a port");
    let flags = [
        ("--listen", address.to_string()),
        ("--workers", "1".to_owned()),
        ("--access-log", "off".to_owned()),
    ];
    let program = weir::program(&weir_beside(), &flags, &[]).expect("weir is there");
    let server = start(program.arg(disk.path()), address, directory.path());
    let report = blame(&server, address);
    let calls = on(&disk, &report, true);
    assert!(!has(&calls, &OPENS) && !has(&calls, &["sendfile"]), "{report:#}");
    // The disk was slow, and somebody waited for it.
    assert!(!on(&disk, &report, false).is_empty(), "{report:#}");
    drop(server);
    disk.unmount().expect("nothing is open there");
}

#[test]
fn a_process_that_ends_is_told_with_what_was_seen() {
    for flags in [&[][..], &["--sample"]] {
        let mut sleeper = Command::new("sleep").arg("1000").spawn().expect("there is sleep");
        let watching = Watching::begin(sleeper.id(), flags);
        sleeper.kill().expect("it is ours");
        sleeper.wait().expect("it is ours");
        let text = watching.said();
        assert!(text.contains("all of which have ended"), "{text}");
        assert!(text.contains("Blocked in event loops"), "{text}");
    }
}

/// Fails unless `command` ends with `code` and says all of `parts`.
fn assert_refused(command: Command, code: i32, parts: &[&str]) {
    let output = end_of(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn what_cannot_be_watched_is_refused_with_the_reason() {
    let lab = env!("CARGO_BIN_EXE_weir-lab");
    let of = |arguments: &[&str]| {
        let mut command = weir_lab();
        command.arg("blame").args(arguments);
        command
    };
    assert_refused(of(&[]), 2, &["PID"]);
    assert_refused(of(&["0"]), 2, &["0"]);
    assert_refused(of(&["1", "--seconds", "0"]), 2, &["--seconds"]);
    assert_refused(of(&["4194305"]), 1, &["no process 4194305"]);
    assert_refused(of(&["2"]), 1, &["thread of the kernel"]);
    let mut itself = Command::new("sh");
    itself.args(["-c", "exec \"$0\" blame $$", lab]);
    assert_refused(itself, 1, &["this program itself"]);
    let mut other = tool("setpriv", "util-linux");
    let own = std::process::id().to_string();
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups", lab, "blame", &own]);
    assert_refused(other, 1, &["run this as root"]);
}

#[test]
fn without_tracepoints_it_samples_and_says_why() {
    let lab = env!("CARGO_BIN_EXE_weir-lab");
    let script =
        "sleep 1000 & \"$0\" blame $! --seconds 1 --json; status=$?; kill $!; exit $status";
    let mut user = tool("setpriv", "util-linux");
    user.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", script, lab]);
    let mut container = tool("unshare", "util-linux");
    container.args(["--pid", "--fork", "--mount-proc", "sh", "-c", script, lab]);
    for (command, why) in [(user, "run as root"), (container, "in a container")] {
        let output = end_of(command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report is JSON");
        let because = report["method"]["sampled"]["because"].as_str().expect("a reason");
        assert!(because.contains(why), "{because}");
        let rows = ["blocked", "waiting"].map(|name| report[name].as_array().expect("rows"));
        let mut calls = rows.into_iter().flatten().filter_map(|row| row["call"].as_str());
        assert!(calls.any(|call| call.contains("nanosleep")), "{report:#}");
    }
}

/// As when the connection of its terminal is lost.
#[test]
fn hanging_up_ends_a_watch_with_its_report() {
    let mut sleeper = Command::new("sleep").arg("1000").spawn().expect("there is sleep");
    // Whoever runs the tests may have it ignored.
    let mut by = Command::new("env");
    by.arg("--default-signal=HUP").arg(weir_lab().get_program());
    let watching = Watching::begin_by(by, sleeper.id(), &["--seconds", "120"]);
    kill_process(Pid::from_child(&watching.0), Signal::HUP).expect("it is there");
    let text = watching.said();
    sleeper.kill().expect("it is ours");
    sleeper.wait().expect("it is ours");
    assert!(text.contains("Blocked in event loops"), "{text}");
}
