//! How many file descriptors the process may have, and for whom the last of them are reserved. Used
//! wherever a descriptor is opened on behalf of a client: connections, files, connections to backends.
//!
//! A new descriptor has the lowest number that is free (POSIX, open()), so its number tells without a
//! count how many are open at least.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::sys::clock;

/// Descriptors for which the kernel has room from the start (8 bytes each), unless the limit is lower.
const ROOM: usize = 65_536;

/// The most descriptors that are reserved for files and backends (a quarter of all otherwise).
const RESERVE: usize = 1024;

/// The most of these that are reserved for the admin address (an eighth of all otherwise).
const LAST: usize = 32;

/// A shortage is not logged again within this time.
const QUIET: Duration = Duration::from_secs(60);

/// The lowest descriptor of the reserve, and of the part for the admin address.
static RESERVED_FROM: AtomicI32 = AtomicI32::new(i32::MAX);
static LAST_FROM: AtomicI32 = AtomicI32::new(i32::MAX);

/// How often descriptors were found to be short.
static SHORTAGES: AtomicU64 = AtomicU64::new(0);

/// When that was logged last, in nanoseconds of the clock; 0: never.
static TOLD: AtomicU64 = AtomicU64::new(0);

/// Raises the limit as far as the process itself may (the hard limit), and divides it. To be called while
/// the process has one thread.
pub(crate) fn raise_limit() {
    let now = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: now.maximum, maximum: now.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!("the limit of open file descriptors stays at {:?}: {error}", now.current);
    }
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let all = limit();
    if let Err(error) = make_room(number(all.min(ROOM)) - 1) {
        tracing::debug!("the kernel's table of descriptors grows as it is needed: {error}");
    }
    RESERVED_FROM.store(number(all - reserve(all)), Ordering::Relaxed);
    LAST_FROM.store(number(all - last(all)), Ordering::Relaxed);
}

/// Has the kernel make its table of descriptors as large as `highest` needs. Where threads share the
/// table, each time it grows later, whoever opens the descriptor waits for an RCU grace period
/// (`expand_fdtable` in the kernel's fs/file.c): a worker that accepts a connection, too. What that costs is
/// in docs/performance.md, "Compression".
fn make_room(highest: i32) -> Result<(), Errno> {
    let any = open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    fcntl_dupfd_cloexec(&any, highest).map(drop)
}

/// Descriptors the process may have.
pub(crate) fn limit() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// The most connections of the admin address: half of what is reserved for it, since it opens files,
/// too.
pub(crate) fn admin_connections() -> usize {
    (last(limit()) / 2).max(1)
}

fn reserve(all: usize) -> usize {
    (all / 4).min(RESERVE)
}

fn last(all: usize) -> usize {
    (all / 8).min(LAST)
}

/// How many descriptors of the reserve are in use at least, seen from one that was just opened; 0 if it
/// is not of the reserve. Anything else is a shortage.
pub(crate) fn taken_of_reserve(opened: impl AsFd) -> usize {
    let over = opened.as_fd().as_raw_fd() - RESERVED_FROM.load(Ordering::Relaxed) + 1;
    let taken = usize::try_from(over).unwrap_or(0);
    if taken > 0 {
        note_shortage();
    }
    taken
}

/// Whether a descriptor that was just opened is reserved for the admin address: all others must close
/// it again.
pub(crate) fn is_last(opened: impl AsFd) -> bool {
    taken_of_reserve(&opened) > 0 && opened.as_fd().as_raw_fd() >= LAST_FROM.load(Ordering::Relaxed)
}

/// Moves `opened`, which is of the reserve, to a number below it, if one is free: then the shortage is
/// over. Otherwise returns it as it was.
pub(crate) fn out_of_reserve(opened: OwnedFd) -> Result<OwnedFd, OwnedFd> {
    match fcntl_dupfd_cloexec(&opened, 0) {
        Ok(lower) if taken_of_reserve(&lower) == 0 => Ok(lower),
        _ => Err(opened),
    }
}

/// The error of an operation for which no descriptor is left.
pub(crate) fn none_left() -> io::Error {
    Errno::MFILE.into()
}

/// Whether `error` is a shortage on this host (no descriptor, port or memory is left), so that it says
/// nothing of the peer.
pub(crate) fn is_own(error: &io::Error) -> bool {
    let own = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::ADDRNOTAVAIL];
    Errno::from_io_error(error).is_some_and(|error| own.contains(&error))
}

/// Descriptors are short: all workers close idle connections.
pub(crate) fn note_shortage() {
    SHORTAGES.fetch_add(1, Ordering::Relaxed);
    let now = clock::now().as_nanos().max(1);
    let told = TOLD.load(Ordering::Relaxed);
    let is_quiet = told > 0 && now.saturating_sub(told) < QUIET.as_nanos() as u64;
    let is_mine = || TOLD.compare_exchange(told, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if !is_quiet && is_mine() {
        tracing::warn!(
            "file descriptors are short ({} may be open): idle connections are closed, \
             then no more are accepted; raise the limit (LimitNOFILE=, ulimit -n)",
            limit()
        );
    }
}

/// The shortages that a worker has seen.
#[derive(Debug, Default)]
pub(crate) struct Shortages(u64);

impl Shortages {
    /// Whether there was one since the last time.
    pub(crate) fn is_new(&mut self) -> bool {
        let now = SHORTAGES.load(Ordering::Relaxed);
        std::mem::replace(&mut self.0, now) != now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_leaves_some_to_each() {
        for all in [16, 40, 64, 100, 256, 1024, 20_000, 1_048_576, usize::MAX] {
            let (reserve, last) = (reserve(all), last(all));
            assert!(0 < last && last < reserve && reserve <= all / 4, "{all}: {reserve}, {last}");
        }
    }

    #[test]
    fn the_kernel_makes_room_at_once() {
        let room = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
            line.unwrap().trim().parse::<i32>().unwrap()
        };
        let highest = room();
        if make_room(highest) == Err(Errno::INVAL) {
            // The limit is lower, so there is room for all.
            assert!(limit() <= highest as usize);
            return;
        }
        assert!(room() > highest);
    }

    #[test]
    fn what_is_short_here_is_no_fault_of_others() {
        for (error, own) in [
            (Errno::MFILE, true),
            (Errno::ADDRNOTAVAIL, true),
            (Errno::CONNREFUSED, false),
            (Errno::TIMEDOUT, false),
        ] {
            assert_eq!(is_own(&error.into()), own, "{error}");
        }
        assert!(!is_own(&io::ErrorKind::TimedOut.into()));
    }
}
