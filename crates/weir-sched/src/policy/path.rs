//! How long a way to a client keeps its response from using the link. It knows no order.

use super::Path;
use crate::pacer::BitRate;

impl Path {
    /// Bytes that a link of `rate` carries while `left` bytes wait for acknowledgements, sent as soon
    /// as the window takes them and on a link of their own. The window doubles with each round
    /// trip until it takes all that the link carries in one (slow start, RFC 5681 section 3.1).
    pub(super) fn waits(self, rate: BitRate, left: u64) -> u64 {
        let trip = rate.bytes_in(self.round_trip);
        let (mut window, mut left, mut waits) = (self.window.max(1), left, 0);
        while left > window && window < trip {
            waits += trip - window;
            left -= window;
            window *= 2;
        }
        waits
    }
}
