//! Processor time and memory of a server: its first process and all that it started, from /proc.
//! Experiments sample them once a second; costs are made of their differences.

use std::collections::BTreeSet;
use std::fs;

use serde::Serialize;

use crate::error::{Error, Result};

/// The process `root` and its descendants, ancestors first.
pub fn family(root: u32) -> Vec<u32> {
    let mut found = vec![root];
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

/// The threads of a process; none if it has ended.
pub fn threads(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What the processes of a server have used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Processor seconds, of processes that have ended too.
    pub cpu: f64,
    /// Bytes of memory: each process's own, and the most that one shares with others.
    pub memory: u64,
    /// Processes.
    pub count: u32,
}

/// What the process `root` and its descendants use at this moment. Processes that end meanwhile are
/// left out.
pub fn usage(root: u32) -> Usage {
    let tick = 1.0 / rustix::param::clock_ticks_per_second() as f64;
    let page = rustix::param::page_size() as u64;
    let mut usage = Usage::default();
    let mut shared = 0;
    for pid in family(root) {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
        let (Ok(stat), Ok(memory)) = (read("stat"), read("statm")) else { continue };
        let exact: u64 = threads(pid).into_iter().filter_map(|t| nanoseconds(pid, t)).sum();
        if let (Some(ticks), Some((alone, of_others))) = (Ticks::of(&stat), pages(&memory)) {
            // Ticks leave out what a process has used of the next tick: with hundreds of
            // processes that is most of it. Threads that have ended are only in the ticks.
            let own = (ticks.user + ticks.system) as f64 * tick;
            usage.cpu += f64::max(own, exact as f64 / 1e9) + ticks.of_ended as f64 * tick;
            usage.memory += alone * page;
            usage.count += 1;
            shared = of_others.max(shared);
        }
    }
    usage.memory += shared * page;
    usage
}

/// Ticks of a process.
#[derive(Debug, PartialEq, Eq)]
struct Ticks {
    user: u64,
    system: u64,
    /// In both modes, of children that have ended.
    of_ended: u64,
}

impl Ticks {
    fn of(stat: &str) -> Option<Ticks> {
        // The name, in parentheses, may hold blanks and parentheses.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut times = fields.split_whitespace().skip(11).map(str::parse::<u64>);
        let mut next = || times.next()?.ok();
        Some(Ticks { user: next()?, system: next()?, of_ended: next()? + next()? })
    }
}

/// Time on a processor, of a thread that has not ended.
fn nanoseconds(pid: u32, thread: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Pages of its own, and pages that it shares with others.
fn pages(statm: &str) -> Option<(u64, u64)> {
    let mut fields = statm.split_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some((resident.saturating_sub(shared), shared))
}

/// Processor time that processes have used so far, by thread.
#[derive(Clone, Debug, Default)]
pub struct Used {
    nanoseconds: u64,
    /// Ticks in user code and in the kernel, of the whole processes.
    user: u64,
    system: u64,
    threads: BTreeSet<u32>,
}

/// Processor time of a stretch.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spent {
    /// Of all threads.
    pub nanoseconds: u64,
    /// Share of it in the kernel; coarse, the kernel counts it in ticks of 10 ms.
    pub system_share: f64,
}

impl Used {
    /// Read the counters of these processes.
    ///
    /// # Errors
    ///
    /// When one of them has ended.
    pub fn by(pids: &[u32]) -> Result<Used> {
        let mut used = Used::default();
        for &pid in pids {
            for thread in threads(pid) {
                // A thread may end between the listing and here; `since` notices.
                if let Some(time) = nanoseconds(pid, thread) {
                    used.nanoseconds += time;
                    used.threads.insert(thread);
                }
            }
            let file = format!("/proc/{pid}/stat");
            let text = fs::read_to_string(&file)
                .map_err(|e| Error(format!("cannot read {file}: {e}; did the server end?")))?;
            let ticks =
                Ticks::of(&text).ok_or_else(|| Error(format!("{file} is not understood")))?;
            used.user += ticks.user;
            used.system += ticks.system;
        }
        Ok(used)
    }

    /// What was used since then; `None` if a thread ended and took its count with it.
    pub fn since(&self, before: &Used) -> Option<Spent> {
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
pub struct Memory {
    /// Private pages that are in no file.
    pub anonymous: u64,
    /// Resident pages, shared ones in proportion.
    pub proportional: u64,
}

/// Memory of these processes at this moment.
///
/// # Errors
///
/// When one of them has ended.
pub fn memory(pids: &[u32]) -> Result<Memory> {
    let mut memory = Memory::default();
    for pid in pids {
        memory.anonymous += kilobytes(&format!("/proc/{pid}/status"), "RssAnon:")? * 1024;
        memory.proportional += kilobytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:")? * 1024;
    }
    Ok(memory)
}

fn kilobytes(file: &str, name: &str) -> Result<u64> {
    let text = fs::read_to_string(file).map_err(|e| Error(format!("cannot read {file}: {e}")))?;
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    let number = value.and_then(|value| value.split_ascii_whitespace().next()?.parse().ok());
    number.ok_or_else(|| Error(format!("{file} has no {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_the_name_whatever_it_is() {
        let stat = "7 (a) (b c) S 1 7 7 0 -1 4194560 100 0 0 0 5 6 7 8 20 0 1 0 99";
        assert_eq!(Ticks::of(stat), Some(Ticks { user: 5, system: 6, of_ended: 15 }));
        assert_eq!(Ticks::of("7 (a"), None);
        assert_eq!(pages("900 50 20 1 0 5 0"), Some((30, 20)));
    }

    #[test]
    fn a_process_and_its_child_are_two() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "cat; true"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let pid = child.id();
        // The shell starts `cat` when it gets to it.
        let count = loop {
            let usage = usage(pid);
            if usage.count != 1 || child.try_wait().expect("a child").is_some() {
                break usage.count;
            }
            std::thread::yield_now();
        };
        drop(child.stdin.take());
        child.wait().expect("a child");
        assert_eq!(count, 2);
        assert!(usage(std::process::id()).cpu > 0.0);
    }

    #[test]
    fn this_process_has_used_time_and_memory() {
        let own = family(std::process::id());
        assert_eq!(own[0], std::process::id());
        let before = Used::by(&own[..1]).expect("it runs");
        let mut sum = 0u64;
        while Used::by(&own[..1]).expect("it runs").nanoseconds == before.nanoseconds {
            (0..100_000).for_each(|i| sum = std::hint::black_box(sum ^ i));
        }
        let memory = memory(&own[..1]).expect("it runs");
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
