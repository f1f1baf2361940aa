//! What /proc says of processes and their tasks: which there are, whether they may be watched, and what a
//! task does at this moment. Both sources begin with it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};

use weir_peers::processes::{family, threads};
use weir_peers::{Error, Result};

use crate::event::{Call, Inside, State};
use crate::width::is_narrow;

/// `PF_KTHREAD` of the kernel's include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// `PF_EXITING` there.
const EXITING: u64 = 0x4;

/// An error if this process cannot be watched.
///
/// # Errors
///
/// There is no such process; it is a thread, one of the kernel's, another user's, a 32-bit program, or
/// this one.
pub(crate) fn check(pid: u32) -> Result<()> {
    if pid == std::process::id() {
        return Err(Error(format!("process {pid} is this program itself; name a server")));
    }
    let status = fs::read_to_string(format!("/proc/{pid}/status"));
    let status = status.map_err(|e| missing(pid, &e))?;
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:")).map(str::trim);
    if let Some(group) = group.filter(|group| *group != pid.to_string()) {
        return Err(Error(format!("{pid} is a thread of process {group}; name that")));
    }
    let stat = Stat::of(pid).map_err(|e| missing(pid, &e))?;
    if stat.is_some_and(|stat| stat.flags & KERNEL_THREAD != 0) {
        return Err(Error(format!("process {pid} is a thread of the kernel; name a server")));
    }
    // The file is there on all kernels that matter, and only for who may trace the process.
    match fs::read(format!("/proc/{pid}/syscall")) {
        Err(e) if matches!(e.kind(), ErrorKind::PermissionDenied) => Err(Error(format!(
            "process {pid} cannot be watched by this user ({e}): run this as root, \
             or as the user of the process if the kernel lets it"
        ))),
        _ if is_narrow(pid) => Err(Error(format!(
            "process {pid} runs a 32-bit program, whose system calls have other numbers and would \
             be named wrongly: watch a 64-bit build of it"
        ))),
        _ => Ok(()),
    }
}

fn missing(pid: u32, error: &io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error(format!("there is no process {pid}; see ps or pgrep")),
        _ => Error(format!("cannot read /proc/{pid}: {error}")),
    }
}

/// All tasks of these processes and of those that they have started, without this program's.
pub(crate) fn all(pids: &[u32]) -> Vec<u32> {
    let own = std::process::id();
    let mut processes: Vec<u32> = pids.iter().flat_map(|&pid| family(pid)).collect();
    processes.sort_unstable();
    processes.dedup();
    processes.into_iter().filter(|pid| *pid != own).flat_map(threads).collect()
}

/// The tasks beside `known`: of these processes and the known ones, and of what these have started.
pub(crate) fn others(pids: &[u32], known: &BTreeSet<u32>) -> Vec<u32> {
    let mut found: BTreeSet<u32> = all(pids).into_iter().collect();
    for &task in known {
        // Its parent has ended, so nothing leads to it and its children.
        if !found.contains(&task) {
            found.extend(all(&[task]));
        }
    }
    found.into_iter().filter(|task| !known.contains(task) && look(*task).is_some()).collect()
}

/// What a task does at this moment; none if it ends or has ended, or is not ours to look at.
pub(crate) fn look(task: u32) -> Option<(State, Inside)> {
    look_at_life(task).map(|(_, state, inside)| (state, inside))
}

/// The same, after when the task was started, in ticks of the kernel: another may have its number later.
pub(crate) fn look_at_life(task: u32) -> Option<(u64, State, Inside)> {
    let stat = Stat::of(task).ok()??;
    let state = stat.state?;
    let call = fs::read_to_string(format!("/proc/{task}/syscall")).unwrap_or_default();
    Some((stat.started, state, inside(&call)))
}

/// The fields of `/proc/…/stat` that are used.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    /// None once it ends.
    state: Option<State>,
    flags: u64,
    /// In ticks of the kernel since the machine was.
    started: u64,
}

impl Stat {
    fn of(task: u32) -> io::Result<Option<Stat>> {
        Ok(Stat::parse(&fs::read_to_string(format!("/proc/{task}/stat"))?))
    }

