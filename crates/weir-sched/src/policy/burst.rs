//! The least left to send first, but of a response that will wait for acknowledgements only its window
//! counts, where that wait is worth more than what it costs the others. The rule is our own. Chosen
//! by name, and inside `protective`.
//!
//! Let a response on a link that carries t bytes in its round trip have a window of w < t bytes. If its
//! burst of w goes first, each of the k others ends w later. The wait of t − w that follows passes
//! while the others are sent, and the response itself ends up to t − w earlier. So the burst is worth it
//! if t − w > k·w, and if there is more than w to send of the one that it overtakes: the key is w
//! then, and what is left otherwise. Where windows are open a round trip adds the same time after the
//! last byte whatever the order, and least left has the least mean (Schrage 1968).
//!
//! The others are counted when the key is asked for: when the response becomes ready, is sent or has
//! another path. One that waits keeps its key while others arrive or leave, as it does under every
//! rule: its window may still count when many others have arrived, and not yet when few are left. To
//! count exactly would be to rank all anew at every arrival.

use super::ranked::{Facts, Ranked, Rule};
use super::{Choice, Descriptor, Needs, PolicyKind};
use weir_units::BitRate;

/// See the module.
pub const BURST: PolicyKind = PolicyKind::new(&Descriptor {
    name: "burst",
    help: "the least left first, or the least window where few wait and the round trip is long",
    // The key of a response changes with its window, and with how many there are when it is sent.
    needs: Needs { path_updates: true, choice: Choice::Grant, ..Needs::SIZES },
    build: |rate| Box::new(Ranked::new(Burst::on_a_link_of(rate))),
});

/// How many times its cost a burst must save. Those who arrive meanwhile come before it, and whoever
/// leaves a wait to others may find that nobody has a window for it: not every wait is used. Of
/// 1, 2, 3, 4 and 6, the least at which the mean in overload was that of least left, in 15 simulated
/// cells: W1, W3, W4, W5 and W8, three seeds each.
const WORTH: u64 = 3;

#[derive(Debug)]
pub(super) struct Burst {
    rate: BitRate,
    /// Responses that arrived and did not depart, blocked ones too.
    present: u64,
}

impl Burst {
    pub(super) fn on_a_link_of(rate: BitRate) -> Burst {
        Burst { rate, present: 0 }
    }
}

impl Rule for Burst {
    /// Bytes.
    type Key = u64;

    fn arrives(&mut self, _size: u64) {
        self.present += 1;
    }

    fn departs(&mut self) {
        self.present = self.present.saturating_sub(1);
    }

    fn key(&self, job: &Facts) -> u64 {
        let (window, trip) = (job.path.window, self.rate.bytes_in(job.path.round_trip));
        // An unknown window is zero.
        if window == 0 || job.remaining <= window {
            return job.remaining;
        }
        let others = self.present.saturating_sub(1).max(1);
        let cost = window.saturating_mul(others);
        if trip.saturating_sub(window) > cost.saturating_mul(WORTH) { window } else { job.remaining }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Path;
    use std::time::Duration;

    /// On a link of 1 MB/s with `present` responses, one of which has `remaining` bytes.
    fn key(present: u64, remaining: u64, window: u64, round_trip_ms: u64) -> u64 {
        let mut burst = Burst::on_a_link_of(BitRate::new(8_000_000).expect("not zero"));
        (0..present).for_each(|_| burst.arrives(remaining));
        let round_trip = Duration::from_millis(round_trip_ms);
        let path = Path { round_trip, window, window_credit: window };
        burst.key(&Facts { remaining, path, ..Facts::default() })
    }

    #[test]
    fn a_burst_counts_if_its_wait_is_worth_three_times_what_it_costs_the_others() {
        // The wait is 100 - 14 KB, and the cost 14 KB for each of the others.
        assert_eq!(key(2, 50_000, 14_000, 100), 14_000);
        assert_eq!(key(3, 50_000, 14_000, 100), 14_000);
        assert_eq!(key(4, 50_000, 14_000, 100), 50_000);
        assert_eq!(key(4, 50_000, 14_000, 250), 14_000);
        assert_eq!(key(2, 50_000, 30_000, 100), 50_000);
    }

    #[test]
    fn what_fits_the_window_counts_as_what_is_left() {
        assert_eq!(key(2, 5_000, 14_000, 100), 5_000);
        assert_eq!(key(2, 14_000, 14_000, 100), 14_000);
    }

    #[test]
    fn an_open_or_unknown_window_leaves_what_is_left() {
        assert_eq!(key(2, 500_000, 100_000, 100), 500_000);
        assert_eq!(key(2, 500_000, 0, 100), 500_000);
        assert_eq!(key(2, 500_000, 14_000, 0), 500_000);
    }

    #[test]
    fn who_departed_costs_nothing() {
        let mut burst = Burst::on_a_link_of(BitRate::new(8_000_000).expect("not zero"));
        let path =
            Path { round_trip: Duration::from_millis(100), window: 14_000, window_credit: 14_000 };
        let facts = Facts { remaining: 50_000, path, ..Facts::default() };
        (0..10).for_each(|_| burst.arrives(50_000));
        assert_eq!(burst.key(&facts), 50_000);
        (0..8).for_each(|_| burst.departs());
        assert_eq!(burst.key(&facts), 14_000);
    }
}
