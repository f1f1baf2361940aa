//! The machine's share in a measurement: cores, limits, the time the hypervisor took and the time that
//! others worked on the server's core.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use weir_peers::{Error, Result};
use weir_stand::{cores, root};

/// More steal than this marks a round.
pub(crate) const MOST_STEAL: f64 = 0.01;
/// More of the servers' core than this, used by others, marks a round too.
pub(crate) const MOST_OTHERS: f64 = 0.05;

/// A client that comes to its requests and responses later than this (99th percentile) does not measure
/// the server.
pub(crate) const MOST_LAG_MS: f64 = 1.0;

/// What every measurement begins with: root, a directory for results, this program
/// on its core, and as many open files as the system allows, which is returned.
pub(crate) fn prepare(out: &Path) -> Result<usize> {
    if !rustix::process::geteuid().is_root() {
        return Err("measuring servers needs root: run it with sudo".into());
    }
    root::open(out)?;
    cores::keep_to_clients()?;
    let files = raise_files()?;
    // Its table of descriptors does not grow while it measures.
    weir_load::check_limits(1, 1).map_err(|e| Error(e.to_string()))?;
    Ok(files)
}

/// Raise the limit of open files as far as it goes; how far that is.
fn raise_files() -> Result<usize> {
    let wanted = 1_048_576;
    let all = Rlimit { current: Some(wanted), maximum: Some(wanted) };
    if setrlimit(Resource::Nofile, all).is_ok() {
        return Ok(wanted as usize);
    }
    // Without CAP_SYS_RESOURCE the hard limit stands.
    let hard = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard })
        .map_err(|e| Error(format!("cannot raise the limit of open files to {hard:?}: {e}")))?;
    Ok(hard.unwrap_or(wanted) as usize)
}

/// Readings of /proc/stat, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticks {
    all: u64,
    stolen: u64,
    /// Work of any kind on the servers' core.
    server_core: u64,
}

impl Ticks {
    pub(crate) fn now() -> Result<Ticks> {
        let text = fs::read_to_string("/proc/stat")
            .map_err(|e| Error(format!("cannot read /proc/stat: {e}")))?;
        Ticks::of(&text).ok_or_else(|| "/proc/stat has no lines `cpu` and `cpu0`".into())
    }

    fn of(text: &str) -> Option<Ticks> {
        let line = |name: &str| {
            let numbers = text.lines().find_map(|line| line.strip_prefix(name))?;
            // User, nice, system, idle, iowait, irq, softirq, steal; guest time,
            // after these, is in the first.
            let ticks: Vec<u64> =
                numbers.split_ascii_whitespace().take(8).flat_map(str::parse).collect();
            <[u64; 8]>::try_from(ticks).ok()
        };
        let (all, core) = (line("cpu ")?, line("cpu0 ")?);
        let server_core = core.iter().sum::<u64>() - core[3] - core[4] - core[7];
        Some(Ticks { all: all.iter().sum(), stolen: all[7], server_core })
    }

    /// Share of all time stolen since then.
    pub(crate) fn steal_since(self, before: Ticks) -> f64 {
        (self.stolen - before.stolen) as f64 / (self.all - before.all).max(1) as f64
    }

    /// Seconds of work on the servers' core since then; ticks are of 10 ms.
    pub(crate) fn core_seconds_since(self, before: Ticks) -> f64 {
        (self.server_core - before.server_core) as f64 / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::Ticks;

    #[test]
    fn steal_is_a_share_of_all_time() {
        let before = Ticks::of("cpu  1 2 3 4 5 6 7 8 100 0\ncpu0 1 1 1 1 1 1 1 1 9 9").unwrap();
        let after = Ticks::of("cpu  1 2 3 94 5 6 7 18 100 0\ncpu0 1 1 51 9 1 1 1 7 9 9").unwrap();
        assert_eq!(after.steal_since(before), 0.1);
        assert_eq!(after.core_seconds_since(before), 0.5);
        assert_eq!(Ticks::of("intr 1 2 3"), None);
    }
}
