//! Programs that people use, run against a server: what they wrote, if they succeeded.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{end_of, nginx, tool};

/// Runs `command`, which must succeed; returns what it wrote.
pub fn output_of(command: Command) -> String {
    let line = format!("{command:?}");
    let output = end_of(command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{line}: {output:?}");
    text(&output.stdout) + &text(&output.stderr)
}

pub fn curl(arguments: &[&str], url: &str) -> String {
    let mut command = tool("curl", "curl");
    // -q: whatever its user has configured.
    command.args(["-q", "--noproxy", "*", "-sS", "--fail", "--max-time", "60"]);
    command.args(arguments).arg(url);
    output_of(command)
}

/// What Chromium, which may keep files in `directory`, makes of a page: `what` says in which form.
pub fn chromium(directory: &Path, what: &str, url: &str) -> String {
    let mut command = chromium_command(directory);
    command.arg(what).arg(url);
    output_of(command)
}

/// Chromium without a window; it may keep files in `directory`.
pub fn chromium_command(directory: &Path) -> Command {
    let mut command = tool("chromium", "chromium");
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--no-proxy-server",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=800,900",
    ]);
    command.arg(format!("--user-data-dir={}", directory.join("profile").display()));
    command
}

/// A program. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An application that serves HTTP.
#[derive(Debug)]
pub struct App {
    _program: Running,
    /// As `--proxy` and `backends` name it.
    pub url: String,
}

impl App {
    /// `app.py`, with threads.
    pub fn python() -> App {
        let mut command = tool("python3", "python3");
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/app.py"));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut program = Running(command.spawn().expect("Python starts"));
        let stdout = program.0.stdout.take().expect("stdout is piped");
        let mut port = String::new();
        BufReader::new(stdout).read_line(&mut port).expect("it says where it listens");
        App { _program: program, url: format!("http://127.0.0.1:{}", port.trim()) }
    }

    /// nginx, which serves `site` on a socket in `directory`, and says what it was asked at `/said`.
    pub fn nginx(directory: &Path, site: &Path) -> App {
        let (site, socket) = (site.display(), directory.join("socket"));
        let at = format!("unix:{}", socket.display());
        let http = format!(
            "access_log off;\nclient_max_body_size 0;\nserver {{\nlisten {at};\nroot {site};\n\
             location /said {{ return 200 \"$request_method $content_length $http_host\"; }}\n}}\n"
        );
        let program = nginx(directory, &http, || UnixStream::connect(&socket).is_ok());
        App { _program: program, url: at }
    }
}
