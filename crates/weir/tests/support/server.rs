//! A server as a process: started on free ports, listened to, and always ended.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use super::{Backend, Client, DEADLINE, Metrics, Response, eventually};

/// A running server. It is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    log_reader: Option<JoinHandle<()>>,
    /// The ports on which it listens, in the order of the flags.
    pub addresses: Vec<SocketAddr>,
    admin: Option<SocketAddr>,
}

/// The beginning of a route to these backends in the configuration file; other keys can follow.
pub fn route(path: &str, backends: &[&str]) -> String {
    format!("[[route]]\npath = \"{path}\"\nbackends = {backends:?}\n")
}

/// The program under test: cargo names it to the tests of its own package; for those of another it
/// lies beside theirs.
pub fn weir() -> Command {
    let own = option_env!("CARGO_BIN_EXE_weir").map(PathBuf::from);
    let beside = || Some(Path::new(option_env!("CARGO_BIN_EXE_weir-lab")?).with_file_name("weir"));
    Command::new(own.or_else(beside).expect("cargo names the programs of a package to its tests"))
}

/// The same, run by a user who owns nothing.
pub fn as_nobody() -> Command {
    let mut command = super::tool("setpriv", "util-linux");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(weir().get_program());
    command
}

impl Server {
    /// The built-in site with an admin address; `flags` are added.
    pub fn builtin(flags: &[&str]) -> Server {
        let mut command = weir();
        command.arg("serve");
        Server::launch(command, flags)
    }

    /// The files of `directory`, otherwise the same.
    pub fn of(directory: &Path, flags: &[&str]) -> Server {
        let mut command = weir();
        command.arg("serve").arg(directory);
        Server::launch(command, flags)
    }

    /// Passes everything on to `backend`; `flags` are added.
    pub fn before(backend: &Backend, flags: &[&str]) -> Server {
        let proxy = format!("/={}", backend.url);
        Server::builtin(&[&["--proxy", &proxy][..], flags].concat())
    }

    /// The files of `root`, with these keys of the configuration, and routes after them.
    pub fn site(root: &Path, keys: &str) -> Server {
        Server::configured(&format!("root = {root:?}\n{keys}\n"), &[])
    }

    /// With `text` as its configuration file; `flags` are added.
    pub fn configured(text: &str, flags: &[&str]) -> Server {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(text.as_bytes()).expect("the configuration is written");
        let mut command = weir();
        command.arg("serve").arg("--config").arg(file.path());
        // The file has been read once the server listens.
        Server::launch(command, flags)
    }

    /// One route of everything to these backends, with more of its keys.
    pub fn routed(backends: &[&str], keys: &str) -> Server {
        Server::configured(&format!("{}{keys}\n", route("/", backends)), &[])
    }

    /// Adds addresses and no access log to `command`, unless `flags` name others, and starts it.
    pub fn launch(mut command: Command, flags: &[&str]) -> Server {
        command.args(flags);
        for (flag, value) in
            [("--listen", "127.0.0.1:0"), ("--admin", "127.0.0.1:0"), ("--access-log", "off")]
        {
            if !flags.contains(&flag) {
                command.args([flag, value]);
            }
        }
        let listens = |pair: &&[&str]| pair[0] == "--listen";
        let named = flags.windows(2).filter(listens);
        let ports = named.clone().filter(|pair| !pair[1].starts_with("unix:")).count();
        let ports = if named.count() == 0 { 1 } else { ports };
        Server::run(command, ports, true)
    }

