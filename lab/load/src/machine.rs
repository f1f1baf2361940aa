//! Whether the machine gave the run what it needed: processor time taken by the hypervisor (steal),
//! left over (idle), and used by the generator's own thread. The engine reports it.

use rustix::time::{ClockId, clock_gettime};

use crate::error::Error;

/// Processor time so far, in ticks.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    total: u64,
    idle: u64,
    steal: u64,
}

/// The beginning of a stretch of time on the calling thread.
pub(crate) struct Watch {
    ticks: Ticks,
    processor: f64,
}

/// What went where since a [`Watch`] began.
pub(crate) struct Shares {
    /// Of all processors' time.
    pub(crate) idle: f64,
    /// Of all processors' time.
    pub(crate) steal: f64,
    /// Processor seconds of the calling thread.
    pub(crate) processor: f64,
}

impl Watch {
    /// Begin now.
    pub(crate) fn start() -> Result<Watch, Error> {
        Ok(Watch { ticks: ticks()?, processor: processor_seconds() })
    }

    /// What went where until now; call it on the same thread.
    pub(crate) fn shares(&self) -> Result<Shares, Error> {
        let (before, now) = (self.ticks, ticks()?);
        let total = now.total.saturating_sub(before.total).max(1) as f64;
        Ok(Shares {
            idle: now.idle.saturating_sub(before.idle) as f64 / total,
            steal: now.steal.saturating_sub(before.steal) as f64 / total,
            processor: processor_seconds() - self.processor,
        })
    }
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn ticks() -> Result<Ticks, Error> {
    let text = std::fs::read_to_string("/proc/stat")
        .map_err(|e| Error(format!("cannot read /proc/stat, which tells of stolen time: {e}")))?;
    parse(&text).ok_or_else(|| Error("/proc/stat has no line `cpu` of 8 numbers".into()))
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
