//! Shows that a worker that hangs holds up neither who reads the metrics nor the end of the server. These
//! tests stop a thread of the server as a debugger does: they need root, or a host that lets them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Stdio};

use crate::support::{Client, Server, eventually, tool};
use rustix::process::Signal;

/// Stops a thread of another process (ptrace(2)), as if it hung in the kernel. Without this program the
/// thread goes on.
const STOP: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
thread = ctypes.c_long(int(sys.argv[1]))
SEIZE, INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
for request in SEIZE, INTERRUPT:
    if libc.ptrace(ctypes.c_long(request), thread, None, None) == -1:
        sys.exit("ptrace: " + os.strerror(ctypes.get_errno()))
os.waitpid(thread.value, WALL)
print("stopped", flush=True)
# Until it is waited for, a thread that has ended keeps its process from ending.
try:
    while True:
        os.waitpid(thread.value, WALL)
except ChildProcessError:
    pass
"#;

/// A thread that hangs until this is dropped.
struct Hanging(Child);

impl Hanging {
    fn worker(server: &Server, number: usize) -> Hanging {
        let name = format!("weir-{number}\n");
        let threads = format!("/proc/{}/task", server.process().as_raw_pid());
        let thread = fs::read_dir(threads).expect("the server runs").find_map(|thread| {
            let thread = thread.ok()?;
            let found = fs::read_to_string(thread.path().join("comm")).ok()?;
            (found == name).then(|| thread.file_name())
        });
        let mut command = tool("python3", "python3");
        command.args(["-c", STOP]).arg(thread.expect("there is such a worker"));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 starts");
        let mut said = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout).read_line(&mut said).expect("it says text");
        assert_eq!(said, "stopped\n", "the thread can be stopped");
        Hanging(child)
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_server_ends_without_it_and_waits_for_the_log_no_longer_than_it_may() {
    for (signals, timeout) in [(1, "300ms"), (2, "1d")] {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("journal");
        let journal = UnixDatagram::bind(&socket).unwrap();
        let log = format!("journal:{}", socket.display());
        let flags = ["--workers", "2", "--stop-timeout", timeout, "--access-log", &log];
        let mut server = Server::builtin(&flags);
        // The journal does not read, and gets more lines than the kernel keeps for it.
        let kept = fs::read_to_string("/proc/sys/net/unix/max_dgram_qlen").unwrap();
        let lines = 100 + kept.trim().parse::<usize>().unwrap();
        let mut client = server.connect();
        for _ in 0..lines {
            assert_eq!(client.get("/").status, 200);
        }
        let _hanging = Hanging::worker(&server, 1);
        server.signal(Signal::TERM);
        eventually("it stops", || {
            server.log().iter().any(|line| line.contains("responses under way may take"))
        });
        if signals == 2 {
            server.signal(Signal::TERM);
        }
        assert_eq!(server.wait().code(), Some(1));
        let said = server.log().join("\n");
        assert!(said.contains("worker 1 hangs: the process exits without it"), "{said}");
        assert!(said.contains("the journal is stuck: the last lines are lost"), "{said}");
        drop(journal);
    }
}

#[test]
fn metrics_are_read_all_the_same() {
    let server = Server::builtin(&["--workers", "2", "--uplink", "10mbit"]);
    let _hanging = Hanging::worker(&server, 1);
    let answer = Client::connect(server.admin()).get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("weir_uplink_bytes_in_flight "), "{}", answer.text());
}
