//! The systems under test: how each is started inside the server's namespace,
//! when it is ready, what its heads weigh, and how it is stopped.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::network::{Network, within};
use crate::options::RunOptions;
use crate::{Result, command, docroot, interrupt};

const ADMIN: ([u8; 4], u16) = ([127, 0, 0, 1], 9900);

/// A running server; stopped when dropped.
pub(crate) struct Server {
    child: Child,
    weir: bool,
}

impl Server {
    /// Start the system in the server's namespace and wait until it accepts.
    pub(crate) fn start(
        options: &RunOptions,
        network: &Network,
        docroot: &Path,
        out: &Path,
    ) -> Result<Server> {
        let (mut command, weir) = match options.system.split_once(':') {
            None if options.system == "nginx" => (nginx(options, network, docroot, out)?, false),
            Some(("weir", policy)) => (weir(options, network, docroot, policy)?, true),
            _ => {
                let system = &options.system;
                return Err(format!("no system {system}: use nginx or weir:POLICY"));
            }
        };
        let log = out.join("server.log");
        let file = |e| format!("cannot write {}: {e}", log.display());
        let output = fs::File::create(&log).map_err(file)?;
        let errors = output.try_clone().map_err(file)?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        // Its own group, so that Ctrl-C reaches it through us and in order.
        command.process_group(0);
        let child = within(&network.server, || {
            let program = command.get_program().to_string_lossy().into_owned();
            command.spawn().map_err(|e| command::start_error(&program, &e))
        })?;
        let mut server = Server { child, weir };
        server.wait_until_ready(network, &log)?;
        Ok(server)
    }

    fn wait_until_ready(&mut self, network: &Network, log: &Path) -> Result<()> {
        let patience = Instant::now() + Duration::from_secs(10);
        loop {
            interrupt::check()?;
            let address = SocketAddr::V4(network.address);
            let accepted = within(&network.client, || {
                Ok(TcpStream::connect_timeout(&address, Duration::from_millis(500)).is_ok())
            })?;
            if accepted {
                return Ok(());
            }
            let ended = self.child.try_wait().ok().flatten();
            if ended.is_some() || Instant::now() > patience {
                let said = fs::read_to_string(log).unwrap_or_default();
                let how = ended.map_or("does not accept".into(), |status| status.to_string());
                return Err(format!("the server {how}; it said: {}", said.trim()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What weir's admin port says about the run; other systems have none.
    pub(crate) fn metrics(&self, network: &Network) -> Result<Option<String>> {
        if !self.weir {
            return Ok(None);
        }
        let answer = within(&network.server, || get(ADMIN.into(), "/metrics"))?;
        let text = String::from_utf8_lossy(&answer);
        match text.split_once("\r\n\r\n") {
            Some((head, body)) if head.starts_with("HTTP/1.1 200") => Ok(Some(body.to_owned())),
            _ => Err(format!("/metrics was answered: {}", text.trim())),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let patience = Instant::now() + Duration::from_secs(5);
        while Instant::now() < patience {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Bytes of the head that the system sends with a document of 1 KB.
pub(crate) fn probe_head(network: &Network) -> Result<u64> {
    let size = crate::law::size(0.5);
    let answer =
        within(&network.client, || get(SocketAddr::V4(network.address), &docroot::path(size)))?;
    let head = (answer.len() as u64).saturating_sub(size);
    let begins = answer.starts_with(b"HTTP/1.1 200");
    if !begins || answer.get(..head as usize).is_none_or(|h| !h.ends_with(b"\r\n\r\n")) {
        let start = String::from_utf8_lossy(&answer[..answer.len().min(200)]).into_owned();
        return Err(format!("the probe for {size} bytes was answered: {start}"));
    }
    Ok(head)
}

fn get(address: SocketAddr, path: &str) -> Result<Vec<u8>> {
    let patience = Duration::from_secs(10);
    let fetch = || {
        let mut stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_read_timeout(Some(patience))?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    };
    fetch().map_err(|e: std::io::Error| format!("GET http://{address}{path}: {e}"))
}

/// A command that runs before all ordinary work on the machine, as the client does.
fn first(program: &Path) -> Command {
    let mut command = Command::new("chrt");
    command.args(["--rr", "1"]).arg(program);
    command
}

fn weir(options: &RunOptions, network: &Network, docroot: &Path, policy: &str) -> Result<Command> {
    let beside = || {
        let own = std::env::current_exe().unwrap_or_default();
        own.with_file_name("weir")
    };
    let binary: PathBuf = options.weir.clone().unwrap_or_else(beside);
    if !binary.is_file() {
        let binary = binary.display();
        return Err(format!("no weir at {binary}: build it, or name it with --weir"));
    }
    let mut command = first(&binary);
    command.arg("serve").arg(docroot);
    command.args(["--listen", &network.address.to_string()]);
    command.args(["--workers", &options.workers.to_string()]);
    command.args(["--uplink", &rate(options.trace.rate)]);
    command.args(["--policy", policy, "--access-log", "off"]);
    command.args(["--admin", &SocketAddr::from(ADMIN).to_string()]);
    Ok(command)
}

/// A rate as people write it.
fn rate(bits: u64) -> String {
    match bits % 1_000_000 {
        0 => format!("{}mbit", bits / 1_000_000),
        _ => format!("{}kbit", bits / 1000),
    }
}

fn nginx(options: &RunOptions, network: &Network, docroot: &Path, out: &Path) -> Result<Command> {
    let here = out.display();
    let configuration = format!(
        "# Made by overload.
user root;
daemon off;
worker_processes {workers};
pid {here}/nginx.pid;
error_log {here}/nginx-error.log;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    open_file_cache max=2000 inactive=600s;
    open_file_cache_valid 600s;
    default_type application/octet-stream;
    client_body_temp_path {here}/nginx-body;
    proxy_temp_path {here}/nginx-proxy;
    fastcgi_temp_path {here}/nginx-fastcgi;
    uwsgi_temp_path {here}/nginx-uwsgi;
    scgi_temp_path {here}/nginx-scgi;
    server {{
        listen {address} backlog=4096;
        root {root};
    }}
}}
",
        workers = options.workers,
        address = network.address,
        root = docroot.display(),
    );
    let file = out.join("nginx.conf");
    fs::write(&file, configuration).map_err(|e| format!("cannot write {}: {e}", file.display()))?;
    command::run("nginx -v")?;
    let mut command = first(Path::new("nginx"));
    command.arg("-c").arg(&file);
    command.arg("-e").arg(out.join("nginx-error.log"));
    Ok(command)
}
