//! The virtual fair server at work: it shares what the link sends among those whose clients would
//! take it. The gate calls it with each step of time and each change; it moves by bytes, and by
//! time only while nothing can be sent.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Gate;
use super::entries::Entries;
use super::fair_share::State;
use super::fairness::{self, FairnessRecord};
use super::link_queue::Transmission;
use crate::policy::{FairState, Policy};
use crate::time::Time;
use crate::uplink::ids::EntryId;
use crate::virtual_fair::Level;

/// What is due at a time, for a share by the entry's place and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timer {
    at: Time,
    id: EntryId,
    number: u64,
    kind: TimerKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TimerKind {
    /// So many bytes would have been acknowledged.
    Acknowledged(u64),
    /// The client may have taken nothing for longer than its path explains.
    Stalled,
}

/// What is due, soonest first.
pub(super) type Timers = BinaryHeap<Reverse<Timer>>;

impl Gate {
    /// Tells the virtual server what the link has sent by `now`. While nothing can be sent it goes
    /// on at the link's rate with those who could, as the fair server would.
    pub(super) fn pass_time(&mut self, now: Time) {
        if now <= self.passed && self.ungranted == self.pacer.ungranted() {
            return;
        }
        loop {
            let due = self.timers.peek().map(|Reverse(due)| due.at).filter(|at| *at <= now);
            let until = due.unwrap_or(now);
            self.passed = self.passed.max(until);
            while let Some(transmission) = self.link_queue.pass(until) {
                self.sent += transmission.bytes;
                self.share(transmission);
            }
            self.pass_idle_time(until);
            if due.is_none() {
                return self.follow_the_pacer(now);
            }
            if let Some(Reverse(due)) = self.timers.pop() {
                self.timer_fires(&due);
            }
        }
    }

    fn pass_idle_time(&mut self, until: Time) {
        let Some(begin) = self.idle_since.filter(|since| until > *since) else { return };
        if self.fair.is_empty() {
            self.idle_since = Some(until);
            return;
        }
        let bytes = self.pacer.rate().bytes_in(until.since(begin));
        let end = (begin + self.pacer.rate().time_for(bytes)).min(until);
        if bytes > 0 {
            self.idle_since = Some(end);
            self.idle += bytes;
            self.share(Transmission { begin, end, bytes });
        }
    }

    fn share(&mut self, transmission: Transmission) {
        let Gate { fair, policy, entries, fairness_records, timers, .. } = self;
        fair.serve(transmission.bytes, |id, after| {
            stop(entries, policy.as_mut(), timers, fairness_records, id, transmission.after(after))
        });
    }

    fn timer_fires(&mut self, due: &Timer) {
        let Some(entry) = self.entries.numbered(due.id, due.number) else { return };
        match due.kind {
            TimerKind::Acknowledged(bytes) => entry.share.acknowledged(bytes),
            TimerKind::Stalled => {
                entry.blocked.watched = false;
                let Some(since) = entry.blocked.since.filter(|_| !entry.ready()) else { return };
                if since + entry.patience() > due.at {
                    return self.watch_block(due.id, since);
                }
                entry.share.stalled = true;
                return self.client_stalls(due);
            }
        }
        self.share_anew(due.id);
    }

    /// The client of the entry takes nothing of its own accord. What fair sharing gave it since it
    /// stopped goes to the others.
    fn client_stalls(&mut self, due: &Timer) {
        let (fair, id) = (self.fair_state(), due.id);
        let entry = self.entries.get_mut(id);
        let since = entry.blocked.served;
        let back = entry.share.give_back(fair.level, entry.blocked.left, entry.remaining);
        if back > 0 {
            entry.revive();
            match entry.share.state {
                State::Sharing { until } => {
                    self.fair.forget(id, until);
                    let finish = entry.share.finish;
                    let until = entry.share.next_stop(fair.level, entry.remaining);
                    entry.share.state = State::Sharing { until };
                    self.fair.share_until(id, until);
                    self.policy.grow(id, 0, fair, finish);
                }
                State::Paused { left } => {
                    self.policy.resume(id, fair, fair.level.raised(left));
                    self.policy.pause(id, fair.level);
                }
                State::Finished => {}
            }
        }
        self.share_anew(id);
        // Only what the link did send: nobody else could take the rest.
        let (sent, idle) = (self.sent - since.0, self.idle - since.1);
        let sent = u128::from(back) * u128::from(sent) / u128::from((sent + idle).max(1));
        if sent > 0 {
            self.share(Transmission { begin: due.at, end: due.at, bytes: sent as u64 });
        }
    }

    /// Where the virtual server stands, for the policy.
    pub(super) fn fair_state(&self) -> FairState {
        FairState {
            level: self.fair.level(),
            behind: self.link_queue.bytes().saturating_sub(self.fair.credit()),
        }
    }

