//! Makes a report of events, in their order, without I/O or a clock. `watch` hands it what a source
//! tells, and answers its questions for the files of calls that block.
//!
//! No order of events makes it fail: one that contradicts what is known (because others were lost)
//! stands, and what is known gives way. A task's times always add up to the time it was watched.

mod ready;
mod rows;
mod runnable;
mod task;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::calls::{Subject, about, closes, is_loop_wait};
use crate::event::{Call, Event, Inside, Moment, State};
use crate::report::{self, Method, Report};
use ready::Ready;
use rows::Rows;
use runnable::Runnable;
use task::{Condition, Task, Times, Turn};

/// A question for the file of a call that blocks; to be answered at once or never, for arguments and
/// descriptors soon stand for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) number: u32,
    pub(crate) task: u32,
    pub(crate) call: Call,
}

/// The longest turn up to now.
#[derive(Debug)]
struct Longest {
    task: u32,
    length: u64,
    unfinished: bool,
    turn: Turn,
}

/// All that is known of the tasks that are watched.
#[derive(Debug)]
pub(crate) struct Ledger {
    began: u64,
    now: u64,
    tasks: HashMap<u32, Task>,
    most_tasks: usize,
    times: Times,
    runnable: Runnable,
    ready: Ready,
    rows: Rows,
    longest: Option<Longest>,
    questions: Vec<Question>,
    lost: u64,
}

impl Ledger {
    /// Of these tasks, from `began` on, in nanoseconds of the clock of the events.
    pub(crate) fn new(began: u64, tasks: impl IntoIterator<Item = u32>) -> Ledger {
        let mut ledger = Ledger {
            began,
            now: began,
            tasks: HashMap::new(),
            most_tasks: 0,
            times: Times::default(),
            runnable: Runnable::new(began),
            ready: Ready::default(),
            rows: Rows::default(),
            longest: None,
            questions: Vec::new(),
            lost: 0,
        };
        for task in tasks {
            ledger.adopt(task);
        }
        ledger
    }

    /// Takes note of an event. One that is earlier than the last counts as of the same time.
    pub(crate) fn take(&mut self, moment: &Moment) {
        self.advance(moment.at);
        let id = moment.task;
        match moment.event {
            Event::Found { state, inside } => {
                if !self.adopt(id).condition.is_known() {
                    self.go(id, inside);
                    self.rest(id, state, Condition::Running);
                }
            }
            Event::Sampled { state, inside } => self.sampled(id, state, inside),
            Event::Enters(call) => {
                self.adopt(id);
                self.change(id, Condition::Running);
                self.finish(id);
                self.drop_questions(id, &call);
                self.go(id, Inside::Call(call));
            }
            Event::Returns { number, value } => {
                let inside = self.adopt(id).inside;
                self.change(id, Condition::Running);
                self.finish(id);
                self.go(id, Inside::Program);
                let call = match inside {
                    Inside::Call(call) if call.number == number => call,
                    _ => Call { number, arguments: [0; 6] },
                };
                if is_loop_wait(&call) {
                    self.rows.loops(id);
                    self.ready.add(value);
                    self.begin_turn(id);
                }
            }
            Event::Stops(state) => self.rest(id, state, Condition::Queued),
            Event::Runs => self.change(id, Condition::Running),
            Event::Wakes => {
                let runs = self.tasks.get(&id).is_some_and(|task| task.condition.is_runnable());
                if !runs {
                    self.change(id, Condition::Queued);
                }
            }
            Event::Forks { child } => {
                self.adopt(child);
                self.change(child, Condition::Queued);
            }
            Event::Ends => self.end(id, false),
        }
    }

    /// The kernel has lost events before this time: what tasks do is not known any more.
    pub(crate) fn lose(&mut self, at: u64, count: u64) {
        self.advance(at);
        self.lost += count;
        let ids: Vec<u32> = self.tasks.keys().copied().collect();
        for id in ids {
            // The present stretch may have ended long ago: it is nobody's fault.
            self.finish(id);
            if let Some(task) = self.tasks.get_mut(&id) {
                self.times.add(Condition::Unknown, self.now - task.since);
                *task = Task::new(self.now);
            }
        }
        (self.runnable.known, self.runnable.runnable) = (0, 0);
    }

    /// The questions since the last time.
    pub(crate) fn questions(&mut self) -> Vec<Question> {
        std::mem::take(&mut self.questions)
    }

    /// The file that a question was about.
    pub(crate) fn answer(&mut self, question: &Question, name: String) {
        self.rows.answer(question.number, name);
    }

    /// All questions are answered that can be.
    pub(crate) fn settle(&mut self) {
        self.rows.settle();
    }

