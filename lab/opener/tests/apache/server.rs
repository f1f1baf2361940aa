//! A running Apache, with or without the module, and requests to it.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use weir_peers::apache::{self, Asking, Build, Opening, Workers};
use weir_peers::{Content, Options, Server, probe};

use crate::support::eventually;

static PLAIN: LazyLock<PathBuf> = LazyLock::new(|| module("plain", Build::Plain));
static SANITIZED: LazyLock<PathBuf> = LazyLock::new(|| module("sanitized", Build::Sanitized));
static OLD_KERNEL: LazyLock<PathBuf> = LazyLock::new(|| module("old-kernel", Build::OldKernel));

/// Compiles the module, once for all tests.
fn module(name: &str, build: Build) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mod_weir_opener").join(name);
    apache::build(&directory, build).unwrap_or_else(|error| panic!("{error}"))
}

/// The module with its sanitizers: what they find ends the process and is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    No,
    Sanitized,
    /// Without them, and as on a kernel that cannot tell what is in memory.
    OldKernel,
}

/// How an Apache is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    pub(crate) workers: Workers,
    /// The opener's socket.
    pub(crate) socket: Option<&'a Path>,
    /// Always, unless a test is about what is in memory: then the opener is asked for each request.
    pub(crate) asking: Asking,
    pub(crate) checked: Checked,
    /// What `Options` says.
    pub(crate) options: &'a str,
    /// More lines of the configuration.
    pub(crate) lines: &'a str,
}

impl<'a> Start<'a> {
    pub(crate) const WITHOUT: Start<'static> = Start {
        workers: Workers::Prefork(4),
        socket: None,
        asking: Asking::Always,
        checked: Checked::No,
        options: "None",
        lines: "",
    };

    pub(crate) fn with(socket: &'a Path) -> Start<'a> {
        Start { socket: Some(socket), ..Start::WITHOUT }
    }
}

/// Stopped when dropped; the sanitizers must have found nothing.
pub(crate) struct Apache {
    server: Option<Server>,
    pub(crate) address: SocketAddrV4,
    directory: PathBuf,
}

/// Modules of Debian's that a site may well have.
const MODULES: [&str; 4] = ["dir", "mime", "filter", "deflate"];

impl Apache {
    /// Serves the files below `root`; `directory` is made for what it writes.
    pub(crate) fn start(root: &Path, directory: &Path, start: Start<'_>) -> Apache {
        fs::create_dir(directory).unwrap();
        // The sanitizers write as Apache's user.
        fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .unwrap();
        let address = free_address();
        let error_log = directory.join("error.log");
        let options = Options {
            listen: address,
            tls: None,
            backlog: 512,
            content: Content::Files(root),
            directory,
            error_log: Some(&error_log),
            critical_only: false,
            user: None,
            connections: 100,
            open_files: None,
            idle_timeout: None,
            requests_per_connection: None,
        };
        let module = match start.checked {
            Checked::No => &*PLAIN,
            Checked::Sanitized => &*SANITIZED,
            Checked::OldKernel => &*OLD_KERNEL,
        };
        let opening = match start.socket {
            Some(socket) => Opening::Opener { module, socket, asking: start.asking },
            None => Opening::Itself,
        };
        let program = apache::program_opening(&options, start.workers, opening).unwrap();
        let mut program = program.env("ASAN_OPTIONS", asan_options(directory));
        if start.checked == Checked::Sanitized {
            program = program.env("LD_PRELOAD", libasan());
        }
        change_configuration(directory, start);
        let command = program.command([] as [&str; 0]);
        let log = directory.join("said");
        let mut server = Server::spawn(command, log, Some(error_log)).unwrap();
        server.wait_until_ready(&|| Ok(probe::accepts(address.into()))).unwrap();
        Apache { server: Some(server), address, directory: directory.to_owned() }
    }

    /// The whole answer to a request, so that it can be compared.
    pub(crate) fn answer(&self, request: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        comparable(answer)
    }

    /// The body of a file, if the status is 200.
    pub(crate) fn get(&self, path: &str) -> Option<Vec<u8>> {
        let answer = self.answer(&request("GET", path, ""));
        let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        let body = answer[head + 4..].to_vec();
        let announced = format!("\r\nContent-Length: {}\r\n", body.len());
        let as_announced = String::from_utf8_lossy(&answer[..head + 2]).contains(&announced);
        assert!(as_announced, "{:?}", String::from_utf8_lossy(&answer[..head]));
        answer.starts_with(b"HTTP/1.1 200 ").then_some(body)
    }

