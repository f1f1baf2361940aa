//! `weir-lab opener`: starting, telling its counts, ending. What it answers is tested in lab/opener.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::programs::weir_lab;

#[test]
fn it_says_where_it_listens_and_what_it_has_counted() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("socket");
    let mut command = weir_lab();
    command.arg("opener").arg("--socket").arg(&socket).arg("--root").arg(directory.path());
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary runs");
    let mut said = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let mut line = || said.next().expect("another line").expect("text");
    assert_eq!(line(), format!("opening files for servers on {}", socket.display()));
    let id = Pid::from_raw(child.id() as i32).expect("an id");
    for signal in [Signal::USR1, Signal::TERM] {
        kill_process(id, signal).expect("our child");
        assert!(line().starts_with("questions 0, hits 0, opened 0, "));
    }
    assert!(child.wait().expect("our child").success() && !socket.exists());
}

#[test]
fn it_says_what_is_wrong() {
    for (arguments, said) in [
        ("--socket /tmp/x", "--root"),
        ("--socket /tmp/x --root srv", "absolute"),
        ("--socket /nowhere/at/all --root /tmp", "cannot listen on /nowhere/at/all"),
        ("--socket /tmp/x --root /tmp --mode rw", "octal"),
        ("--socket /tmp/x --root /tmp --allow-user nobody-of-this-name", "/etc/passwd"),
    ] {
        let mut command = weir_lab();
        let output = command.arg("opener").args(arguments.split(' ')).output().expect("it runs");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && complaint.contains(said), "{arguments}: {complaint}");
    }
}
