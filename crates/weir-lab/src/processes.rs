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
    let tick = rustix::param::clock_ticks_per_second() as f64;
    let page = rustix::param::page_size() as u64;
    let mut usage = Usage::default();
    let mut shared = 0;
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
        let (Ok(stat), Ok(memory)) = (read("stat"), read("statm")) else { continue };
        if let (Some(ticks), Some((own, of_others))) = (ticks(&stat), pages(&memory)) {
            usage.cpu += ticks as f64 / tick;
            usage.memory += own * page;
            usage.count += 1;
            shared = of_others.max(shared);
        }
        for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            open.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    usage.memory += shared * page;
    usage
}

/// Time in user and kernel mode, of the process and of its children that have ended.
fn ticks(stat: &str) -> Option<u64> {
    // The name, in parentheses, may hold blanks and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let times: Vec<u64> =
        fields.split_whitespace().skip(11).take(4).map_while(|field| field.parse().ok()).collect();
    (times.len() == 4).then(|| times.iter().sum())
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
        assert_eq!(ticks(stat), Some(26));
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
    }
}
