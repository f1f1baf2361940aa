//! The slots of a backend: which waiting call gets one, and which call loses its slot before it has
//! ended. Used by the gate for each decision.
//!
//! With a learned limit a call that hangs is set aside ([`super::long_calls`]): the backend has it still,
//! but its slot goes to another. With a configured limit never: it bounds what the backend has.

use std::time::Duration;

use super::{BackendGate, Entry, UnderWay};
use crate::backend::call::CallSpec;
use crate::time::Time;

/// Who may have another slot is looked at again after so long at the latest: it depends on how many
/// clients have been here lately.
const REVIEW: Duration = Duration::from_millis(100);
/// Calls that are set aside are always fewer: with the limit they bound what a backend is given.
const MOST_ASIDE: usize = 1024;
/// A client may have more of them while it has less than one in so many of what is left (dynamic
/// thresholds, Choudhury & Hahne 1998): alone it comes to a ninth, and there is always something left
/// for who comes.
const SHARE: usize = 8;

impl BackendGate {
    /// Calls that have slots.
    pub(super) fn held(&self) -> usize {
        self.under_way - self.aside
    }

    /// As many calls have slots as may.
    pub(super) fn is_full(&self) -> bool {
        self.held() >= self.limit.allowed() as usize
    }

    /// Whether another slot for this call's client would be for long, and one that others need.
    pub(super) fn is_reserved(&self, now: Time, spec: &CallSpec) -> bool {
        let clients = self.queue.clients();
        let limit = self.limit.get() as usize;
        // A learned one is too high at times, and what is long stays inside for long.
        let sure = if self.limit_is_learned() { limit - limit / 4 } else { limit };
        clients.is_at_others_cost(now, spec.client, sure)
            && clients.is_long(spec.client, self.service_times.slot_of_kind(spec.route, spec.kind))
    }

    /// The waiting call that starts now, if one may.
    pub(super) fn choose(&mut self, now: Time) -> Option<u32> {
        loop {
            if !self.is_full()
                && let Some(next) = self.find(|spec| !self.is_reserved(now, spec))
            {
                return Some(next);
            }
            let Some(slot) = self.spared() else { break };
            self.set_aside(now, slot);
        }
        if !self.limit_is_learned() {
            return None;
        }
        let has_none = |spec: &CallSpec| self.queue.clients().held(spec.client) == 0;
        if self.queue.clients().is_one_with_all()
            && let Some(other) = self.find(has_none)
        {
            return Some(other);
        }
        let (oldest, trial) = self.next_trial()?;
        if now < trial {
            return None;
        }
        // Another call of the same kind might hang too, and one of the same client. If all are one
        // client's, those that wait first may hang like those that came before them.
        let kind = self.calls[oldest as usize].spec.kind;
        let may = |spec: &CallSpec| !self.is_reserved(now, spec);
        let last = self.queue.last().filter(|slot| {
            let spec = &self.calls[*slot as usize].spec;
            spec.kind != kind && may(spec)
        });
        let other = self.find(|spec| has_none(spec) && spec.kind != kind);
        let next = other.or(last).or_else(|| self.find(may))?;
        self.long_calls.tried(now);
        self.set_aside(now, oldest);
        Some(next)
    }

    /// When to look again at who may start though nothing has ended.
    pub(super) fn review(&self, now: Time) -> Option<Time> {
        match self.next_trial() {
            Some((_, at)) if self.is_full() && now < at => Some(at),
            None if self.is_full() => None,
            _ => Some(now + REVIEW),
        }
    }

    fn find(&self, wanted: impl Fn(&CallSpec) -> bool) -> Option<u32> {
        self.queue.find(|slot| wanted(&self.calls[slot as usize].spec))
    }

    /// A call that is long while the backend serves others, if it may be set aside.
    fn spared(&self) -> Option<u32> {
        let mut long = self.candidates().take_while(|(_, since)| self.long_calls.is_spared(*since));
        let serves_all = self.long_calls.serves_all();
        let may = |slot: u32| self.may_set_aside(slot, if serves_all { usize::MAX } else { 1 });
        long.find(|(slot, _)| may(*slot)).map(|(slot, _)| slot)
    }

    /// The call that is set aside as a trial next, and when.
    fn next_trial(&self) -> Option<(u32, Time)> {
        let mut calls = self.candidates();
        let (slot, since) = calls.find(|(slot, _)| self.may_set_aside(*slot, usize::MAX))?;
        Some((slot, self.long_calls.trial(since)))
    }

    /// The calls that have slots by their starts, if they can be set aside at all.
    fn candidates(&self) -> impl Iterator<Item = (u32, Time)> {
        let learned = self.limit_is_learned();
        let holding = self.holding.slots().filter(move |_| learned);
        holding.filter_map(|slot| {
            self.calls[slot as usize].under_way.map(|under_way| (slot, under_way.since))
        })
    }

    /// Whether it would not be too many: `most` for its client.
    fn may_set_aside(&self, slot: u32, most: usize) -> bool {
        let client = self.calls[slot as usize].spec.client;
        let left = MOST_ASIDE.saturating_sub(self.aside);
        (self.queue.clients().aside(client) as usize) < most.min(left / SHARE)
    }

    /// A call has its slot no longer, though it has not ended.
    fn set_aside(&mut self, now: Time, slot: u32) {
        let Entry { spec, under_way, .. } = &mut self.calls[slot as usize];
        let (spec, Some(under_way)) = (*spec, under_way) else { return };
        under_way.aside = true;
        let under_way = *under_way;
        self.aside += 1;
        self.long_calls.set_aside();
        self.give_back(now, &under_way);
        self.count_slot(now, &spec, &under_way);
        self.drain_rate.ended(now, self.queue.len());
    }

    /// A call had its slot until now: that is its client's, and teaches how long such calls have one.
    pub(super) fn count_slot(&mut self, now: Time, spec: &CallSpec, under_way: &UnderWay) {
        let UnderWay { since, charged, aside, .. } = *under_way;
        let took = now.since(since);
        self.queue.end(now, spec.client, took, charged, aside);
        self.service_times.slot_freed(now, spec.route, spec.kind, took);
    }
}
