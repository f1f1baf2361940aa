//! Programs that people use, run against a server: what they wrote, if they succeeded.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{end_of, eventually, tool};

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

/// An application that serves HTTP. It is killed when this is dropped.
#[derive(Debug)]
pub struct App {
    child: Child,
    /// As `--proxy` and `backends` name it.
    pub url: String,
}

impl App {
    /// `app.py`, with threads.
    pub fn python() -> App {
        let mut command = tool("python3", "python3");
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/app.py"));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("Python starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut app = App { child, url: String::new() };
        let mut port = String::new();
        BufReader::new(stdout).read_line(&mut port).expect("it says where it listens");
        app.url = format!("http://127.0.0.1:{}", port.trim());
        app
    }

    /// nginx, which serves `site` on a socket in `directory`, and says what it was asked at `/said`.
    pub fn nginx(directory: &Path, site: &Path) -> App {
        let (here, site, socket) = (directory.display(), site.display(), directory.join("socket"));
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {here}/{kind};\n"))
            .concat();
        let configuration = format!(
            "daemon off;\nmaster_process off;\nuser root;\npid {here}/pid;\nerror_log stderr;\n\
             events {{}}\nhttp {{\naccess_log off;\n{temporary}client_max_body_size 0;\n\
             server {{\nlisten unix:{};\nroot {site};\n\
             location /said {{ return 200 \"$request_method $content_length $http_host\"; }}\n\
             }}\n}}\n",
            socket.display()
        );
        let file = directory.join("nginx.conf");
        std::fs::write(&file, configuration).expect("the configuration is written");
        let mut command = tool("nginx", "nginx-light");
        command.arg("-e").arg("stderr").arg("-p").arg(directory).arg("-c").arg(file);
        let child = command.stdin(Stdio::null()).spawn().expect("nginx starts");
        let app = App { child, url: format!("unix:{}", socket.display()) };
        eventually("nginx listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
        app
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