    /// Starts `command` as it is and waits until it has announced so many ports.
    pub fn run(mut command: Command, listeners: usize, admin: bool) -> Server {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let stderr = child.stderr.take().expect("stderr is piped");
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = log.clone();
        let log_reader = thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        let log_reader = Some(log_reader);
        let mut server = Server { child, log, log_reader, addresses: Vec::new(), admin: None };
        let start = Instant::now();
        loop {
            let log = server.log();
            let served = |line: &String| {
                let clear = address(line, "on http://", "serving");
                clear.or_else(|| address(line, "on https://", "serving"))
            };
            server.addresses = log.iter().filter_map(served).collect();
            server.admin =
                log.iter().find_map(|line| address(line, "metrics on http://", "metrics"));
            if server.addresses.len() == listeners && server.admin.is_some() == admin {
                return server;
            }
            let ended = server.child.try_wait().expect("the server can be waited for");
            assert!(ended.is_none(), "the server ended at once ({ended:?}): {log:#?}");
            assert!(start.elapsed() < DEADLINE, "the server announced too little: {log:#?}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Its first address.
    pub fn address(&self) -> SocketAddr {
        *self.addresses.first().expect("it listens")
    }

    /// Where its metrics are.
    pub fn admin(&self) -> SocketAddr {
        self.admin.expect("it has an admin address")
    }

    /// What it has written to standard error so far.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bytes of memory that it takes now.
    pub fn resident(&self) -> usize {
        let sizes = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id()));
        let sizes = sizes.expect("the server runs");
        let pages = sizes.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
        pages.expect("a number of pages") * rustix::param::page_size()
    }

    /// A connection to its first address.
    pub fn connect(&self) -> Client {
        Client::connect(self.address())
    }

    /// One request on a connection of its own.
    pub fn get(&self, path: &str) -> Response {
        self.connect().get(path)
    }

    /// Its figures now.
    pub fn metrics(&self) -> Metrics {
        Metrics::read(self.admin())
    }

    /// Waits until `name`, summed over its labels, is `value`.
    pub fn wait_for_metric(&self, name: &str, value: f64) {
        let start = Instant::now();
        loop {
            let metrics = self.metrics();
            let now = metrics.sum(name);
            if now == value {
                return;
            }
            let late = start.elapsed() > DEADLINE;
            assert!(!late, "{name} should become {value} and stays {now}\n{}", metrics.0);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Asks for a file until it is answered from memory: it was asked for again and has not changed
    /// lately.
    pub fn make_hot(&self, client: &mut Client, path: &str) {
        eventually("the file is remembered", || {
            let hits = || self.metrics().sum("weir_name_cache_hits_total");
            let before = hits();
            assert_eq!(client.get(path).status, 200);
            hits() > before
        });
    }

    /// Bytes of memory that it has.
    pub fn memory(&self) -> u64 {
        memory_of(&self.child)
    }

    /// The most bytes of memory that it has ever had.
    pub fn peak_memory(&self) -> u64 {
        told_of(&self.child, "VmHWM:")
    }

    /// Limits the bytes of every file that it writes, or no longer.
    pub fn limit_files(&self, most: Option<u64>) {
        let pid = Pid::from_child(&self.child);
        let limit = Rlimit { current: most, maximum: None };
        prlimit(Some(pid), Resource::Fsize, limit).expect("a limit can be set");
    }

    /// The number of its process.
    pub fn process(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the server is there to get a signal");
    }

    /// Waits until it ends by itself, and until [`Server::log`] has all that it has written.
    pub fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the server ends", || {
            status = self.child.try_wait().expect("the server can be waited for");
            status.is_some()
        });
        let ended = self.log_reader.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()), "the log can be read to its end");
        status.expect("it has ended")
    }

    /// SIGTERM, and how it ended.
    pub fn stop(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// SIGTERM, and all that it has ever written to standard error.
    pub fn stop_and_read_log(mut self) -> Vec<String> {
        self.signal(Signal::TERM);
        self.wait();
        self.log()
    }

    /// Fails unless the server runs and answers a new connection.
    pub fn assert_alive(&mut self) {
        let ended = self.child.try_wait().expect("the server can be waited for");
        assert!(ended.is_none(), "the server ended ({ended:?}): {:#?}", self.log());
        let answer = Client::connect(self.admin()).get("/healthz");
        assert_eq!(answer.status, 200);
        // Any status will do: the site may be empty.
        let _ = self.get("/");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Bytes of memory that a process has.
pub fn memory_of(process: &Child) -> u64 {
    told_of(process, "VmRSS:")
}

/// Bytes that the kernel tells of a process under this name.
fn told_of(process: &Child, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id()));
    let status = status.expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number.and_then(|number| number.parse::<u64>().ok()).expect("its memory") * 1024
}

/// Runs a command that should end by itself; it is killed if it does not.
pub fn end_of(mut command: Command) -> Output {
    // Files, not pipes: they never fill.
    let mut stdout = tempfile::tempfile().expect("a temporary file");
    let mut stderr = tempfile::tempfile().expect("a temporary file");
    command.stdin(Stdio::null());
    command.stdout(stdout.try_clone().expect("a descriptor"));
    command.stderr(stderr.try_clone().expect("a descriptor"));
    let mut child = command.spawn().expect("the program starts");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if start.elapsed() > 3 * DEADLINE {
            let _ = child.kill();
            break child.wait().expect("it has been killed");
        }
        thread::sleep(Duration::from_millis(5));
    };
    Output { status, stdout: text_of(&mut stdout), stderr: text_of(&mut stderr) }
}

fn text_of(file: &mut File) -> Vec<u8> {
    let mut text = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut text)).expect("the file can be read");
    text
}

fn address(line: &str, before: &str, word: &str) -> Option<SocketAddr> {
    let rest = line.contains(word).then(|| line.rsplit_once(before))??.1;
    // The quote ends a message in JSON.
    let end = rest.find([',', '/', ' ', '"']).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}
