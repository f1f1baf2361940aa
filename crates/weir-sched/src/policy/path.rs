//! How long a way to a client keeps its response from using the link. It knows no order.

use std::time::Duration;

use super::Path;
use weir_units::BitRate;

impl Path {
    /// Bytes that a link of `rate` carries while `left` bytes wait for acknowledgements, sent as soon
    /// as the window takes them and on a link of their own. The window doubles with each round
    /// trip until it takes all that the link carries in one (slow start, RFC 5681 section 3.1).
    pub(super) fn waits(self, rate: BitRate, left: u64) -> u64 {
        let trip = rate.bytes_in(self.round_trip);
        self.short_windows(trip, left).map(|window| trip - window).sum()
    }

    /// How long that is at most, whoever else uses the link.
    pub(crate) fn longest_wait(self, rate: BitRate, left: u64) -> Duration {
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
