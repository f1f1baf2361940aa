//! The opener as a process of its own, which can be killed: the program of the tests, started once more.

use std::collections::{BTreeSet, HashMap};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use weir_opener::Options;

/// Where the process finds what it is told.
const SOCKET: &str = "WEIR_TEST_OPENER_SOCKET";
const ROOT: &str = "WEIR_TEST_OPENER_ROOT";
const VALID: &str = "WEIR_TEST_OPENER_VALID";

/// What the test `opener_process` of each program of tests does.
pub fn run() {
    let (Some(socket), Some(root)) = (env::var_os(SOCKET), env::var_os(ROOT)) else { return };
    let valid = env::var(VALID).unwrap().parse().unwrap();
    let options = Options {
        socket: socket.into(),
        mode: 0o666,
        users: vec!["www-data".into()],
        roots: vec![root.into()],
        files: 1000,
        valid: Duration::from_millis(valid),
        unused: Duration::from_secs(60),
        window: 1 << 20,
        helpers: 8,
    };
    // Not println!, which the test program may capture.
    let tell = |counts: &weir_opener::Counts| {
        let _ = writeln!(std::io::stdout(), "counts: {counts}");
    };
    let counts = weir_opener::serve(&options, || (), tell).unwrap();
    tell(&counts);
}

/// A running opener. Killed when dropped.
pub struct Process {
    child: Child,
    said: BufReader<ChildStdout>,
    pub socket: PathBuf,
}

impl Process {
    /// An opener for the files below `root`, which trusts a name for so many milliseconds.
    pub fn start(socket: &Path, root: &Path, valid: u64) -> Process {
        let program = env::current_exe().unwrap();
        Process::spawn(Command::new(program), socket, root, valid)
    }

    /// The same, with so many descriptors.
    pub fn with_descriptors(most: u32, socket: &Path, root: &Path) -> Process {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("ulimit -n {most} && exec \"$@\"")).arg("sh");
        shell.arg(env::current_exe().unwrap());
        Process::spawn(shell, socket, root, 1000)
    }

    fn spawn(mut command: Command, socket: &Path, root: &Path, valid: u64) -> Process {
        command.args(["opener_process", "--exact", "--ignored", "--nocapture"]);
        command.env(SOCKET, socket).env(ROOT, root).env(VALID, valid.to_string());
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let said = BufReader::new(child.stdout.take().unwrap());
        super::eventually("the opener answers", || {
            assert!(child.try_wait().unwrap().is_none(), "the opener ended");
            super::client::Client::connect(socket).is_some()
        });
        Process { child, said, socket: socket.to_owned() }
    }

    /// What it has counted so far, by name.
    pub fn counts(&mut self) -> HashMap<String, u64> {
        self.signal(Signal::USR1);
        loop {
            let mut line = String::new();
            assert!(self.said.read_line(&mut line).unwrap() > 0, "the opener ended");
            // The program of tests says things, too, without ending its line.
            if let Some((_, counts)) = line.trim().split_once("counts: ") {
                let one = |count: &str| {
                    let (name, number) = count.rsplit_once(' ').unwrap();
                    (name.to_owned(), number.parse().unwrap())
                };
                return counts.split(", ").map(one).collect();
            }
        }
    }

    /// Its descriptors that are open.
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Whether it has opened this file to read it. `file` has no links in it.
    pub fn reads(&self, file: &Path) -> bool {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().flatten();
        entries.map(|entry| entry.path()).any(|descriptor| {
            let is_it = fs::read_link(&descriptor).is_ok_and(|found| found == file);
            // A descriptor that only names its file may neither read nor write.
            let found = fs::symlink_metadata(&descriptor);
            is_it && found.is_ok_and(|found| found.permissions().mode() & 0o400 != 0)
        })
    }

    /// The number that its next descriptor gets: the lowest that is free.
    pub fn next_descriptor(&self) -> usize {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().flatten();
        let open: BTreeSet<usize> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        (0..).find(|number| !open.contains(number)).unwrap()
    }

    /// From here on it gets no descriptor of this number or a higher one. What is open stays open.
    pub fn limit_descriptors(&self, most: usize) {
        let most = Some(most as u64);
        let limit = Rlimit { current: most, maximum: most };
        prlimit(Pid::from_raw(self.child.id() as i32), Resource::Nofile, limit).unwrap();
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id() as i32).unwrap(), signal).unwrap();
    }

    /// Stops it, until it is told to go on by `Signal::CONT`. All of its threads have stopped.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        super::eventually("all threads have stopped", || {
            // Those that end meanwhile have no state.
            let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().flatten();
            let mut states =
                tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
            // The name before may have spaces and parentheses.
            states.all(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
        });
    }

    /// Waits for its end; whether it ended well.
    pub fn ends_well(mut self) -> bool {
        self.child.wait().unwrap().success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