    fn parse(text: &str) -> Option<Stat> {
        // The name, in parentheses, may hold blanks and parentheses.
        let (_, fields) = text.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let state = match fields.next()? {
            "R" => Some(State::Runnable),
            "D" => Some(State::Uninterruptible),
            "X" | "Z" => None,
            _ => Some(State::Interruptible),
        };
        let flags: u64 = fields.nth(5)?.parse().ok()?;
        let started = fields.nth(12)?.parse().ok()?;
        // The kernel has told its end by then, and tells no other.
        Some(Stat { state: state.filter(|_| flags & EXITING == 0), flags, started })
    }
}

/// The call and its six arguments, of a task that sleeps: `0 0x3 0x7f… 0x20000 …`.
fn inside(text: &str) -> Inside {
    let mut words = text.split_whitespace();
    let number = words.next().and_then(|word| word.parse::<i64>().ok());
    let hexadecimal = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let arguments: Vec<u64> = words.map_while(hexadecimal).take(6).collect();
    match (number, <[u64; 6]>::try_from(arguments)) {
        (Some(-1), _) => Inside::Program,
        (Some(number), Ok(arguments)) => Inside::Call(Call { number, arguments }),
        // It runs.
        _ => Inside::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_and_its_call_are_taken_apart() {
        let stat = "7 (a) (b c) D 1 7 7 0 -1 4194560 100 0 0 0 1 2 3 4 20 0 1 0 4711 9";
        let found = Stat { state: Some(State::Uninterruptible), flags: 4_194_560, started: 4711 };
        assert_eq!(Stat::parse(stat), Some(found));
        assert_eq!(Stat::parse("7 (a"), None);
        let ends = "7 (a) R 1 7 7 0 -1 4194564 100 0 0 0 1 2 3 4 20 0 1 0 4711 9";
        let found = Stat { state: None, flags: 4_194_564, started: 4711 };
        assert_eq!(Stat::parse(ends), Some(found));
        let call = Call { number: 257, arguments: [0xffff_ff9c, 0x7f00, 0, 0, 0, 0xa] };
        let text = "257 0xffffff9c 0x7f00 0x0 0x0 0x0 0xa 0x7ffd 0x7fc1\n";
        assert_eq!(inside(text), Inside::Call(call));
        assert_eq!(inside("-1 0x7ffd 0x7fc1\n"), Inside::Program);
        assert_eq!(inside("running\n"), Inside::Unknown);
        assert_eq!(inside("257 0x1"), Inside::Unknown);
    }

    #[test]
    fn what_cannot_be_watched_is_refused_with_the_reason() {
        let refused = |pid| check(pid).unwrap_err().to_string();
        assert!(refused(std::process::id()).contains("itself"));
        assert!(refused(u32::MAX).contains("no process"));
        // A test has a thread beside that of the program.
        let own = std::process::id();
        let thread = threads(own).into_iter().find(|thread| *thread != own).unwrap();
        assert!(refused(thread).contains(&format!("a thread of process {own}")));
        assert!(refused(2).contains("kernel"), "process 2 is kthreadd where this is no container");
    }

    #[test]
    fn a_sleeping_child_sleeps_in_a_call() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let found = loop {
            match look(child.id()) {
                Some((State::Interruptible, Inside::Call(call))) => break call,
                Some(_) => std::thread::yield_now(),
                None => panic!("it has ended"),
            }
        };
        assert!(crate::calls::about(found.number).name.contains("nanosleep"), "{found:?}");
        let pids = [child.id()];
        assert_eq!(all(&pids), pids);
        assert_eq!(others(&pids, &BTreeSet::new()), pids);
        assert!(others(&[], &BTreeSet::from(pids)).is_empty());
        check(child.id()).unwrap();
        child.kill().unwrap();
        // It stays in /proc until it is waited for, and is no task any more.
        while look(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(others(&pids, &BTreeSet::new()).is_empty());
        child.wait().unwrap();
    }
}
