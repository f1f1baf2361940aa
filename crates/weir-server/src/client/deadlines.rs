//! Deadlines of many connections at little cost: setting one is a store, and a worker looks through
//! those that may have passed ten times a second. When descriptors are short, it also says which of the
//! waiting connections are closed first. Used by [`super::Client`].

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

use slab::Slab;
use weir_sched::Time;

use crate::sys::clock;

/// How exact a deadline is.
const TICK: Duration = Duration::from_millis(100);

/// Every connection that waits is looked at this often, so that what is left behind by those that
/// end soon never adds up.
const LOOK: Duration = Duration::from_secs(4);

/// The deadlines of one worker.
#[derive(Debug, Default)]
pub(crate) struct Deadlines(RefCell<Book>);

#[derive(Debug, Default)]
struct Book {
    entries: Slab<Rc<Entry>>,
    /// When to look at which entry: by tick, place and number.
    due: BTreeMap<u64, Vec<(usize, u64)>>,
    issued: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    /// Since when its connection is idle; `NEVER`: it is not.
    idle_since: Cell<Time>,
    /// Its connection is to end, unless it goes on by itself.
    given_up: Cell<bool>,
    /// When the task is woken; `Time::NEVER`: never.
    at: Cell<Time>,
    /// The tick under which it stands in the book, if it does.
    filed: Cell<Option<u64>>,
    waker: RefCell<Option<Waker>>,
}

impl Entry {
    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

impl Deadlines {
    /// A place for one task's deadline.
    pub(crate) fn enter(self: &Rc<Self>) -> Deadline {
        let mut book = self.0.borrow_mut();
        book.issued += 1;
        let entry = Rc::new(Entry {
            number: book.issued,
            idle_since: Cell::new(Time::NEVER),
            given_up: Cell::default(),
            at: Cell::new(Time::NEVER),
            filed: Cell::new(None),
            waker: RefCell::default(),
        });
        let place = book.entries.insert(entry.clone());
        Deadline { deadlines: self.clone(), entry, place }
    }

    /// Wakes tasks whose deadlines have passed, for as long as the worker runs.
    pub(crate) async fn run(&self) {
        loop {
            tokio::time::sleep(TICK).await;
            self.look(clock::now());
        }
    }

    /// Wakes every task that waits, whatever its deadline.
    pub(crate) fn wake_all(&self) {
        let book = self.0.borrow();
        book.entries.iter().for_each(|(_, entry)| entry.wake());
    }

    /// Has up to `count` tasks of idle connections end, the longest idle first; returns how many.
    pub(crate) fn give_up(&self, count: usize) -> usize {
        let book = self.0.borrow();
        let is_idle = |entry: &Entry| entry.idle_since.get() < Time::NEVER && !entry.given_up.get();
        let idle = book.entries.iter().filter(|(_, entry)| is_idle(entry));
        let mut ranked: Vec<_> =
            idle.map(|(place, entry)| (entry.idle_since.get(), place)).collect();
        if count < ranked.len() {
            ranked.select_nth_unstable(count);
            ranked.truncate(count);
        }
        for (_, place) in &ranked {
            let entry = &book.entries[*place];
            entry.given_up.set(true);
            entry.wake();
        }
        ranked.len()
    }

    fn look(&self, now: Time) {
        let mut book = self.0.borrow_mut();
        while let Some(first) = book.due.first_entry().filter(|first| *first.key() <= tick(now)) {
            let (tick, due) = first.remove_entry();
            for (place, number) in due {
                let entry = book.entries.get(place).filter(|entry| entry.number == number);
                let Some(entry) = entry.filter(|entry| entry.filed.get() == Some(tick)).cloned()
                else {
                    continue;
                };
                entry.filed.set(None);
                match entry.at.get() {
                    Time::NEVER => {}
                    at if at <= now => entry.wake(),
                    at => book.file(place, &entry, at, now),
                }
            }
        }
    }
}

impl Book {
    fn file(&mut self, place: usize, entry: &Entry, at: Time, now: Time) {
        // Never in the tick that is being looked at.
        let tick = tick(at.min(now + LOOK)).max(tick(now)) + 1;
        if entry.filed.get().is_none_or(|filed| tick < filed) {
            entry.filed.set(Some(tick));
            self.due.entry(tick).or_default().push((place, entry.number));
        }
    }
}

fn tick(at: Time) -> u64 {
    at.as_nanos() / TICK.as_nanos() as u64
}

/// The deadline of one task.
#[derive(Debug)]
pub(crate) struct Deadline {
    deadlines: Rc<Deadlines>,
    entry: Rc<Entry>,
    place: usize,
}

impl Deadline {
    /// A deadline of its own for something else that the same task waits for.
    pub(crate) fn another(&self) -> Deadline {
        self.deadlines.enter()
    }

