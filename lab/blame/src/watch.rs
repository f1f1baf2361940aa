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
use crate::sample::Sampler;
use crate::tasks;
use crate::trace::{Told, Trace};

/// How often events are read. Files are named as soon, so a disk's read is still under way then.
const TICK: Duration = Duration::from_millis(1);
/// After events were lost, /proc is asked what tasks do, at most this often.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How to watch.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// For how long.
    pub duration: Duration,
    /// Do not use tracepoints, which cost every system call of the machine a little.
    pub sample: bool,
}

/// Watches processes, all that they have started and will start, and all threads of them. `stop` is asked
/// a thousand times a second, for the first time when the watch has begun; it ends the watch early.
/// When all that is watched has ended, the watch ends, too.
///
/// # Errors
///
/// A process that is not there, a thread, one of the kernel's, this one, or one that this user may not
/// watch; tracing that breaks off.
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
        // Tasks that were started before their parents were traced, until there are none.
        loop {
            let all = tasks::all(self.pids);
            let new: Vec<u32> = all.into_iter().filter(|task| !known.contains(task)).collect();
            if new.is_empty() {
                break;
            }
            trace.add(&new)?;
            known.extend(new);
        }
        let mut told: Vec<Told> = known.iter().map(|&task| found(task)).collect();
        let mut ledger = Ledger::new(began, known);
        let mut unknown_since = None;
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
                    Told::Event(moment) => ledger.take(&moment),
                    Told::Lost { at, count } => {
                        ledger.lose(at, count);
                        unknown_since.get_or_insert_with(Instant::now);
                    }
                }
            }
            name_files(&mut ledger);
            if ends {
                return Ok(ledger.report(complete, Method::Tracepoints));
            }
            if unknown_since.is_some_and(|since| since.elapsed() >= LOOK_AGAIN) {
                unknown_since = None;
                told.extend(ledger.tasks().map(found));
            }
            thread::sleep(TICK);
        }
    }

    fn sampled(&self, tasks: &[u32], because: String) -> Report {
        let began = Instant::now();
        let mut ledger = Ledger::new(now(), tasks.iter().copied());
        let mut sampler = Sampler::new(self.pids, tasks);
        while !self.is_over(&ledger) {
            let rest = sampler.round(&mut ledger, now);
            name_files(&mut ledger);
            thread::sleep(rest);
        }
        let per_second = sampler.looks() as f64 / began.elapsed().as_secs_f64().max(1e-9);
        ledger.report(now(), Method::Sampled { per_second, because })
    }

    fn is_over(&self, ledger: &Ledger) -> bool {
        (self.stop)() || Instant::now() >= self.until || !ledger.is_alive()
    }
}

/// What /proc says of a task.
fn found(task: u32) -> Told {
    let event = match tasks::look(task) {
        Some((state, inside)) => Event::Found { state, inside },
        None => Event::Ends,
    };
    Told::Event(Moment { at: now(), task, event })
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
