//! The orders that may stand for least remaining size inside `protective`: each goes first by its own
//! rule unless somebody would then finish later than under fair sharing. What the promise counts is the same
//! for all. The setting `protective_order` chooses one, and the simulator takes them by name.

use super::{NEEDS, PROTECTIVE, Protective};
use crate::policy::burst::Burst;
use crate::policy::srrt::Srrt;
use crate::policy::swift::{Swift, SwiftChoices};
use crate::policy::{Choice, Descriptor, Needs, PolicyKind};

weir_units::choice! {
    /// The order among those who may go.
    pub enum ProtectiveOrder, "an order inside protective", default Srpt {
        /// The least left to send.
        Srpt = "srpt",
        /// The least left times round trip by congestion window: the near before the far.
        Srrt = "srrt",
        /// The least left, or the least window where few wait and the round trip is long.
        Burst = "burst",
        /// 16 priorities by what is left and the round trip.
        Swift = "swift",
    }
}

impl ProtectiveOrder {
    /// The policy that it is part of.
    pub fn policy(self) -> PolicyKind {
        match self {
            ProtectiveOrder::Srpt => PROTECTIVE,
            ProtectiveOrder::Srrt => SRRT,
            ProtectiveOrder::Burst => BURST,
            ProtectiveOrder::Swift => SWIFT,
        }
    }
}

/// `protective` over each order but its own.
pub(in crate::policy) const ORDERS: &[PolicyKind] = &[SRRT, BURST, SWIFT];

const SRRT: PolicyKind = PolicyKind::new(&Descriptor {
    name: "protective/srrt",
    help: "srrt, unless somebody would then finish later than under fair sharing",
    needs: Needs { path_updates: true, ..NEEDS },
    build: |rate| Box::new(Protective::on_a_link_of(rate, Srrt)),
});

const BURST: PolicyKind = PolicyKind::new(&Descriptor {
    name: "protective/burst",
    help: "burst, unless somebody would then finish later than under fair sharing",
    needs: Needs { path_updates: true, choice: Choice::Grant, ..NEEDS },
    build: |rate| Box::new(Protective::on_a_link_of(rate, Burst::on_a_link_of(rate))),
});

const SWIFT: PolicyKind = PolicyKind::new(&Descriptor {
    name: "protective/swift",
    help: "swift, unless somebody would then finish later than under fair sharing",
    needs: Needs { bytes: true, choice: Choice::Grant, ..NEEDS },
    build: |rate| Box::new(Protective::on_a_link_of(rate, Swift::new(SwiftChoices::PAPER))),
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Arrival, FairState, Policy};
    use crate::virtual_fair::VirtualFair;
    use crate::{BitRate, Path, Time};
    use std::time::Duration;

    /// So many that they stand in several rows.
    const MANY: u32 = 80;

    fn rate() -> BitRate {
        BitRate::new(8_000_000).expect("not zero")
    }

    fn far(millis: u64) -> Path {
        let round_trip = Duration::from_millis(millis);
        Path { round_trip, window: 10_000, window_credit: 10_000 }
    }

    fn now(virtually: &VirtualFair) -> FairState {
        FairState { level: virtually.level(), behind: 0 }
    }

    /// The job `id`, larger than those with lower numbers, arrives and can be sent.
    fn arrive(policy: &mut dyn Policy, virtually: &mut VirtualFair, id: u32) {
        let size = 50_000 + 10_000 * u64::from(id);
        let (finish, path) = (virtually.join(id, size), Path::default());
        let fair = now(virtually);
        policy.arrive(id, &Arrival { order: id.into(), at: Time::ZERO, size, fair, finish, path });
        policy.ready(id);
    }

    #[test]
    fn a_key_that_changes_while_a_job_waits_or_is_served_changes_who_goes_first() {
        let mut virtually = VirtualFair::default();
        let mut policy = Protective::on_a_link_of(rate(), Burst::on_a_link_of(rate()));
        // The last has no slack, and its row is gone through.
        (0..MANY).for_each(|id| arrive(&mut policy, &mut virtually, id));
        let fair = now(&virtually);
        assert_eq!(policy.pick(fair, 100), Some(0));
        policy.path_changed(1, far(3_000));
        assert_eq!(policy.pick(fair, 100), Some(1));
        // Too near for so many others; as much is left of both.
        policy.served(1, 10_000);
        policy.path_changed(1, far(100));
        let fair = FairState { behind: 10_000, ..fair };
        assert_eq!(policy.pick(fair, 100), Some(0));
        // One other is left.
        (2..MANY).for_each(|id| policy.depart(id));
        policy.path_changed(1, far(100));
        assert_eq!(policy.pick(fair, 100), Some(1));
    }

    #[test]
    fn who_comes_back_has_the_key_of_that_moment() {
        for kind in [crate::policy::BURST, BURST] {
            let (mut virtually, mut policy) = (VirtualFair::default(), kind.build(rate()));
            (0..2).for_each(|id| arrive(&mut *policy, &mut virtually, id));
            policy.path_changed(1, far(100));
            assert_eq!(policy.pick(now(&virtually), 100), Some(1), "{kind}");
            policy.blocked(1);
            (2..MANY).for_each(|id| arrive(&mut *policy, &mut virtually, id));
            // Its window is no bargain for so many.
            policy.ready(1);
            assert_eq!(policy.pick(now(&virtually), 100), Some(0), "{kind}");
        }
    }
}
