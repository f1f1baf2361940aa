//! The queue on the link follows the pacer, which is told of all that goes over the link: what goes
//! without a grant holds up what waits there, and what was charged too much lets it pass sooner.
//! Called with each step of time by `fair_sharing`.

use super::Gate;
use crate::time::Time;

impl Gate {
    /// All that the pacer has been told by now counts for what has not passed at `now`.
    ///
    /// The queue may end later than the pacer by what a pause saves up, since the link sends that one
    /// byte after the other, too. If it ended later still, it would count bytes as waiting that have
    /// left the link: records that took less than a grant was charged are given back to the pacer
    /// alone, and what went without a grant before now has had its time already.
    pub(super) fn follow_the_pacer(&mut self, now: Time) {
        let ungranted = self.pacer.ungranted();
        let span = ungranted.saturating_sub(self.ungranted);
        if !span.is_zero() {
            self.ungranted = ungranted;
            self.link_queue.delay(now, span);
            self.idle_since = self.idle_since.map(|since| since.max(now) + span);
        }
        let free_at = self.pacer.free_at() + self.pacer.depth();
        self.link_queue.free_by(now, free_at.max(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{PROTECTIVE, Path};
    use crate::uplink::ids::ClientId;
    use crate::{FlowSpec, GateConfig, JobSpec, Next, Pacer, Packets, WireOverhead};
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::time::Duration;
    use weir_units::BitRate;

    /// What a record adds to what it carries.
    const RECORD: u32 = 22;
    /// Segments with a record in each.
    const PACKETS: Packets =
        Packets { mss: 1448 - RECORD, overhead: WireOverhead { bytes: 66 + RECORD } };

    fn gate() -> Gate {
        let rate = BitRate::new(80_000_000).unwrap();
        Gate::new(GateConfig::new(PROTECTIVE), Arc::new(Pacer::new(rate)))
    }

    /// A response on a connection of its own.
    fn arrive(gate: &mut Gate, now: Time, client: u128, size: u64) {
        let (client, path) = (ClientId(client), Path::default());
        let flow = gate.open(FlowSpec { client, packets: PACKETS, path });
        gate.arrive(now, JobSpec { flow, tag: 0, size: Some(size), range_of: None }).unwrap();
    }

    /// `bytes` were sent in one record: the others that were charged are given back.
    fn refund(gate: &Gate, bytes: u64) {
        let segments = bytes.div_ceil(u64::from(PACKETS.mss));
        gate.pacer.refund(segments.saturating_sub(1) * u64::from(RECORD));
    }

    /// How much later the queue on the link ends than the pacer.
    fn ahead(gate: &Gate, now: Time) -> Duration {
        gate.link_queue.free_at().since(gate.pacer.free_at().max(now))
    }

    #[test]
    fn what_long_records_save_is_not_counted_as_waiting() {
        let mut gate = gate();
        let mut now = Time::from_nanos(1_000_000_000);
        let size = 100_000_000;
        arrive(&mut gate, now, 1, size);
        // It saturates the link for ten seconds; more than a hundredth of that is given back.
        loop {
            match gate.next(now) {
                Next::Grant(grant) => {
                    gate.used(now, &grant, grant.bytes);
                    refund(&gate, grant.bytes);
                }
                Next::Wait(at) | Next::Receipt(at) => now = at,
                Next::Idle => break,
            }
            assert!(ahead(&gate, now) <= Duration::from_millis(2), "{:?}", ahead(&gate, now));
            let behind = gate.fair_state().behind;
            assert!(behind <= 3 * gate.largest_grant, "{behind}");
        }
        assert!(now > Time::from_nanos(10_000_000_000), "{now:?}");
        gate.tick(now + Duration::from_secs(1));
        assert_eq!((gate.link_queue.bytes(), gate.sent), (0, PACKETS.wire(size)));
    }

    #[test]
    fn what_went_without_a_grant_long_ago_holds_nothing_up() {
        let mut gate = gate();
        let mut now = Time::from_nanos(1_000_000_000);
        // Small responses take half of the link for ten seconds. The gate is not asked meanwhile.
        for _ in 0..10_000 {
            assert!(gate.pacer.take(now, 5_000));
            now += Duration::from_millis(1);
        }
        arrive(&mut gate, now, 1, 50_000);
        let Next::Grant(grant) = gate.next(now) else { panic!("the link is free") };
        gate.used(now, &grant, grant.bytes);
        assert!(ahead(&gate, now) <= Duration::from_millis(2), "{:?}", ahead(&gate, now));
        gate.tick(now + Duration::from_millis(5));
        assert_eq!(gate.fair_state().behind, 0);
    }

    proptest! {
        #[test]
        fn the_queue_on_the_link_ends_with_the_pacer(
            steps in prop::collection::vec((0u8..9, 1u64..20_000), 1..300),
        ) {
            let mut gate = gate();
            let mut now = Time::from_nanos(1_000_000_000);
            for (client, (kind, number)) in steps.into_iter().enumerate() {
                match kind {
                    0 => arrive(&mut gate, now, client as u128, 10 * number),
                    1 => gate.charge(now, number),
                    2 => {
                        gate.pacer.take(now, number);
                    }
                    3 => now += Duration::from_micros(number),
                    _ => match gate.next(now) {
                        Next::Grant(grant) => {
                            let used = if kind == 4 { grant.bytes / 2 } else { grant.bytes };
                            gate.used(now, &grant, used);
                            refund(&gate, used);
                        }
                        Next::Wait(at) | Next::Receipt(at) => now = at,
                        Next::Idle => {}
                    },
                }
                now += Duration::from_nanos(1);
                gate.tick(now);
                let latest = now.max(gate.pacer.free_at() + gate.pacer.depth());
                prop_assert!(gate.link_queue.free_at() <= latest);
            }
        }
    }
}