    /// The lines of the access log: a path, and `file` if the opener opened it, `memory` if it was not asked for
    /// it, otherwise `-`.
    pub(crate) fn accesses(&self) -> Vec<(String, String)> {
        let log = fs::read_to_string(self.directory.join("access.log")).unwrap_or_default();
        let lines = log.lines().filter_map(|line| line.split_once(' '));
        lines.map(|(path, opened)| (path.to_owned(), opened.to_owned())).collect()
    }

    /// Waits until so many requests were answered with a file of the opener, and so many otherwise. Apache
    /// writes its log when it has sent the answer.
    pub(crate) fn must_have_opened(&self, of_opener: usize, itself: usize) {
        eventually("all requests are in the log", || {
            let (one, other) = self.opened();
            one + other == of_opener + itself
        });
        assert_eq!(self.opened(), (of_opener, itself), "{}", self.errors());
    }

    /// How many requests were answered with a file of the opener so far, and how many otherwise.
    pub(crate) fn opened(&self) -> (usize, usize) {
        let accesses = self.accesses();
        let opened = accesses.iter().filter(|(_, opened)| opened == "file").count();
        (opened, accesses.len() - opened)
    }

    pub(crate) fn errors(&self) -> String {
        fs::read_to_string(self.directory.join("error.log")).unwrap_or_default()
    }

    /// Its processes that run: the parent and those that serve.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.server.as_ref().unwrap().processes()
    }

    /// Open descriptors of all its processes, but for those that end meanwhile.
    pub(crate) fn descriptors(&self) -> usize {
        let of = |process: &u32| fs::read_dir(format!("/proc/{process}/fd")).ok();
        self.processes().iter().filter_map(of).map(Iterator::count).sum()
    }
}

impl Drop for Apache {
    fn drop(&mut self) {
        drop(self.server.take());
        let files = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let found: Vec<String> = files
            .filter(|file| file.file_name().to_string_lossy().starts_with("asan."))
            .map(|file| fs::read_to_string(file.path()).unwrap_or_default())
            .collect();
        let crashed = self.errors().contains("exit signal");
        if !std::thread::panicking() {
            assert!(found.is_empty() && !crashed, "{}\n{}", found.join("\n"), self.errors());
        }
    }
}

/// A request after which the connection is closed, with more lines of its head.
pub(crate) fn request(method: &str, path: &str, lines: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n{lines}\r\n")
}

fn asan_options(directory: &Path) -> String {
    // Apache leaks by design at its end; descriptors are counted by the tests.
    format!("detect_leaks=0:log_path={}", directory.join("asan").display())
}

/// gcc's own, which must be loaded before everything else.
fn libasan() -> String {
    let output = Command::new("gcc").arg("-print-file-name=libasan.so").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn change_configuration(directory: &Path, start: Start<'_>) {
    let file = directory.join("apache.conf");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("Options None"));
    let mut text = text.replace("Options None", &format!("Options {}", start.options));
    for module in MODULES {
        text += &format!("LoadModule {module}_module /usr/lib/apache2/modules/mod_{module}.so\n");
    }
    let here = directory.display();
    text += &format!(
        "DirectoryIndex index.html\nTypesConfig /etc/mime.types\n\
         CustomLog {here}/access.log \"%U %{{weir-opener}}n\"\n{}",
        start.lines
    );
    if !Path::new("/etc/mime.types").exists() {
        text = text.replace("/etc/mime.types", "/dev/null");
    }
    fs::write(file, text).unwrap();
}

fn free_address() -> SocketAddrV4 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    match listener.local_addr().unwrap() {
        std::net::SocketAddr::V4(address) => address,
        other => panic!("{other}"),
    }
}

/// An answer without the line of the date, and with the methods of `Allow` in order: each process of Apache
/// has an order of its own.
fn comparable(answer: Vec<u8>) -> Vec<u8> {
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(answer.len());
    let Ok(text) = std::str::from_utf8(&answer[..head]) else { return answer };
    let lines = text.split("\r\n").filter(|line| !line.starts_with("Date: "));
    let lines: Vec<String> = lines
        .map(|line| match line.strip_prefix("Allow: ") {
            Some(methods) => {
                let mut methods: Vec<&str> = methods.split(',').collect();
                methods.sort_unstable();
                format!("Allow: {}", methods.join(","))
            }
            None => line.to_owned(),
        })
        .collect();
    [lines.join("\r\n").as_bytes(), &answer[head..]].concat()
}
