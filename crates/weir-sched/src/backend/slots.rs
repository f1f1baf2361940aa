//! The slots of a backend: which waiting call may have one, and what becomes of a call that has one.

use std::time::Duration;

use super::BackendGate;
use super::call::{Call, CallSpec};
use super::limit::Company;
use crate::time::Time;

/// A call is long for its client that is expected to take so many times what calls take on average.
const LONG: u32 = 4;
/// Who may have another slot is looked at again after so long at the latest: it depends on how many
/// clients have been here lately.
const REVIEW: Duration = Duration::from_millis(100);
/// Calls that are set aside at most.
const MOST_ASIDE: usize = 1024;

/// A call that was started.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    since: Time,
    company: Company,
    /// Number of its start.
    start: u64,
    /// When the backend is thought to have begun with it.
    serving: Option<Time>,
    /// What was counted against its client's share.
    charged: Duration,
    pub(super) answered: bool,
    pub(super) gone: Option<Time>,
    /// It has no slot any more.
    aside: bool,
}

impl BackendGate {
    /// The backend's answer to a started call begins. Teaches how long calls take, how many it is
    /// good to have under way, and that this client would have waited longer.
    pub fn answered(&mut self, now: Time, call: Call) {
        let Some(entry) = self.entry(call) else { return };
        let (spec, age) = (entry.spec, now.since(entry.arrived));
        let Some(under_way) = entry.under_way.as_mut().filter(|it| !it.answered) else { return };
        under_way.answered = true;
        let UnderWay { since, company, start, serving, gone, aside, .. } = *under_way;
        let took = now.since(serving.unwrap_or(since));
        if gone.is_none() {
            self.patience_of(spec.route).answered(age);
        }
        if aside {
            return self.expected.learn_kind(now, spec.route, spec.kind, took);
        }
        let overtaken = self.inside.answer(start);
        self.hanging.answered(now, since);
        self.limit.answered(now, company, now.since(since), overtaken);
        // Where the limit may be too high yet, calls wait for each other inside the backend, and
        // what is short can seem long.
        let kind = if self.limit.is_trusted(company) { spec.kind } else { 0 };
        self.expected.learn(now, spec.route, kind, took);
        self.begin_inside(now);
    }

    /// The backend is done with a started call: it has answered whole, or closed. The slot is free
    /// again; ask [`BackendGate::next`].
    pub fn ended(&mut self, now: Time, call: Call) {
        if self.release(now, call) {
            self.counts.ended += 1;
        }
    }

    /// A started call gets no answer: connection refused or reset, or it took too long. The slot is
    /// free again. Teaches nothing of service times; a burst of failures halves a learned limit.
    pub fn failed(&mut self, now: Time, call: Call) {
        if self.release(now, call) {
            self.counts.failed += 1;
            self.limit.failed();
        }
    }

    /// The backend did not take a started call: it goes back to its old place, and its age counts
    /// on. One whose client has left meanwhile is dropped, one that was answered stays as it is.
    pub fn requeue(&mut self, now: Time, call: Call) {
        let Some(entry) = self.entry(call) else { return };
        let Some(under_way) = entry.under_way.take_if(|it| !it.answered) else { return };
        let waits = under_way.gone.is_none();
        let waiting = self.waiting_call(call.slot);
        self.leave(now, &under_way);
        self.pace.ended(now, self.queue.len());
        if under_way.aside {
            if waits {
                self.queue.insert(now, &waiting);
            }
        } else {
            self.queue.put_back(now, &waiting, under_way.charged, waits);
        }
        self.counts.requeued += 1;
        if waits {
            self.pace.waiting(now, self.queue.len());
        } else {
            self.calls.remove(call.slot as usize);
        }
    }

    /// As many calls have slots as may.
    pub(super) fn is_full(&self) -> bool {
        self.under_way - self.aside >= self.limit.allowed() as usize
    }

    /// Whether another slot for this call's client would be for long, and one that others need.
    pub(super) fn is_reserved(&self, spec: &CallSpec) -> bool {
        let clients = self.queue.clients();
        clients.is_at_others_cost(spec.client, self.limit.get() as usize) && self.is_long(spec)
    }

    /// Whether a call is expected to take much longer than calls do on average, by what such calls
    /// took or, where that is not known, by what its client's last one did.
    fn is_long(&self, spec: &CallSpec) -> bool {
        let expected = self.expected.of_kind(spec.route, spec.kind);
        let expected = expected.unwrap_or_else(|| self.queue.clients().last(spec.client));
        expected > self.hanging.mean() * LONG
    }

