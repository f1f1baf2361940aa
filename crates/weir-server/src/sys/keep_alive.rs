//! Keep-alive probes of TCP: a peer that has silently vanished is noticed. Set on listening sockets,
//! whose connections inherit them, and on connections to backends.

use std::time::Duration;

use socket2::TcpKeepalive;

/// Probes of a connection on which nothing happens, so that it is given up after about `patience` if
/// nobody answers. The kernel counts in seconds, up to 32,767 (tcp(7)).
pub(crate) fn keep_alive(patience: Duration) -> TcpKeepalive {
    let (least, most) = (Duration::from_secs(1), Duration::from_secs(32_767));
    TcpKeepalive::new()
        .with_time((patience / 2).clamp(least, most))
        .with_interval((patience / 8).clamp(least, most))
        .with_retries(4)
}
