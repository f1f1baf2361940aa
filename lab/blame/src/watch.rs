//! Watches processes for a time: chooses the source of events, hands them to the ledger in order, and has
//! the files of calls that block named. What `weir-lab blame` and the experiments call.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use weir_peers::{Error, Result};

use crate::event::{Event, Moment};
use crate::ledger::Ledger;
use crate::names;
use crate::report::{Method, Report};
use crate::sample::{LIST, REST, Sampler};
use crate::tasks;
use crate::trace::{self, Told, Trace};
use crate::width::{Widths, is_narrow};

/// How often events are read. Files are named as soon, so a disk's read is still under way then.
const TICK: Duration = Duration::from_millis(1);
/// After events were lost, /proc is asked what tasks do, at most this often.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How often it is looked at the beginning for tasks that were started before their parents were traced.
/// Each time there are fewer; a server that starts processes all the time has new ones each time.
const ROUNDS: usize = 10;
/// After so long a rest it is looked whether the watch is to end.
const PIECE: Duration = Duration::from_millis(10);

/// How to watch.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// For how long.
    pub duration: Duration,
    /// Do not use tracepoints, which cost every system call of the machine a little.
    pub sample: bool,
}

/// Watches processes, all that they have started and will start, and all threads of them. `stop` is asked
/// about a hundred times a second or more, for the first time when the watch has begun; it ends the watch
/// early. When all that is watched has ended, the watch ends, too.
///
/// # Errors
///
/// A process that is not there, a thread, one of the kernel's, a 32-bit program, this one, or one that
/// this user may not watch; tracing that breaks off.
pub fn watch(pids: &[u32], options: &Options, stop: &dyn Fn() -> bool) -> Result<Report> {
    for &pid in pids {
        tasks::check(pid)?;
    }
    let tasks = tasks::all(pids);
    if tasks.is_empty() {
        return Err(Error("nothing to watch: name a process that runs".into()));
    }
    // From when it has begun: switching tracepoints on takes a moment.
    let watch = || Watch { pids, until: Instant::now() + options.duration, stop };
    if options.sample {
        // Those of a traced watch that was killed go on to cost every system call.
        trace::remove_left();
        return Ok(watch().sampled(&tasks, "sampling was asked for".into()));
    }
    match Trace::start(&tasks) {
        Ok(trace) => watch().traced(trace, &tasks).map_err(|why| Error(format!("tracing: {why}"))),
        Err(why) => Ok(watch().sampled(&tasks, why)),
    }
}

/// Whom, and for how long.
struct Watch<'a> {
    pids: &'a [u32],
    until: Instant,
    stop: &'a dyn Fn() -> bool,
}