    /// The connection of the task is idle since then; `NEVER`: it is not.
    pub(crate) fn idle_since(&self, since: Time) {
        self.entry.idle_since.set(since);
    }

    /// Whether the task is to end, since its descriptor is needed.
    pub(crate) fn is_given_up(&self) -> bool {
        self.entry.given_up.get() && self.entry.idle_since.get() < Time::NEVER
    }

    /// [`Deadlines::give_up`] for the tasks of the same worker.
    pub(crate) fn give_up_others(&self, count: usize) -> usize {
        self.deadlines.give_up(count)
    }

    /// From now on the deadline is `at`.
    pub(crate) fn set(&self, at: Time) {
        self.entry.at.set(at);
    }

    /// There is none.
    pub(crate) fn clear(&self) {
        self.entry.at.set(Time::NEVER);
    }

    /// Whether it has passed at `now`; if not, the task is woken when it has, up to a tick late.
    pub(crate) fn passed(&self, now: Time, context: &Context<'_>) -> bool {
        let at = self.entry.at.get();
        if at <= now {
            return true;
        }
        let mut waker = self.entry.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            *waker = Some(context.waker().clone());
        }
        if at < Time::NEVER && self.entry.filed.get().is_none_or(|filed| tick(at) + 1 < filed) {
            self.deadlines.0.borrow_mut().file(self.place, &self.entry, at, now);
        }
        false
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.deadlines.0.borrow_mut().entries.remove(self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn at(seconds: f64) -> Time {
        Time::from_nanos((seconds * 1e9) as u64)
    }

    #[test]
    fn a_task_is_woken_at_its_deadline_and_not_before() {
        let deadlines = Rc::new(Deadlines::default());
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let context = Context::from_waker(&waker);
        let count = || woken.0.load(Ordering::Relaxed);
        let (early, late) = (deadlines.enter(), deadlines.enter());
        early.set(at(7.0));
        late.set(at(20.0));
        assert!(!early.passed(at(0.0), &context) && !late.passed(at(0.0), &context));
        for step in 1..69 {
            deadlines.look(at(f64::from(step) / 10.0));
        }
        assert_eq!(count(), 0);
        deadlines.look(at(7.2));
        assert_eq!(count(), 1);
        assert!(early.passed(at(7.2), &context));
        // Put off: nothing happens at the time it was; put forward: it is woken earlier.
        early.set(at(100.0));
        assert!(!early.passed(at(7.2), &context));
        late.set(at(9.0));
        assert!(!late.passed(at(7.3), &context));
        deadlines.look(at(9.3));
        assert_eq!(count(), 2);
        late.clear();
        assert!(!late.passed(at(9.3), &context));
        deadlines.look(at(90.0));
        assert_eq!(count(), 2);
        deadlines.wake_all();
        assert_eq!(count(), 4);
    }

    #[test]
    fn those_that_have_waited_longest_are_given_up_first() {
        let deadlines = Rc::new(Deadlines::default());
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let context = Context::from_waker(&waker);
        let enter = |since| {
            let task = deadlines.enter();
            task.set(at(75.0));
            assert!(!task.passed(at(6.0), &context));
            task.idle_since(since);
            task
        };
        let tasks = [Time::NEVER, at(5.0), at(3.0), at(4.0), Time::NEVER].map(enter);
        let given_up =
            || (0..tasks.len()).filter(|task| tasks[*task].is_given_up()).collect::<Vec<_>>();
        assert_eq!((deadlines.give_up(1), given_up()), (1, vec![2]));
        assert_eq!((deadlines.give_up(1), given_up()), (1, vec![2, 3]));
        // One that has gone on is not held to it, until it waits again.
        tasks[3].idle_since(Time::NEVER);
        assert_eq!((deadlines.give_up(9), given_up()), (1, vec![1, 2]));
        assert_eq!((deadlines.give_up(9), woken.0.load(Ordering::Relaxed)), (0, 3));
        tasks[3].idle_since(at(7.0));
        assert_eq!(given_up(), [1, 2, 3]);
    }

    #[test]
    fn what_ended_is_forgotten() {
        let deadlines = Rc::new(Deadlines::default());
        let context = Context::from_waker(Waker::noop());
        for round in 0..100 {
            let deadline = deadlines.enter();
            deadline.set(at(f64::from(round) + 75.0));
            assert!(!deadline.passed(at(f64::from(round)), &context));
            drop(deadline);
            deadlines.look(at(f64::from(round)));
        }
        let book = deadlines.0.borrow();
        assert!(book.entries.is_empty() && book.due.values().map(Vec::len).sum::<usize>() <= 5);
    }
}
