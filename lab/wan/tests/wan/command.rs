//! The command `weir-wan`.

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::namespaces::{Namespaces, run, within};
use rustix::process::{Pid, Signal, kill_process};

const PATIENCE: Duration = Duration::from_secs(30);

fn command(namespaces: &Namespaces) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-wan"));
    command.args(["--left", &format!("{}:wan:10.77.0.1/24", namespaces.left)]);
    command.args(["--right", &format!("{}:wan:10.77.0.2/24,10.0.2.1/24", namespaces.right)]);
    command
}

/// A process that does not outlive a test that fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_link_until_it_is_interrupted() {
    let namespaces = Namespaces::make();
    let child = command(&namespaces)
        .args(["--delay", "10.0.2.0/24=20ms", "--rate", "10mbit", "--queue", "5"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let child = &mut running.0;
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("link is up"), "{line}");
    let from = within(&namespaces.left, || UdpSocket::bind("10.77.0.1:9000")).unwrap();
    let to = within(&namespaces.right, || UdpSocket::bind("10.0.2.1:9000")).unwrap();
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    from.send_to(b"hello", "10.0.2.1:9000").unwrap();
    let mut bytes = [0; 8];
    assert_eq!(to.recv(&mut bytes).unwrap(), 5);
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(
        printed.contains("down: 1 packets (33 bytes) in, 1 (33 bytes) out, 0 lost"),
        "{printed}"
    );
    assert!(printed.contains("up:   0 packets"), "{printed}");
    assert!(!run(&format!("ip -n {} link show", namespaces.left)).contains("wan"));
}

#[test]
fn what_cannot_be_is_said() {
    let namespaces = Namespaces::make();
    for (arguments, complaint) in [
        (&["--loss", "90%", "--burst", "2"][..], "at least 9"),
        (&["--mtu", "60"], "68"),
        (&["--loss", "2"], "from 0 to 1"),
    ] {
        let output = command(&namespaces).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(complaint), "{arguments:?}: {said}");
    }
}
