//! How many bytes the kernel keeps unsent for a connection (TCP_NOTSENT_LOWAT): few for a slow client,
//! whose rest stays in the file; many for a fast one, for which acknowledgements then send most packets,
//! and the worker is woken for megabytes at a time. `send` adapts it where no uplink's gate decides what
//! is sent next; `listen` sets what connections begin with.

use std::cell::Cell;
use std::time::Duration;

use super::socket::Socket;

/// Bytes that connections begin with: 0.2 ms at 10 Gbit/s.
pub(crate) const FIRST_UNSENT: u32 = 256 * 1024;

/// Bytes for a large response until its client is known to be fast. Of ten thousand that stop reading this is
/// 640 MB. The kernel gives all connections some gigabytes (net.ipv4.tcp_mem), and drops packets of everybody
/// beyond.
const LEAST: u32 = 64 * 1024;

/// Bytes for the fastest clients: a send buffer as large as the kernel makes it by default
/// (net.ipv4.tcp_wmem).
const MOST: u32 = 4 * 1024 * 1024;

/// A client that makes room in less time gets twice as much, up to [`MOST`]. The kernel tells of room
/// when half of the bytes have been sent, so a client at 5 Mbit/s or less stays with [`LEAST`].
const QUICK: Duration = Duration::from_millis(50);

/// A client that takes longer to make room gets half as much: nobody keeps more than 0.4 s at his own
/// speed, so that all clients together keep no more than the network carries in that time, and
/// [`LEAST`] each.
const SLOW: Duration = Duration::from_millis(200);

/// The bytes that the kernel may keep unsent for one connection; `None`: those that it began with.
#[derive(Debug, Default)]
pub(crate) struct Unsent(Cell<Option<u32>>);

impl Unsent {
    /// A response of `left` bytes begins.
    pub(crate) fn begin(&self, socket: &Socket, left: u64) {
        if left > u64::from(LEAST) && self.0.get().is_none() {
            self.limit(socket, LEAST);
        }
    }

    /// `socket` was full and has made room after `wait`.
    pub(crate) fn adapt(&self, socket: &Socket, wait: Duration) {
        let bytes = self.0.get().unwrap_or(FIRST_UNSENT);
        let next = next(bytes, wait);
        if next != bytes {
            self.limit(socket, next);
        }
    }

    fn limit(&self, socket: &Socket, bytes: u32) {
        self.0.set(Some(bytes));
        // A socket that is not TCP's has no such limit.
        let _ = socket.limit_unsent(bytes);
    }
}

/// What a connection gets that had `bytes` and made room after `wait`.
fn next(bytes: u32, wait: Duration) -> u32 {
    match wait {
        quick if quick < QUICK => (bytes * 2).min(MOST),
        slow if slow > SLOW => (bytes / 2).max(LEAST),
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client that takes so many bytes a second ends with.
    fn settled(rate: f64, mut bytes: u32) -> u32 {
        for _ in 0..20 {
            bytes = next(bytes, Duration::from_secs_f64(f64::from(bytes / 2) / rate));
        }
        bytes
    }

    #[test]
    fn slow_clients_have_little_and_fast_ones_much() {
        for before in [LEAST, MOST] {
            assert_eq!(settled(1e5, before), LEAST);
            assert_eq!(settled(1e9, before), MOST);
        }
        for rate in [1e6, 3e6, 1e7, 3e7] {
            let bytes = f64::from(settled(rate, MOST));
            assert!(bytes <= f64::from(LEAST).max(0.4 * rate), "{rate}: {bytes}");
        }
    }
}
