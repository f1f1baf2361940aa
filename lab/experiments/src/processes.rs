//! Processor time and memory of a server: its first process and all that it started, from /proc. It
//! does not know what they do.

use std::fs;

/// What the processes of a server have used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Processor seconds, of processes that have ended too.
    pub(crate) cpu: f64,
    /// Bytes of memory: each process's own, and the most that one shares with others.
    pub(crate) memory: u64,
    /// Processes.
    pub(crate) count: u32,
}

/// What the process `root` and its descendants use now. Processes that end meanwhile are left out.
pub(crate) fn usage(root: u32) -> Usage {
    let tick = 1.0 / rustix::param::clock_ticks_per_second() as f64;
    let page = rustix::param::page_size() as u64;
    let mut usage = Usage::default();
    let mut shared = 0;
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
        let (Ok(stat), Ok(memory)) = (read("stat"), read("statm")) else { continue };
        let (mut exact, mut threads) = (0, fs::read_dir(format!("/proc/{pid}/task")).ok());
        for thread in threads.iter_mut().flatten().flatten() {
            let read = |file: &str| fs::read_to_string(thread.path().join(file));
            exact += nanoseconds(&read("schedstat").unwrap_or_default());
            let children = read("children").unwrap_or_default();
            open.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        if let (Some((own, ended)), Some((alone, of_others))) = (ticks(&stat), pages(&memory)) {
            // Ticks leave out what a process has used of the next tick: with hundreds of
            // processes that is most of it. Threads that have ended are only in the ticks.
            usage.cpu += f64::max(own as f64 * tick, exact as f64 / 1e9) + ended as f64 * tick;
            usage.memory += alone * page;
            usage.count += 1;
            shared = of_others.max(shared);
        }
    }
    usage.memory += shared * page;
    usage
}

/// Ticks in user and kernel mode, of the process and of its children that have ended.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    // The name, in parentheses, may hold blanks and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).map(str::parse::<u64>);
    let mut both = || Some(times.next()?.ok()? + times.next()?.ok()?);
    Some((both()?, both()?))
}

/// Time on a processor, of a thread.
fn nanoseconds(schedstat: &str) -> u64 {
    schedstat.split_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// Pages of its own, and pages that it shares with others.
fn pages(statm: &str) -> Option<(u64, u64)> {
    let mut fields = statm.split_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some((resident.saturating_sub(shared), shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_the_name_whatever_it_is() {
        let stat = "7 (a) (b c) S 1 7 7 0 -1 4194560 100 0 0 0 5 6 7 8 20 0 1 0 99";
        assert_eq!(ticks(stat), Some((11, 15)));
        assert_eq!((nanoseconds("123 4 5\n"), nanoseconds("")), (123, 0));
        assert_eq!(ticks("7 (a"), None);
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
}
