//! What the gate's owner reports of calls: answers, ends, failures, clients that leave, calls that the
//! backend did not take. Each report teaches the gate something or gives a slot back.

use super::BackendGate;
use super::under_way::UnderWay;
use crate::backend::call::{Abandoned, Call};
use crate::time::Time;

impl BackendGate {
    /// The backend's answer to a started call begins. Teaches how long calls take, how many it is
    /// good to have under way, and that this client would have waited longer.
    pub fn answered(&mut self, now: Time, call: Call) {
        let Some(entry) = self.entry(call) else { return };
        let (spec, age) = (entry.spec, now.since(entry.arrived));
        let Some(under_way) = entry.under_way.as_mut().filter(|under_way| !under_way.answered)
        else {
            return;
        };
        under_way.answered = true;
        let UnderWay { since, load, start, serving, gone, aside, .. } = *under_way;
        let took = now.since(serving.unwrap_or(since));
        if gone.is_none() {
            self.patience_of(spec.route).answered(spec.client, age);
        }
        if aside {
            // It says nothing of the calls that have slots.
            return self.service_times.served(now, spec.route, spec.kind, took);
        }
        let overtaken = self.unanswered.leave(start);
        let (held, others) = (self.holding.len(), overtaken.by_newest);
        let first_of_all = others > 0 && others + 1 >= held && self.is_full();
        self.long_calls.answered(now, since, first_of_all);
        self.limit.answered(now, load, now.since(since), overtaken);
        // Where the limit may be too high yet, calls wait for each other inside the backend, and
        // what is short can seem long.
        let kind = if self.limit.is_trusted(load) { spec.kind } else { 0 };
        self.service_times.served(now, spec.route, kind, took);
        self.begin_inside(now);
    }

    /// The backend is done with a started call: it has answered whole, or closed. The slot is free
    /// again; ask [`BackendGate::next`].
    pub fn ended(&mut self, now: Time, call: Call) {
        if self.finish(now, call).is_some() {
            self.counts.ended += 1;
        }
    }

    /// A started call gets no answer: connection refused or reset, or it took too long. The slot is
    /// free again. Teaches nothing of service times; a burst of failures halves a learned limit.
    pub fn failed(&mut self, now: Time, call: Call) {
        if let Some(under_way) = self.finish(now, call) {
            self.counts.failed += 1;
            if !under_way.aside {
                self.limit.failed();
            }
        }
    }

    /// The call's client has left.
    pub fn abandoned(&mut self, now: Time, call: Call) -> Abandoned {
        let Some(entry) = self.entry(call) else { return Abandoned::Unknown };
        let (spec, age) = (entry.spec, now.since(entry.arrived));
        let Some(under_way) = &mut entry.under_way else {
            self.dequeue(now, call.slot);
            self.calls.remove(call.slot as usize);
            self.patience_of(spec.route).left(now, spec.client, age);
            self.counts.abandoned_waiting += 1;
            let saved = self.service_times.service(spec.route, spec.kind).unwrap_or_default();
            self.counts.dead_work_saved += saved;
            return Abandoned::Waiting;
        };
        if under_way.gone.is_none() {
            under_way.gone = Some(now);
            if !under_way.answered {
                self.patience_of(spec.route).left(now, spec.client, age);
            }
            self.dead_under_way += 1;
            self.counts.abandoned_under_way += 1;
        }
        Abandoned::UnderWay
    }

    /// The backend did not take a started call: it goes back to its old place, and its age counts
    /// on. One whose client has left meanwhile is dropped, one that was answered stays as it is.
    pub fn requeue(&mut self, now: Time, call: Call) {
        if self.entry(call).and_then(|entry| entry.under_way).is_none_or(|it| it.answered) {
            return;
        }
        let Some(under_way) = self.release(now, call) else { return };
        let (waiting, waits) = (self.waiting_call(call.slot), under_way.gone.is_none());
        if waits {
            self.queue.insert(now, &waiting);
            self.drain_rate.waiting(now, self.queue.len());
        } else {
            self.calls.remove(call.slot as usize);
        }
        if !under_way.aside {
            self.queue.undo(now, waiting.client, under_way.charged);
        }
        self.counts.requeued += 1;
    }
}