    /// The waiting call that starts now, if one may.
    pub(super) fn choose(&mut self, now: Time) -> Option<u32> {
        while self.is_full()
            && let Some(slot) = self.candidate().filter(|slot| self.is_idle(*slot))
        {
            self.set_aside(now, slot);
        }
        if !self.is_full() {
            let next = self.queue.next()?;
            return match self.is_reserved(&self.calls[next as usize].spec) {
                false => Some(next),
                true => self.queue.find(|slot| !self.is_reserved(&self.calls[slot as usize].spec)),
            };
        }
        let has_none =
            |slot: u32| self.queue.clients().held(self.calls[slot as usize].spec.client) == 0;
        if self.limit.learns() && self.queue.clients().is_one_with_all() {
            return self.queue.find(has_none);
        }
        let oldest = self.candidate()?;
        if self.trial(oldest).is_none_or(|at| now < at) {
            return None;
        }
        // Another call of the same kind might hang too, and one of the same client.
        let kind = self.calls[oldest as usize].spec.kind;
        let other = |slot: u32| has_none(slot) && self.calls[slot as usize].spec.kind != kind;
        let next = self.queue.find(other).or_else(|| self.queue.next())?;
        self.hanging.tried(now);
        self.set_aside(now, oldest);
        Some(next)
    }

    /// When to look again at who may start though nothing has ended.
    pub(super) fn review(&self, now: Time) -> Option<Time> {
        if !self.is_full() {
            return Some(now + REVIEW);
        }
        self.candidate().and_then(|oldest| self.trial(oldest)).map(|at| at.max(now))
    }

    /// The call that is set aside next if any is: its slot in `calls`.
    fn candidate(&self) -> Option<u32> {
        let oldest = match self.limit.learns() {
            true => self.inside.oldest(),
            false => self.dead.values().next().copied(),
        };
        oldest.filter(|_| self.aside < MOST_ASIDE)
    }

    fn is_idle(&self, slot: u32) -> bool {
        let under_way = self.calls[slot as usize].under_way;
        under_way.is_some_and(|it| self.hanging.is_idle(it.since))
    }

    fn trial(&self, slot: u32) -> Option<Time> {
        let under_way = self.calls[slot as usize].under_way?;
        Some(self.hanging.trial(under_way.since))
    }

    /// A call has its slot no longer, though it has not ended.
    fn set_aside(&mut self, now: Time, slot: u32) {
        let entry = &mut self.calls[slot as usize];
        let Some(under_way) = &mut entry.under_way else { return };
        under_way.aside = true;
        let UnderWay { since, start, charged, .. } = *under_way;
        self.queue.end(now, entry.spec.client, now.since(since), charged);
        self.aside += 1;
        self.dead.remove(&start);
        self.inside.leave(start);
        self.begin_inside(now);
    }

    /// The backend gets the call.
    pub(super) fn begin(&mut self, now: Time, slot: u32, charged: Duration) {
        self.under_way += 1;
        self.counts.started += 1;
        let start = self.counts.started;
        self.calls[slot as usize].under_way = Some(UnderWay {
            since: now,
            company: self.limit.start(now, self.under_way - self.aside),
            start,
            serving: None,
            charged,
            answered: false,
            gone: None,
            aside: false,
        });
        self.inside.start(start, slot);
        self.begin_inside(now);
    }

    /// Nobody waits for the answer of a call under way any more.
    pub(super) fn is_dead(&mut self, now: Time, slot: u32) {
        let Some(under_way) = &mut self.calls[slot as usize].under_way else { return };
        under_way.gone = Some(now);
        if !under_way.aside {
            self.dead.insert(under_way.start, slot);
        }
        self.dead_under_way += 1;
    }

    /// A call under way ends; false if the gate does not know it.
    fn release(&mut self, now: Time, call: Call) -> bool {
        let Some(entry) = self.entry(call) else { return false };
        let (Some(under_way), client) = (entry.under_way.take(), entry.spec.client) else {
            return false;
        };
        self.calls.remove(call.slot as usize);
        self.leave(now, &under_way);
        if !under_way.aside {
            self.queue.end(now, client, now.since(under_way.since), under_way.charged);
            self.pace.ended(now, self.queue.len());
        }
        true
    }

    /// A call is not under way any more.
    fn leave(&mut self, now: Time, under_way: &UnderWay) {
        self.under_way -= 1;
        if let Some(gone) = under_way.gone {
            self.dead_under_way -= 1;
            self.dead.remove(&under_way.start);
            self.counts.dead_work_wasted += now.since(gone);
        }
        if under_way.aside {
            self.aside -= 1;
        } else {
            self.inside.leave(under_way.start);
            self.begin_inside(now);
        }
    }

    /// Notes with which calls the backend is thought to begin now.
    fn begin_inside(&mut self, now: Time) {
        let at_once = self.limit.served_at_once(self.inside.is_in_order());
        while let Some(slot) = self.inside.begin(at_once) {
            if let Some(next) = &mut self.calls[slot as usize].under_way {
                next.serving = Some(now);
            }
        }
    }
}
