//! The time that calls kept tasks off the processor, summed by task, call and file. The ledger adds each
//! call that blocked, and the answers to its questions for files as they come.

use std::collections::{HashMap, HashSet};

use crate::calls::about;
use crate::event::State;
use crate::report::Blocked;

/// Files that are told apart; a watch of hours must not fill the memory.
const MOST_NAMES: usize = 50_000;
const OTHERS: &str = "(other files)";

/// The answer to a question that nobody has answered.
const UNANSWERED: u32 = u32::MAX;

/// One call that blocked, or one stretch outside of calls. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stall {
    /// Its number, or one of those of `calls`.
    pub(super) call: i64,
    /// The question for its file, if there is one.
    pub(super) question: Option<u32>,
    /// Time in uninterruptible sleep.
    pub(super) held: u64,
    /// Time in interruptible sleep.
    pub(super) asleep: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    task: u32,
    call: i64,
    name: Option<u32>,
    is_wait: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    calls: u64,
    total: u64,
    longest: u64,
}

/// All sums.
#[derive(Debug, Default)]
pub(super) struct Rows {
    tallies: HashMap<Key, Tally>,
    /// Names by number, and numbers by name.
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// Numbers of names, by question.
    answers: Vec<u32>,
    /// Calls that have ended before the question for their file was answered.
    unanswered: Vec<(u32, Stall)>,
    /// Tasks that run an event loop.
    loops: HashSet<u32>,
}

impl Rows {
    /// The number of a new question.
    pub(super) fn ask(&mut self) -> u32 {
        self.answers.push(UNANSWERED);
        self.answers.len() as u32 - 1
    }

    /// The file that a question was about.
    pub(super) fn answer(&mut self, question: u32, name: String) {
        let Some(answer) = self.answers.get_mut(question as usize) else { return };
        let name = match self.names.len() >= MOST_NAMES && !self.numbers.contains_key(&name) {
            true => OTHERS.to_owned(),
            false => name,
        };
        let next = self.names.len() as u32;
        *answer = *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        });
    }

    /// Counts the calls whose questions have been asked, whether or not there was an answer.
    pub(super) fn settle(&mut self) {
        for (task, stall) in std::mem::take(&mut self.unanswered) {
            self.count(task, &stall);
        }
    }

    /// A task runs an event loop.
    pub(super) fn loops(&mut self, task: u32) {
        self.loops.insert(task);
    }

    /// A task has been through a call that blocked.
    pub(super) fn add(&mut self, task: u32, stall: Stall) {
        match stall.question {
            Some(_) if self.name(&stall).is_none() => self.unanswered.push((task, stall)),
            _ => self.count(task, &stall),
        }
    }

    fn count(&mut self, task: u32, stall: &Stall) {
        let name = self.name(stall);
        for (is_wait, time) in self.parts(stall) {
            let key = Key { task, call: stall.call, name, is_wait };
            let tally = self.tallies.entry(key).or_default();
            tally.calls += 1;
            tally.total += time;
            tally.longest = tally.longest.max(time);
        }
    }

    /// The number of the name of a call's file, if it is known.
    fn name(&self, stall: &Stall) -> Option<u32> {
        let answer = self.answers.get(stall.question? as usize)?;
        (*answer != UNANSWERED).then_some(*answer)
    }

    fn text(&self, name: Option<u32>) -> Option<&str> {
        self.names.get(name? as usize).map(String::as_str)
    }

    /// What of a stall was blame, and what a wait; parts without time are left out.
    fn parts(&self, stall: &Stall) -> impl Iterator<Item = (bool, u64)> + use<> {
        let text = self.text(self.name(stall));
        let asleep_is_wait = about(stall.call).is_wait(State::Interruptible, text);
        let (blame, wait) = match asleep_is_wait {
            true => (stall.held, stall.asleep),
            false => (stall.held + stall.asleep, 0),
        };
        [(false, blame), (true, wait)].into_iter().filter(|(_, time)| *time > 0)
    }

    /// What is to blame, and what was a wait. The tasks are put together, but for whether they run an
    /// event loop.
    pub(super) fn report(&self) -> (Vec<Blocked>, Vec<Blocked>) {
        let of = |is_wait| {
            self.blocked(self.tallies.iter().filter(move |(key, _)| key.is_wait == is_wait))
        };
        (of(false), of(true))
    }

    /// The same for the calls of one turn of an event loop, waits included.
    pub(super) fn of_turn(&self, task: u32, stalls: &[Stall]) -> Vec<Blocked> {
        let mut turn = HashMap::new();
        for stall in stalls {
            let key = Key { task, call: stall.call, name: self.name(stall), is_wait: false };
            let tally: &mut Tally = turn.entry(key).or_default();
            let time = stall.held + stall.asleep;
            tally.calls += 1;
            tally.total += time;
            tally.longest = tally.longest.max(time);
        }
        self.blocked(turn.iter())
    }

    fn blocked<'a>(&self, tallies: impl Iterator<Item = (&'a Key, &'a Tally)>) -> Vec<Blocked> {
        let mut sums: HashMap<(i64, Option<u32>, bool), Tally> = HashMap::new();
        for (key, tally) in tallies {
            let sum = sums.entry((key.call, key.name, self.loops.contains(&key.task))).or_default();
            sum.calls += tally.calls;
            sum.total += tally.total;
            sum.longest = sum.longest.max(tally.longest);
        }
        let row = |((call, name, in_event_loop), sum): (_, Tally)| Blocked {
            call: about(call).name.into_owned(),
            path: self.text(name).map(str::to_owned),
            in_event_loop,
            calls: sum.calls,
            total_s: sum.total as f64 / 1e9,
            mean_s: sum.total as f64 / sum.calls as f64 / 1e9,
            longest_s: sum.longest as f64 / 1e9,
        };
        let mut rows: Vec<Blocked> = sums.into_iter().map(row).collect();
        Blocked::sort(&mut rows);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_whether_its_file_is_told_before_its_end_after_it_or_never() {
        let mut rows = Rows::default();
        let stall = |rows: &mut Rows| Stall {
            call: 100_000,
            question: Some(rows.ask()),
            held: 5,
            asleep: 0,
        };
        let (before, after, never) = (stall(&mut rows), stall(&mut rows), stall(&mut rows));
        rows.answer(0, "/a".into());
        rows.add(1, before);
        rows.add(1, after);
        rows.add(1, never);
        rows.answer(1, "/a".into());
        rows.settle();
        let (blocked, waiting) = rows.report();
        let found: Vec<_> = blocked.iter().map(|row| (row.path.as_deref(), row.calls)).collect();
        assert_eq!(found, [(Some("/a"), 2), (None, 1)]);
        assert!(waiting.is_empty());
    }

    #[test]
    fn names_beyond_the_most_are_one() {
        let mut rows = Rows::default();
        for number in 0..MOST_NAMES + 2 {
            let question = rows.ask();
            rows.answer(question, format!("/{number}"));
        }
        let question = Some(MOST_NAMES as u32 + 1);
        let stall = Stall { question, ..Stall::default() };
        assert_eq!(rows.text(rows.name(&stall)), Some(OTHERS));
    }
}