    /// Whether any task has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// The tasks that have not ended.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = u32> {
        self.tasks.keys().copied()
    }

    /// What came of it, by this time.
    pub(crate) fn report(mut self, at: u64, method: Method) -> Report {
        self.advance(at);
        let ended = !self.is_alive();
        let sampled = matches!(method, Method::Sampled { .. });
        let mut ids: Vec<u32> = self.tasks.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.end(id, true);
        }
        self.rows.settle();
        let (blocked, waiting) = self.rows.report();
        Report {
            method,
            seconds: (self.now - self.began) as f64 / 1e9,
            ended,
            tasks: self.most_tasks,
            lost_events: self.lost,
            processor_s: self.times.running as f64 / 1e9,
            queued_s: self.times.queued as f64 / 1e9,
            unknown_s: self.times.unknown as f64 / 1e9,
            ready: (!sampled).then(|| self.ready.distribution()),
            runnable: self.runnable.shares(),
            mean_runnable: self.runnable.mean(),
            blocked,
            waiting,
            longest_turn: self.longest.as_ref().map(|longest| report::Turn {
                task: longest.task,
                at_s: (longest.turn.began - self.began) as f64 / 1e9,
                seconds: longest.length as f64 / 1e9,
                unfinished: longest.unfinished,
                queued_s: longest.turn.queued as f64 / 1e9,
                blocked: self.rows.of_turn(longest.task, &longest.turn.stalls),
            }),
        }
    }

    fn advance(&mut self, at: u64) {
        self.now = self.now.max(at);
        self.runnable.advance(self.now, self.tasks.len());
    }

    /// The task of this id, which is watched from now on if it was not.
    fn adopt(&mut self, id: u32) -> &mut Task {
        let count = self.tasks.len() + usize::from(!self.tasks.contains_key(&id));
        self.most_tasks = self.most_tasks.max(count);
        self.tasks.entry(id).or_insert_with(|| Task::new(self.now))
    }

    /// A task comes into another condition. Others than those that are watched do not count.
    fn change(&mut self, id: u32, next: Condition) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let last = task.condition;
        let time = task.change(self.now, next);
        self.times.add(last, time);
        let counts = &mut self.runnable;
        counts.known = counts.known + usize::from(next.is_known()) - usize::from(last.is_known());
        counts.runnable =
            counts.runnable + usize::from(next.is_runnable()) - usize::from(last.is_runnable());
        // A stretch outside of calls is over as soon as the task may run again.
        if !matches!(task.inside, Inside::Call(_)) && next.is_runnable() {
            self.finish(id);
        }
    }

    /// What the call of a task has cost is counted.
    fn finish(&mut self, id: u32) {
        let stall = self.tasks.get_mut(&id).and_then(Task::finish);
        if let Some(stall) = stall {
            self.rows.add(id, stall);
        }
    }

    /// A task leaves its processor, or was found so.
    fn rest(&mut self, id: u32, state: State, runnable: Condition) {
        self.change(id, Condition::of(state, runnable));
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let Inside::Call(call) = task.inside else { return };
        let asks = state != State::Runnable && about(call.number).asks_name(state);
        if asks && task.stall.question.is_none() {
            let number = self.rows.ask();
            task.stall.question = Some(number);
            self.questions.push(Question { number, task: id, call });
        }
    }

    /// A task enters a call or the program. The wait of an event loop ends a turn.
    fn go(&mut self, id: u32, inside: Inside) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.inside = inside;
        }
        if let Inside::Call(call) = inside
            && is_loop_wait(&call)
        {
            self.rows.loops(id);
            self.end_turn(id, false);
        }
    }

    /// A sample: what a task did at the last one, it did until now.
    fn sampled(&mut self, id: u32, state: State, inside: Inside) {
        let last = self.adopt(id).inside;
        self.change(id, Condition::of(state, Condition::Running));
        if last != inside {
            self.finish(id);
            self.go(id, inside);
            // Between two waits that follow one another the turn was shorter than a sample.
            let waits = |at: Inside| matches!(at, Inside::Call(call) if is_loop_wait(&call));
            if waits(last) && !waits(inside) {
                self.begin_turn(id);
            }
        }
        self.rest(id, state, Condition::Running);
    }

    /// The descriptor that this call closes may stand for another file when a question is answered.
    fn drop_questions(&mut self, id: u32, call: &Call) {
        let Some(closed) = (!self.questions.is_empty()).then(|| closes(call)).flatten() else {
            return;
        };
        self.questions.retain(|question| {
            let arguments = question.call.arguments;
            let asked = match about(question.call.number).subject {
                Subject::Descriptor(argument) => arguments.get(argument),
                Subject::Path { at: Some(at), .. } => arguments.get(at),
                Subject::Path { at: None, .. } | Subject::Nothing => None,
            };
            question.task != id || asked != Some(&closed)
        });
    }

    fn begin_turn(&mut self, id: u32) {
        let now = self.now;
        if let Some(task) = self.tasks.get_mut(&id) {
            task.turn = Some(Turn::new(now));
        }
    }

    fn end_turn(&mut self, id: u32, unfinished: bool) {
        let Some(turn) = self.tasks.get_mut(&id).and_then(|task| task.turn.take()) else { return };
        let length = self.now - turn.began;
        if self.longest.as_ref().is_none_or(|longest| length > longest.length) {
            self.longest = Some(Longest { task: id, length, unfinished, turn });
        }
    }

    /// A task ends, or the watch does.
    fn end(&mut self, id: u32, unfinished: bool) {
        self.change(id, Condition::Unknown);
        self.finish(id);
        self.end_turn(id, unfinished);
        self.tasks.remove(&id);
    }
}
