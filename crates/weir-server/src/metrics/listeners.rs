//! What the kernel says of listen queues. Read by the admin address when figures are asked for.

use std::os::fd::AsFd;

use crate::sys;

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