impl Watch<'_> {
    fn traced(&self, mut trace: Trace, tasks: &[u32]) -> Result<Report, String> {
        let began = now();
        let mut known: BTreeSet<u32> = tasks.iter().copied().collect();
        let list = |known: &BTreeSet<u32>| tasks::others(self.pids, known);
        self.add_started(&mut known, list, |new| trace.add(new))?;
        let mut told: Vec<Told> = known.iter().map(|&task| found(task)).collect();
        let mut ledger = Ledger::new(began, known);
        let mut widths = Widths::default();
        let mut unknown_since = None;
        let (mut listed, mut rest) = (Instant::now(), LIST);
        loop {
            let ends = self.is_over(&ledger);
            if ends {
                trace.stop()?;
            }
            // A buffer that was read before another may lack what is of the same time: later.
            let complete = now();
            trace.read(&mut told)?;
            told.sort_by_key(Told::at);
            let later = told.partition_point(|told| ends || told.at() <= complete);
            let later = told.split_off(later);
            for told in std::mem::replace(&mut told, later) {
                match told {
                    Told::Event(moment) => ledger.take(&widths.seen(moment, is_narrow)),
                    Told::Lost { at, count } => {
                        ledger.lose(at, count);
                        widths = Widths::default();
                        unknown_since.get_or_insert_with(Instant::now);
                    }
                }
            }
            widths.ask_again();
            name_files(&mut ledger);
            if ends {
                return Ok(ledger.report(complete, Method::Tracepoints));
            }
            if unknown_since.is_some_and(|since| since.elapsed() >= LOOK_AGAIN) {
                unknown_since = None;
                told.extend(ledger.tasks().map(found));
            }
            // The kernel does not tell when it starts a thread for io_uring.
            if listed.elapsed() >= rest {
                let began = Instant::now();
                let new = tasks::others(self.pids, &ledger.tasks().collect());
                // Those that the kernel refuses are tried again the next time.
                if !new.is_empty() && trace.add(&new).is_ok() {
                    told.extend(new.into_iter().map(found));
                }
                (listed, rest) = (Instant::now(), LIST.max(began.elapsed() * REST));
            }
            thread::sleep(TICK);
        }
    }

    /// Adds tasks that were started before their parents were traced, until there are none. What is
    /// left after some rounds was started by those that are traced, or is found later.
    fn add_started(
        &self,
        known: &mut BTreeSet<u32>,
        list: impl Fn(&BTreeSet<u32>) -> Vec<u32>,
        add: impl Fn(&[u32]) -> Result<(), String>,
    ) -> Result<(), String> {
        for round in 0..ROUNDS {
            if round > 0 && self.is_up() {
                break;
            }
            let new = list(known);
            if new.is_empty() {
                break;
            }
            add(&new)?;
            known.extend(new);
        }
        Ok(())
    }

    fn sampled(&self, tasks: &[u32], because: String) -> Report {
        let began = Instant::now();
        let mut ledger = Ledger::new(now(), tasks.iter().copied());
        let mut sampler = Sampler::new(self.pids, tasks);
        while !self.is_over(&ledger) {
            let rest = sampler.round(&mut ledger, now);
            name_files(&mut ledger);
            self.rest(rest);
        }
        let per_second = sampler.looks() as f64 / began.elapsed().as_secs_f64().max(1e-9);
        ledger.report(now(), Method::Sampled { per_second, because })
    }

    fn is_over(&self, ledger: &Ledger) -> bool {
        self.is_up() || !ledger.is_alive()
    }

    fn is_up(&self) -> bool {
        (self.stop)() || Instant::now() >= self.until
    }

    /// Sleeps for so long, or until the watch is up.
    fn rest(&self, time: Duration) {
        let end = (Instant::now() + time).min(self.until);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            thread::sleep(left.min(PIECE));
            if left <= PIECE || (self.stop)() {
                return;
            }
        }
    }
}

/// What /proc says of a task.
fn found(task: u32) -> Told {
    // Before it is looked, so that the end of a task that was there comes after.
    let at = now();
    let event = match tasks::look(task) {
        Some((state, inside)) => Event::Found { state, inside },
        None => Event::Ends,
    };
    Told::Event(Moment { at, task, event })
}

/// Answers the ledger's questions.
fn name_files(ledger: &mut Ledger) {
    for question in ledger.questions() {
        if let Some(name) = names::file_of(question.task, &question.call) {
            ledger.answer(&question, name);
        }
    }
    ledger.settle();
}

/// The clock of the events, in nanoseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn watch(stop: &dyn Fn() -> bool) -> Watch<'_> {
        Watch { pids: &[], until: Instant::now() + LONG, stop }
    }

    #[test]
    fn a_watch_begins_however_fast_tasks_are_started() {
        // As many as were found in all, of a server that has a new one at each look.
        let found = |stop: bool| {
            let stop = || stop;
            let mut known = BTreeSet::new();
            let list = |known: &BTreeSet<u32>| vec![known.len() as u32];
            watch(&stop).add_started(&mut known, list, |_| Ok(())).unwrap();
            known.len()
        };
        assert_eq!((found(false), found(true)), (ROUNDS, 1));
    }

    #[test]
    fn a_rest_ends_with_the_watch() {
        let asked = Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) == 2;
        watch(&stop).rest(LONG);
        assert_eq!(asked.get(), 3);
        let never = || false;
        let over = Watch { until: Instant::now(), ..watch(&never) };
        over.rest(LONG);
    }
}
