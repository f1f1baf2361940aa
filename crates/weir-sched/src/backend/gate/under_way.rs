//! A call that was started, from when the backend gets it until its end: slots taken and given
//! back. Used by the gate's decisions and by its owner's reports.

use std::time::Duration;

use super::BackendGate;
use crate::backend::call::Call;
use crate::backend::limit::LoadAtStart;
use crate::time::Time;

/// A call that was started.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    pub(super) since: Time,
    pub(super) load: LoadAtStart,
    /// Number of its start.
    pub(super) start: u64,
    /// When the backend is thought to have begun with it.
    pub(super) serving: Option<Time>,
    /// What was counted against its client's share.
    pub(super) charged: Duration,
    pub(super) answered: bool,
    pub(super) gone: Option<Time>,
    /// It has no slot any more.
    pub(super) aside: bool,
}

impl BackendGate {
    /// The backend gets the call.
    pub(super) fn begin(&mut self, now: Time, slot: u32, charged: Duration) {
        self.under_way += 1;
        self.counts.started += 1;
        let start = self.counts.started;
        self.holding.push(start, slot);
        self.calls[slot as usize].under_way = Some(UnderWay {
            since: now,
            load: self.limit.start(now, self.held()),
            start,
            serving: None,
            charged,
            answered: false,
            gone: None,
            aside: false,
        });
        self.unanswered.start(start, slot);
        self.begin_inside(now);
    }

    /// A call under way has ended and is forgotten.
    pub(super) fn finish(&mut self, now: Time, call: Call) -> Option<UnderWay> {
        let under_way = self.release(now, call)?;
        let spec = self.calls.remove(call.slot as usize).spec;
        if !under_way.aside {
            self.count_slot(now, &spec, &under_way);
        }
        Some(under_way)
    }

    /// A call is not under way any more. What it had is yet to be counted for its client.
    pub(super) fn release(&mut self, now: Time, call: Call) -> Option<UnderWay> {
        let entry = self.entry(call)?;
        let (under_way, client) = (entry.under_way.take()?, entry.spec.client);
        self.under_way -= 1;
        self.dead_under_way -= usize::from(under_way.gone.is_some());
        if under_way.aside {
            self.aside -= 1;
            self.queue.aside_ended(client);
        } else {
            self.give_back(now, &under_way);
            self.drain_rate.ended(now, self.queue.len());
        }
        Some(under_way)
    }

    /// The slot of a call under way is free.
    pub(super) fn give_back(&mut self, now: Time, under_way: &UnderWay) {
        self.holding.remove(under_way.start);
        if let Some(gone) = under_way.gone {
            self.counts.dead_work_wasted += now.since(gone);
        }
        if !under_way.answered {
            self.unanswered.leave(under_way.start);
            self.begin_inside(now);
        }
    }

    /// Notes with which calls the backend is thought to begin now.
    pub(super) fn begin_inside(&mut self, now: Time) {
        let at_once = self.limit.served_at_once(self.unanswered.is_in_order());
        while let Some(slot) = self.unanswered.begin(at_once) {
            if let Some(next) = &mut self.calls[slot as usize].under_way {
                next.serving = Some(now);
            }
        }
    }
}
