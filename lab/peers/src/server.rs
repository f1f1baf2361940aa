//! A running server: a group of processes that is ready when it accepts connections and is stopped by
//! its id. Experiments start one in a network namespace, costs one in a memory group.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::error::{Error, Result};
use crate::{interrupt, processes, tool};

/// The longest that a server may take until it accepts.
const START: Duration = Duration::from_secs(20);
/// The longest that a server may take to stop by itself.
const STOP: Duration = Duration::from_secs(5);
/// Bytes of what a server said that an error repeats.
const MOST_SAID: usize = 2000;

/// Stopped when dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    log: PathBuf,
    error_log: Option<PathBuf>,
    stop: Duration,
}

impl Server {
    /// Start a command, in the network namespace of the calling thread. What it says goes to `log`;
    /// errors quote that and `error_log`, where the server writes itself.
    ///
    /// # Errors
    ///
    /// When the program does not start, or its log cannot be written.
    pub fn spawn(mut command: Command, log: PathBuf, error_log: Option<PathBuf>) -> Result<Server> {
        let output = File::create(&log).map_err(|e| Error::file("write", &log, &e))?;
        let errors = output.try_clone().map_err(|e| Error::file("write", &log, &e))?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        // Ctrl-C reaches it through us and in order.
        command.process_group(0);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|e| tool::start_error(&program, &e))?;
        Ok(Server { child, log, error_log, stop: STOP })
    }

    /// With another time to stop by itself before it is killed.
    pub fn stops_within(mut self, time: Duration) -> Server {
        self.stop = time;
        self
    }

    /// Wait until `accepts` says so.
    ///
    /// # Errors
    ///
    /// When the server ends or does not accept within 20 s, with what it said; after Ctrl-C.
    pub fn wait_until_ready(&mut self, accepts: &dyn Fn() -> Result<bool>) -> Result<()> {
        let patience = Instant::now() + START;
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
                return Err(Error(format!("the server {how}; it said: {}", self.said())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// An error if the server has ended by itself.
    ///
    /// # Errors
    ///
    /// With how it ended and what it said.
    pub fn must_run(&mut self) -> Result<()> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(Error(format!(
                "the server ended during the run with {status}; it said: {}",
                self.said()
            ))),
            _ => Ok(()),
        }
    }

    /// The id of its first process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The ids of all its processes, the first one first.
    pub fn processes(&self) -> Vec<u32> {
        processes::family(self.id())
    }

    /// The end of what it said.
    fn said(&self) -> String {
        let files: Vec<&Path> = [Some(&self.log), self.error_log.as_ref()]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
            .collect();
        let texts = files.iter().map(|file| fs::read_to_string(file).unwrap_or_default());
        let text = texts.map(|text| text.trim().to_owned()).collect::<Vec<_>>().join("\n");
        let from = text.char_indices().rev().nth(MOST_SAID).map_or(0, |(at, _)| at);
        text.get(from..).unwrap_or_default().trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.child.id() as i32);
        // To the first process alone: servers tell their own workers.
        let _ = group.map(|group| kill_process(group, Signal::TERM));
        let patience = Instant::now() + self.stop;
        while Instant::now() < patience && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        // Its id is ours until it is waited for; the group may outlive it.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.child.wait();
    }
}
