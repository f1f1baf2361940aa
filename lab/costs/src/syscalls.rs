//! Counts the system calls of processes with perf while something else makes
//! load, for `cpu --syscalls`. In runs of their own: counting costs time.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use weir_peers::{Error, Result, interrupt, tool};

/// A count under way.
pub(crate) struct Counting {
    child: Child,
}

impl Counting {
    /// Count the calls of these processes and all their threads.
    pub(crate) fn start(pids: &[u32], report: &Path) -> Result<Counting> {
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        let words = ["stat", "-x,", "-e", "raw_syscalls:sys_enter", "-p"];
        let child = Command::new("perf")
            .args(words)
            .arg(pids.join(","))
            .arg("-o")
            .arg(report)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|e| tool::start_error("perf", &e))?;
        let counting = Counting { child };
        // perf has no sign of readiness; a late start would only lose calls, and
        // the load goes on for a second.
        interrupt::sleep(Duration::from_millis(300))?;
        Ok(counting)
    }

    /// Stop and read the count.
    pub(crate) fn stop(mut self, report: &Path) -> Result<u64> {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process(pid, Signal::INT);
        }
        let _ = self.child.wait();
        let text = fs::read_to_string(report)
            .map_err(|e| Error(format!("perf left no count in {}: {e}", report.display())))?;
        parse(&text)
            .ok_or_else(|| Error(format!("perf counted nothing (is tracefs there?): {text}")))
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("raw_syscalls:sys_enter"))?;
    line.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_count_comes_first() {
        let text = "# started on x\n\n331194,,raw_syscalls:sys_enter,895084408,100.00,,\n";
        assert_eq!(super::parse(text), Some(331_194));
        assert_eq!(super::parse("<not supported>,,raw_syscalls:sys_enter,0,100.00,,"), None);
    }
}
