//! What the processes of a server have used: time on a core, and memory. From
//! /proc; knows no server, only the process it began as.

use std::collections::BTreeSet;
use std::fs;

use serde::Serialize;

use crate::Result;

/// A process and all below it.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        for thread in threads(pid) {
            let file = format!("/proc/{pid}/task/{thread}/children");
            let children = fs::read_to_string(file).unwrap_or_default();
            found.extend(children.split_ascii_whitespace().flat_map(str::parse::<u32>));
        }
        next += 1;
    }
    found
}

fn threads(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Processor time used so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    nanoseconds: u64,
    /// Ticks in user code and in the kernel, of the whole processes.
    user: u64,
    system: u64,
    threads: BTreeSet<u32>,
}

/// Processor time of a stretch.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Spent {
    pub(crate) nanoseconds: u64,
    /// Share of it in the kernel; coarse, the kernel counts it in ticks of 10 ms.
    pub(crate) system_share: f64,
}

/// Read the counters of these processes.
pub(crate) fn used(pids: &[u32]) -> Result<Used> {
    let mut used = Used::default();
    for &pid in pids {
        for thread in threads(pid) {
            let file = format!("/proc/{pid}/task/{thread}/schedstat");
            // A thread may end between the listing and here; `since` notices.
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            };
            let first = text.split_ascii_whitespace().next().and_then(|n| n.parse::<u64>().ok());
            used.nanoseconds += first.ok_or_else(|| format!("{file} has no number"))?;
            used.threads.insert(thread);
        }
        let file = format!("/proc/{pid}/stat");
        let text = fs::read_to_string(&file)
            .map_err(|e| format!("cannot read {file}: {e}; did the server end?"))?;
        let (user, system) = ticks(&text).ok_or_else(|| format!("{file} is not understood"))?;
        used.user += user;
        used.system += system;
    }
    Ok(used)
}

/// utime and stime of /proc/PID/stat; the name before them may have blanks.
fn ticks(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

impl Used {
    /// What was used since then; `None` if a thread ended and took its count with it.
    pub(crate) fn since(&self, before: &Used) -> Option<Spent> {
        if !before.threads.is_subset(&self.threads) {
            return None;
        }
        let (user, system) = (self.user - before.user, self.system - before.system);
        Some(Spent {
            nanoseconds: self.nanoseconds - before.nanoseconds,
            system_share: system as f64 / (user + system).max(1) as f64,
        })
    }
}

/// Bytes of memory.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Memory {
    /// Private pages that are in no file.
    pub(crate) anonymous: u64,
    /// Resident pages, shared ones in proportion.
    pub(crate) proportional: u64,
}

/// Memory of these processes now.
pub(crate) fn memory(pids: &[u32]) -> Result<Memory> {
    let mut memory = Memory::default();
    for pid in pids {
        memory.anonymous += kilobytes(&format!("/proc/{pid}/status"), "RssAnon:")? * 1024;
        memory.proportional += kilobytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:")? * 1024;
    }
    Ok(memory)
}

fn kilobytes(file: &str, name: &str) -> Result<u64> {
    let text = fs::read_to_string(file).map_err(|e| format!("cannot read {file}: {e}"))?;
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    let number = value.and_then(|value| value.split_ascii_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("{file} has no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_come_after_the_name() {
        let text = "7 (a ) b) S 1 7 7 0 -1 4194560 1 0 0 0 31 42 0 0 20";
        assert_eq!(ticks(text), Some((31, 42)));
        assert_eq!(ticks("7 (a) S"), None);
    }

    #[test]
    fn this_process_has_used_time_and_memory() {
        let own = family(std::process::id());
        assert_eq!(own[0], std::process::id());
        let before = used(&own[..1]).unwrap();
        let mut sum = 0u64;
        while used(&own[..1]).unwrap().nanoseconds == before.nanoseconds {
            (0..100_000).for_each(|i| sum = std::hint::black_box(sum ^ i));
        }
        let memory = memory(&own[..1]).unwrap();
        assert!(memory.anonymous > 0 && memory.proportional > 0);
    }

    #[test]
    fn a_thread_that_ended_voids_the_measurement() {
        let before = Used { threads: BTreeSet::from([1, 2]), ..Used::default() };
        let after = Used { threads: BTreeSet::from([1]), ..Used::default() };
        assert!(after.since(&before).is_none());
        assert!(before.since(&after).is_some());
    }
}
