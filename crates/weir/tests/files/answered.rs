//! A directory that another process answers for (FUSE), which can be stopped: what is asked of it waits,
//! while the files can be changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{eventually, tool};

/// See the module. Needs root and /dev/fuse.
pub(crate) struct Answered {
    daemon: Child,
    at: PathBuf,
}

impl Answered {
    pub(crate) fn mount(of: &Path, at: &Path) -> Answered {
        let mut command = tool("bindfs", "bindfs");
        let options = "attr_timeout=0,entry_timeout=0,nonempty";
        command.arg("-f").args(["-o", options]).arg(of).arg(at);
        let daemon = command.stdin(Stdio::null()).spawn().expect("bindfs starts");
        let answered = Answered { daemon, at: at.to_owned() };
        let mounts = || fs::read_to_string("/proc/mounts").unwrap_or_default();
        let name = at.display().to_string();
        eventually("the directory is mounted", || mounts().contains(&name));
        answered
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.daemon), signal).expect("it runs");
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}
