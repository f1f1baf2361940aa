//! What the kernel says of listen queues. Read by the admin address when figures are asked for, from copies
//! of the sockets that the server keeps while it listens.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};

use crate::sys;

/// A copy of a listening socket of a worker. While it is open, the kernel goes on listening.
#[derive(Debug)]
pub(crate) struct Watched {
    /// The number of its address.
    pub(crate) id: u64,
    pub(crate) socket: OwnedFd,
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Copies of all listening sockets of the workers.
pub(crate) type WatchedSockets = Arc<Mutex<Vec<Watched>>>;

/// Connections that wait to be accepted at `listeners`.
pub(crate) fn listen_queue<S: AsFd>(listeners: &[S]) -> i64 {
    listeners
        .iter()
        .filter_map(|listener| sys::tcp_info(listener).ok())
        .map(|info| i64::from(info.unacked))
        .sum()
}

/// Connections dropped because a listen queue of this network namespace was full, since it began.
pub(crate) fn listen_overflows() -> Option<u64> {
    overflows_in(&std::fs::read_to_string("/proc/self/net/netstat").ok()?)
}

fn overflows_in(netstat: &str) -> Option<u64> {
    let mut lines = netstat.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|name| name == "ListenOverflows")?;
    values.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_is_found_by_name() {
        let text = "IpExt: A\nIpExt: 1\nTcpExt: X ListenOverflows Y\nTcpExt: 1 42 3\n";
        assert_eq!(overflows_in(text), Some(42));
        assert_eq!(overflows_in("TcpExt: X\nTcpExt: 1\n"), None);
        assert!(listen_overflows().is_some());
    }
}
