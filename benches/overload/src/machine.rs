//! Whether the machine gave the run what it needed: processor time taken by the
//! hypervisor (steal) and left over (idle), from /proc/stat.

use crate::{Result, command};

/// Processor time so far, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    total: u64,
    idle: u64,
    steal: u64,
}

/// Read the counters now.
pub(crate) fn ticks() -> Result<Ticks> {
    let text = std::fs::read_to_string("/proc/stat")
        .map_err(|e| format!("cannot read /proc/stat: {e}"))?;
    parse(&text).ok_or_else(|| "/proc/stat has no line `cpu` of 8 numbers".into())
}

fn parse(text: &str) -> Option<Ticks> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    // user nice system idle iowait irq softirq steal; guest time is within user.
    let fields: Vec<u64> =
        line.split_whitespace().skip(1).take(8).map_while(|field| field.parse().ok()).collect();
    (fields.len() == 8).then(|| Ticks {
        total: fields.iter().sum(),
        idle: fields[3] + fields[4],
        steal: fields[7],
    })
}

/// Shares of the time between two readings.
pub(crate) struct Shares {
    pub(crate) idle: f64,
    pub(crate) steal: f64,
}

/// What went where since `before`.
pub(crate) fn since(before: Ticks) -> Result<Shares> {
    let now = ticks()?;
    let total = now.total.saturating_sub(before.total).max(1) as f64;
    Ok(Shares {
        idle: now.idle.saturating_sub(before.idle) as f64 / total,
        steal: now.steal.saturating_sub(before.steal) as f64 / total,
    })
}

/// Put the calling thread before all ordinary work on the machine. The client
/// needs little time but needs it at once; an ordinary thread waits up to 3 ms
/// for another's slice to end. Servers are started the same way (see system.rs).
pub(crate) fn go_first() -> Result<()> {
    let thread = rustix::thread::gettid().as_raw_nonzero();
    command::run(&format!("chrt --rr -p 1 {thread}")).map(|_| ())
}

/// Let this process, and the servers it starts, have as many connections open as
/// the hard limit allows; refuse to run with too few.
pub(crate) fn raise_open_files() -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let enough = 10_000;
    let maximum = getrlimit(Resource::Nofile).maximum;
    if maximum.is_some_and(|most| most < enough) {
        return Err(format!(
            "only {maximum:?} files may be open: run `ulimit -Hn {enough}` as root first"
        ));
    }
    let current = maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum })
        .map_err(|e| format!("cannot raise the open files to the hard limit: {e}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_first_line_counts() {
        let ticks = super::parse("cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 9 9 9 9 9 9 9 9 0 0\n");
        let ticks = ticks.expect("a line with 8 numbers");
        assert_eq!((ticks.total, ticks.idle, ticks.steal), (36, 9, 8));
        assert!(super::parse("cpu 1 2").is_none());
    }
}