    /// The client of the entry takes no data.
    pub(super) fn client_blocks(&mut self, now: Time, id: EntryId) {
        let level = self.fair.level();
        let entry = self.entries.get_mut(id);
        entry.blocked.since = Some(now);
        entry.blocked.left = entry.share.left(level);
        entry.blocked.served = (self.sent, self.idle);
        // One look at a time: a client is blocked and reads again many times in a round trip.
        if !entry.blocked.watched {
            self.watch_block(id, now);
        }
    }

    fn watch_block(&mut self, id: EntryId, since: Time) {
        let entry = self.entries.get_mut(id);
        entry.blocked.watched = true;
        let at = since + entry.patience();
        let due = Timer { at, id, number: entry.number, kind: TimerKind::Stalled };
        self.timers.push(Reverse(due));
    }

    /// The client of the entry takes data again.
    pub(super) fn client_reads(&mut self, id: EntryId) {
        let now = self.passed;
        let entry = self.entries.get_mut(id);
        if let Some(since) = entry.blocked.since.take() {
            entry.blocked.before += now.since(since);
        }
        if std::mem::take(&mut entry.share.stalled) {
            self.share_anew(id);
        }
    }

    /// A new share begins.
    pub(super) fn begin_sharing(&mut self, id: EntryId) {
        let level = self.fair.level();
        let entry = self.entries.get_mut(id);
        let until = entry.share.next_stop(level, entry.remaining);
        entry.share.state = State::Sharing { until };
        self.fair.share_until(id, until);
    }

    /// Something has changed for a share: lets it go on, stops it, or moves its next stop.
    pub(super) fn share_anew(&mut self, id: EntryId) {
        let fair = self.fair_state();
        let level = fair.level;
        let at = self.passed;
        let entry = self.entries.get_mut(id);
        if entry.share.left(level) == 0 {
            return self.end_share(id, at);
        }
        let goes_on = entry.share.can_go_on(level, entry.remaining);
        match entry.share.state {
            State::Sharing { until } => {
                // What has been sent is under way, whatever comes next.
                put_under_way(entry, &mut self.timers, id, level, at);
                self.fair.forget(id, until);
                if goes_on {
                    let until = entry.share.next_stop(level, entry.remaining);
                    entry.share.state = State::Sharing { until };
                    self.fair.share_until(id, until);
                } else {
                    let left = entry.share.left(level);
                    entry.share.state = State::Paused { left };
                    self.policy.pause(id, level);
                }
            }
            State::Paused { left } if goes_on => {
                entry.share.resume(level, left);
                let until = entry.share.next_stop(level, entry.remaining);
                entry.share.state = State::Sharing { until };
                self.fair.share_until(id, until);
                let finish = entry.share.finish;
                self.policy.resume(id, fair, finish);
            }
            State::Paused { .. } | State::Finished => {}
        }
    }

    /// Nothing is left of a share, all at once.
    fn end_share(&mut self, id: EntryId, at: Time) {
        let level = self.fair.level();
        let entry = self.entries.get_mut(id);
        match std::mem::replace(&mut entry.share.state, State::Finished) {
            State::Sharing { until } => self.fair.forget(id, until),
            State::Paused { .. } => {}
            State::Finished => return,
        }
        entry.share.finish = level;
        while let Some(part) = entry.share.finished_part(level) {
            self.fairness_records.push(fairness::record(part.size, part.sent, at, part.own));
        }
        self.policy.virtually_finished(id);
        self.entries.virtually_finished(id, at);
    }
}

/// A share has come to its next stop at `at`. Returns the one after that, if it goes on.
fn stop(
    entries: &mut Entries,
    policy: &mut dyn Policy,
    timers: &mut Timers,
    fairness_records: &mut Vec<FairnessRecord>,
    id: EntryId,
    at: Time,
) -> Option<Level> {
    let entry = entries.get_mut(id);
    let State::Sharing { until: level } = entry.share.state else { return None };
    put_under_way(entry, timers, id, level, at);
    while let Some(part) = entry.share.finished_part(level) {
        fairness_records.push(fairness::record(part.size, part.sent, at, part.own));
    }
    if level >= entry.share.finish {
        entry.share.state = State::Finished;
        policy.virtually_finished(id);
        entries.virtually_finished(id, at);
        return None;
    }
    if entry.share.can_go_on(level, entry.remaining) {
        let until = entry.share.next_stop(level, entry.remaining);
        entry.share.state = State::Sharing { until };
        return Some(until);
    }
    let left = entry.share.left(level);
    entry.share.state = State::Paused { left };
    policy.pause(id, level);
    None
}

fn put_under_way(
    entry: &mut super::entries::Entry,
    timers: &mut Timers,
    id: EntryId,
    level: Level,
    at: Time,
) {
    if let Some((bytes, round_trip)) = entry.share.put_under_way(level) {
        let (number, kind) = (entry.number, TimerKind::Acknowledged(bytes));
        timers.push(Reverse(Timer { at: at + round_trip, id, number, kind }));
    }
}
