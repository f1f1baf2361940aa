//! A running server: a group of processes, in a namespace of its own or in this one, ready when it
//! accepts, stopped by its id. It does not know which server it is.

use std::fs;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::weir::ADMIN;
use super::{Place, Start, accepts, answers, get, start};
use crate::error::{Error, Result};
use crate::link::namespace::within;
use crate::link::network::Network;
use crate::settings::Settings;
use crate::{command, interrupt};

/// Stopped when dropped.
pub(crate) struct Server {
    child: Child,
    metrics: bool,
    log: PathBuf,
}

impl Server {
    /// Start the system in the server's namespace and wait until it accepts.
    pub(crate) fn start(
        system: &str,
        place: &Place<'_>,
        network: &Network,
        settings: &Settings,
    ) -> Result<Server> {
        let Start { mut command, metrics } = start(system, place, settings)?;
        let log = place.directory.join("server.log");
        detach(&mut command, &log)?;
        let child = within(network.server.name(), || spawn(&mut command))?;
        let mut server = Server { child, metrics, log };
        server.wait_until_ready(&|| answers(network), place.directory)?;
        Ok(server)
    }

    /// Start a command in this namespace and wait until it accepts at `address`; what it says goes
    /// to `NAME.log`.
    pub(crate) fn here(
        mut command: Command,
        name: &str,
        directory: &Path,
        address: SocketAddrV4,
    ) -> Result<Server> {
        let log = directory.join(format!("{name}.log"));
        detach(&mut command, &log)?;
        let mut server = Server { child: spawn(&mut command)?, metrics: false, log };
        server.wait_until_ready(&|| Ok(accepts(address.into())), directory)?;
        Ok(server)
    }

    /// The id of its first process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn wait_until_ready(
        &mut self,
        accepts: &dyn Fn() -> Result<bool>,
        directory: &Path,
    ) -> Result<()> {
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            interrupt::check()?;
            if accepts()? {
                return Ok(());
            }
            let ended = self.child.try_wait().ok().flatten();
            if ended.is_some() || Instant::now() > patience {
                let how = ended.map_or("does not accept connections".into(), |status| {
                    format!("ended with {status}")
                });
                let said = said(&[&self.log, &directory.join("server-error.log")]);
                return Err(Error(format!("the server {how}; it said: {said}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// An error if the server has ended by itself.
    pub(crate) fn must_run(&mut self) -> Result<()> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(Error(format!(
                "the server ended during the run with {status}; it said: {}",
                said(&[&self.log])
            ))),
            _ => Ok(()),
        }
    }

    /// What weir's admin port says about the run; other systems have none.
    pub(crate) fn metrics(&self, network: &Network) -> Result<Option<String>> {
        if !self.metrics {
            return Ok(None);
        }
        within(network.server.name(), || metrics(SocketAddr::from(ADMIN))).map(Some)
    }
}

/// What an admin port of weir's in this namespace says.
pub(crate) fn metrics(admin: SocketAddr) -> Result<String> {
    let answer = get(admin, "/metrics")?;
    let text = String::from_utf8_lossy(&answer);
    match text.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200") => Ok(body.to_owned()),
        _ => Err(Error(format!("/metrics was answered: {}", text.trim()))),
    }
}

/// What a command says goes to a file, and Ctrl-C reaches it through us and in order.
fn detach(command: &mut Command, log: &Path) -> Result<()> {
    let output = fs::File::create(log).map_err(|e| Error::file("write", log, &e))?;
    let errors = output.try_clone().map_err(|e| Error::file("write", log, &e))?;
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    command.process_group(0);
    Ok(())
}

fn spawn(command: &mut Command) -> Result<Child> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.spawn().map_err(|e| command::start_error(&program, &e))
}

/// The end of what was written to these files.
fn said(files: &[&Path]) -> String {
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap_or_default());
    let text = texts.map(|text| text.trim().to_owned()).collect::<Vec<_>>().join("\n");
    let from = text.char_indices().rev().nth(2000).map_or(0, |(at, _)| at);
    text.get(from..).unwrap_or_default().trim().to_owned()
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.child.id() as i32);
        // To the first process alone: servers tell their own workers.
        let _ = group.map(|group| kill_process(group, Signal::TERM));
        let patience = Instant::now() + Duration::from_secs(5);
        while Instant::now() < patience && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        // Its id is ours until it is waited for; the group may outlive it.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.child.wait();
    }
}
