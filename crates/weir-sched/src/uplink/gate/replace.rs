//! Another rate or another policy while responses wait. The policy is built anew and told of all that is
//! here, as if it arrived at that moment with what it has left. Used by the gate's owner when the
//! configuration changes.

use std::collections::HashMap;

use weir_units::BitRate;

use super::Gate;
use super::fair_share::State;
use crate::policy::{Arrival, Path, PolicyKind};
use crate::time::Time;
use crate::uplink::ids::EntryId;

impl Gate {
    /// From now on the link carries `rate`, and `policy` says which job goes next, of those that are
    /// here, too. Grants that are out stay valid.
    pub fn replace(&mut self, now: Time, policy: PolicyKind, rate: BitRate) {
        self.pass_time(now);
        self.pacer.set_rate(rate);
        self.grant = rate.bytes_in(self.config.grant).max(1);
        let grants = self.flows.iter().map(|(_, flow)| {
            let segments = self.whole_segments(flow.packets.mss);
            flow.packets.wire(segments)
        });
        self.largest_grant = grants.max().unwrap_or(0).max(self.grant);
        self.config.policy = policy;
        self.policy = policy.build(rate);
        let paths = self.jobs.iter().map(|(_, job)| (job.entry, self.flows[job.flow].path));
        let paths: HashMap<EntryId, Path> = paths.collect();
        for id in self.entries.in_order() {
            self.introduce(now, id, paths.get(&id).copied().unwrap_or_default());
        }
    }

    /// Tells a policy that knows nothing yet of the entry, whatever has become of that.
    fn introduce(&mut self, now: Time, id: EntryId, path: Path) {
        let fair = self.fair_state();
        let entry = self.entries.get_mut(id);
        let (order, remaining, state) = (entry.number, entry.remaining, entry.share.state);
        let (is_here, is_ready) = (entry.members > 0, entry.ready());
        let finish = match state {
            State::Sharing { .. } => entry.share.finish,
            State::Paused { left } => fair.level.raised(left),
            State::Finished => fair.level,
        };
        // No job arrives with nothing to send; one that has been granted all has been served since.
        let size = remaining.max(1);
        self.policy.arrive(id, &Arrival { order, at: now, size, fair, finish, path });
        if size > remaining {
            self.policy.served(id, size - remaining);
        }
        match state {
            State::Sharing { .. } => {}
            State::Paused { .. } => self.policy.pause(id, fair.level),
            State::Finished => self.policy.virtually_finished(id),
        }
        match (is_here, is_ready) {
            (true, true) => self.policy.ready(id),
            (true, false) => {}
            (false, _) => self.policy.depart(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{FIFO, SRPT};
    use crate::uplink::ids::ClientId;
    use crate::{FlowSpec, GateConfig, JobSpec, Next, Pacer, Packets, WireOverhead};
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::time::Duration;

    fn rate(megabit: u64) -> BitRate {
        BitRate::new(megabit * 1_000_000).unwrap()
    }

    fn gate(policy: PolicyKind) -> Gate {
        Gate::new(GateConfig::new(policy), Arc::new(Pacer::new(rate(8))))
    }

    /// A response on a connection of its own.
    fn arrive(gate: &mut Gate, now: Time, tag: u64, size: u64) {
        let packets = Packets { mss: 1448, overhead: WireOverhead::ETHERNET };
        let path = Path {
            round_trip: Duration::from_millis(tag % 90),
            window: 14_480,
            window_credit: 14_480,
        };
        let client = ClientId(u128::from(tag % 5));
        let flow = gate.open(FlowSpec { client, packets, path });
        gate.arrive(now, JobSpec { flow, tag, size: Some(size), range_of: None }).unwrap();
    }

    /// Sends what is granted next; `None`: nobody waits.
    fn send(gate: &mut Gate, now: &mut Time) -> Option<(u64, u64)> {
        loop {
            match gate.next(*now) {
                Next::Grant(grant) => {
                    gate.used(*now, &grant, grant.bytes);
                    return Some((grant.tag, grant.bytes));
                }
                Next::Wait(at) | Next::Receipt(at) => *now = at,
                Next::Idle => return None,
            }
            gate.tick(*now);
        }
    }

    #[test]
    fn another_policy_orders_what_waits_already() {
        let mut now = Time::from_nanos(1_000_000_000);
        let mut gate = gate(FIFO);
        arrive(&mut gate, now, 1, 100_000);
        arrive(&mut gate, now, 2, 2_000);
        assert_eq!(send(&mut gate, &mut now).unwrap().0, 1);
        gate.replace(now, SRPT, rate(8));
        let mut sent = 0;
        while sent < 2_000 {
            let (tag, bytes) = send(&mut gate, &mut now).unwrap();
            assert_eq!(tag, 2);
            sent += bytes;
        }
        assert_eq!(send(&mut gate, &mut now).unwrap().0, 1);
    }

    #[test]
    fn another_rate_lets_more_through() {
        let mut now = Time::from_nanos(1_000_000_000);
        let mut gate = gate(SRPT);
        arrive(&mut gate, now, 1, 10_000_000);
        let mut bytes_of_a_second = |gate: &mut Gate| {
            let end = now + Duration::from_secs(1);
            let mut bytes = 0;
            while now < end {
                bytes += send(gate, &mut now).unwrap().1;
            }
            bytes
        };
        let before = bytes_of_a_second(&mut gate);
        let grant = gate.grant_size();
        gate.replace(Time::from_nanos(2_100_000_000), SRPT, rate(16));
        assert_eq!(gate.grant_size(), 2 * grant);
        let after = bytes_of_a_second(&mut gate);
        assert!((19 * before..21 * before).contains(&(10 * after)), "{before}, then {after}");
    }

    proptest! {
        /// Whatever policy follows whatever other, at whatever moment: everybody is sent everything.
        #[test]
        fn nobody_is_lost_by_a_change(
            sizes in prop::collection::vec(1_u64..60_000, 1..40),
            changes in prop::collection::vec((0_usize..100, 1_u64..50), 1..12),
        ) {
            let mut now = Time::from_nanos(1_000_000_000);
            let mut gate = gate(PolicyKind::default());
            let mut left = sizes.clone();
            let mut changes = changes.into_iter().cycle().take(200);
            let mut arrivals = sizes.iter().copied().enumerate();
            loop {
                if let Some((tag, size)) = arrivals.next() {
                    arrive(&mut gate, now, tag as u64, size);
                }
                let sent = send(&mut gate, &mut now);
                if let Some((kind, megabit)) = changes.next() {
                    let all: Vec<_> = PolicyKind::every().collect();
                    gate.replace(now, all[kind % all.len()], rate(megabit));
                }
                match sent {
                    Some((tag, bytes)) => left[tag as usize] -= bytes,
                    None if left.iter().all(|left| *left == 0) => break,
                    None => prop_assert!(arrivals.len() > 0, "{left:?} were not sent"),
                }
            }
            prop_assert_eq!((gate.jobs(), gate.leases()), (0, 0));
        }
    }
}
