//! The path to a client, and how long it keeps a response from using the link. Used by every policy
//! that looks at paths, by the shares of the virtual fair server, and by those who tell the gate of
//! paths.

use std::time::Duration;

use weir_units::BitRate;

/// What is known of the path to a client, as its sender sees it: the server takes it from TCP_INFO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Time to the client and back; zero: nothing is ever waited for.
    pub round_trip: Duration,
    /// Bytes that may be under way at once before the window opens further (the congestion window).
    pub window: u64,
    /// Bytes of that window which may be sent at once: the window less what is under way or still
    /// queued in the socket. Zero: the window is full, or nothing is known. It is what it was when
    /// the gate was told; what was granted since then is not taken from it.
    pub window_credit: u64,
}

impl Path {
    /// Bytes that a link of `rate` carries while `left` bytes wait for acknowledgements, sent as soon
    /// as the window takes them and on a link of their own. The window doubles with each round
    /// trip until it takes all that the link carries in one (slow start, RFC 5681 section 3.1).
    pub(super) fn slow_start_bytes(self, rate: BitRate, left: u64) -> u64 {
        let trip = rate.bytes_in(self.round_trip);
        self.short_windows(trip, left).map(|window| trip - window).sum()
    }

    /// How long that is at most, whoever else uses the link.
    pub(crate) fn slow_start_time(self, rate: BitRate, left: u64) -> Duration {
        let trip = rate.bytes_in(self.round_trip);
        self.round_trip * self.short_windows(trip, left).count() as u32
    }

    /// The windows that keep the link waiting.
    fn short_windows(self, trip: u64, left: u64) -> impl Iterator<Item = u64> {
        let (mut window, mut left) = (self.window.max(1), left);
        std::iter::from_fn(move || {
            let short = (left > window && window < trip).then_some(window)?;
            left -= window;
            window *= 2;
            Some(short)
        })
    }
}
