//! Shows what signals ask of the server other than to end: to open its log anew, or nothing.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::support::{Client, Server, eventually, tool, weir};
use rustix::process::{Pid, Signal, kill_process};

fn read(log: &Path) -> String {
    fs::read_to_string(log).unwrap_or_default()
}

/// As logrotate does it: the file is renamed, then the server is told.
#[test]
fn a_renamed_log_is_reopened() {
    for signal in [Signal::HUP, Signal::USR1] {
        let directory = tempfile::tempdir().unwrap();
        let (log, rotated) = (directory.path().join("log"), directory.path().join("log.1"));
        let mut server = Server::builtin(&["--access-log", log.to_str().unwrap()]);
        let mut client = server.connect();
        for round in ["/first", "/second"] {
            assert_eq!(client.get(round).status, 404);
            eventually("the line is written", || read(&log).contains(round));
            fs::rename(&log, &rotated).unwrap();
            server.signal(signal);
            // Without a request: an old file that was deleted should not stay open.
            eventually("there is a new log", || log.exists());
        }
        assert_eq!(client.get("/third").status, 404);
        eventually("the line is written", || read(&log).contains("/third"));
        assert!(!read(&log).contains("/second") && read(&rotated).contains("/second"));
        // The old file is kept if there can be no new one.
        fs::rename(&log, &rotated).unwrap();
        fs::create_dir(&log).unwrap();
        server.signal(signal);
        eventually("the file is named", || {
            let named = |line: &String| line.contains(log.to_str().unwrap());
            server.log().iter().any(|line| named(line) && line.contains("cannot be reopened"))
        });
        assert_eq!(client.get("/fourth").status, 404);
        eventually("the line is written", || read(&rotated).contains("/fourth"));
        server.assert_alive();
    }
}

#[test]
fn signals_without_a_meaning_are_said_and_ignored() {
    let mut server = Server::builtin(&["--access-log", "off"]);
    for (signal, said) in [
        (Signal::USR2, "SIGUSR2 is ignored"),
        (Signal::HUP, "the configuration was read anew"),
        (Signal::USR1, "it is not a file"),
    ] {
        let times = || server.log().iter().filter(|line| line.contains(said)).count();
        let before = times();
        server.signal(signal);
        eventually(said, || times() > before);
    }
    server.assert_alive();
}

/// `script` (Debian package bsdutils) gives the server a terminal, and `env` has it ignore SIGHUP or not.
#[test]
fn on_a_terminal_a_hang_up_ends_the_server_unless_it_is_ignored() {
    // The tests themselves may have been started to ignore it.
    for (how, signals) in
        [("default", &[Signal::HUP][..]), ("ignore", &[Signal::HUP, Signal::TERM])]
    {
        let directory = tempfile::tempdir().unwrap();
        let pid_file = directory.path().join("pid");
        let typescript = directory.path().join("typescript");
        let (weir, pid_path) = (weir(), pid_file.display().to_string());
        let program = weir.get_program().to_str().unwrap();
        let line = format!(
            "echo $$ > '{pid_path}'; \
             exec env --{how}-signal=HUP '{program}' serve --listen 127.0.0.1:0"
        );
        let mut command = tool("script", "bsdutils");
        command.args(["--quiet", "--flush", "--return", "--command", &line]).arg(&typescript);
        command.env("SHELL", "/bin/sh");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut terminal = command.spawn().unwrap();
        let said = |what: &str| read(&typescript).contains(what);
        eventually("it serves", || said("serving"));
        // The client keeps its connection: the end is that of a server, not of a program.
        let address = read(&typescript);
        let address =
            address.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next());
        let mut client = Client::connect(address.unwrap().parse().unwrap());
        assert_eq!(client.get("/").status, 200);
        let pid = Pid::from_raw(read(&pid_file).trim().parse().unwrap()).unwrap();
        for (place, signal) in signals.iter().enumerate() {
            kill_process(pid, *signal).unwrap();
            if place + 1 < signals.len() {
                eventually("it goes on", || said("the configuration was read anew"));
            }
        }
        let mut status = None;
        eventually("the server ends", || {
            status = terminal.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.and_then(|status| status.code()), Some(0));
        assert!(said("stopping"));
    }
}
