//! What the ledger holds of one task: whether it runs, in which call it is, and the turn of its event
//! loop.

use super::rows::Stall;
use crate::calls::{PAGE_FAULT, UNKNOWN};
use crate::event::{Inside, State};

/// Whether a task runs, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Unknown,
    Running,
    /// Ready and without a processor.
    Queued,
    /// In interruptible sleep.
    Asleep,
    /// In uninterruptible sleep.
    Held,
}

impl Condition {
    pub(super) fn is_known(self) -> bool {
        self != Condition::Unknown
    }

    pub(super) fn is_runnable(self) -> bool {
        matches!(self, Condition::Running | Condition::Queued)
    }

    /// The condition of a task that sleeps in this state; `runnable` if it does not sleep.
    pub(super) fn of(state: State, runnable: Condition) -> Condition {
        match state {
            State::Runnable => runnable,
            State::Interruptible => Condition::Asleep,
            State::Uninterruptible => Condition::Held,
        }
    }
}

/// Nanoseconds of all tasks by their conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) unknown: u64,
    pub(super) running: u64,
    pub(super) queued: u64,
    pub(super) asleep: u64,
    pub(super) held: u64,
}

impl Times {
    pub(super) fn add(&mut self, condition: Condition, time: u64) {
        *match condition {
            Condition::Unknown => &mut self.unknown,
            Condition::Running => &mut self.running,
            Condition::Queued => &mut self.queued,
            Condition::Asleep => &mut self.asleep,
            Condition::Held => &mut self.held,
        } += time;
    }
}

/// A turn of an event loop under way.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) began: u64,
    /// Nanoseconds of it without a processor.
    pub(super) queued: u64,
    /// Its calls that blocked.
    pub(super) stalls: Vec<Stall>,
}

impl Turn {
    pub(super) fn new(began: u64) -> Turn {
        Turn { began, queued: 0, stalls: Vec::new() }
    }
}

/// One task.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) condition: Condition,
    /// When it came into its condition.
    pub(super) since: u64,
    pub(super) inside: Inside,
    /// What the present call, or the stretch outside of calls, has cost up to the last change.
    pub(super) stall: Stall,
    pub(super) turn: Option<Turn>,
}

impl Task {
    /// A task of which nothing is known.
    pub(super) fn new(now: u64) -> Task {
        Task {
            condition: Condition::Unknown,
            since: now,
            inside: Inside::Unknown,
            stall: Stall::default(),
            turn: None,
        }
    }

    /// Comes into another condition; how long it was in the last one.
    pub(super) fn change(&mut self, now: u64, next: Condition) -> u64 {
        let time = now.saturating_sub(self.since);
        match self.condition {
            Condition::Held => self.stall.held += time,
            Condition::Asleep => self.stall.asleep += time,
            Condition::Queued => {
                if let Some(turn) = &mut self.turn {
                    turn.queued += time;
                }
            }
            Condition::Unknown | Condition::Running => {}
        }
        (self.condition, self.since) = (next, now);
        time
    }

    /// The end of its call, or of a stretch outside of calls: what it has cost, if anything.
    pub(super) fn finish(&mut self) -> Option<Stall> {
        let call = match self.inside {
            Inside::Unknown => UNKNOWN,
            Inside::Program => PAGE_FAULT,
            Inside::Call(call) => call.number,
        };
        let stall = Stall { call, ..std::mem::take(&mut self.stall) };
        if stall.held + stall.asleep == 0 {
            return None;
        }
        if let Some(turn) = &mut self.turn {
            turn.stalls.push(stall);
        }
        Some(stall)
    }
}
