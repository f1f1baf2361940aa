//! The source of events where there are no tracepoints: /proc, looked at again and again, as often as a
//! twentieth of a core allows and at most a thousand times a second.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::event::{Event, Moment};
use crate::ledger::Ledger;
use crate::tasks;
use crate::width::{Programs, Widths};

/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(1);
/// Time to rest for each time spent looking.
pub(crate) const REST: u32 = 19;
/// How often it is looked for new tasks: listing them takes longer than looking at them.
pub(crate) const LIST: Duration = Duration::from_millis(100);

/// Looks at the tasks of some processes.
#[derive(Debug)]
pub(crate) struct Sampler<'a> {
    pids: &'a [u32],
    tasks: BTreeSet<u32>,
    /// When each of them was started: another may get its number.
    started: HashMap<u32, u64>,
    widths: Widths,
    programs: Programs,
    listed: Instant,
    looks: u64,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(pids: &'a [u32], tasks: &[u32]) -> Sampler<'a> {
        Sampler {
            pids,
            tasks: tasks.iter().copied().collect(),
            started: HashMap::new(),
            widths: Widths::default(),
            programs: Programs::default(),
            listed: Instant::now(),
            looks: 0,
        }
    }

    /// Looks at each task once and tells the ledger, whose clock is `now`. How long to rest then.
    pub(crate) fn round(&mut self, ledger: &mut Ledger, now: impl Fn() -> u64) -> Duration {
        let began = Instant::now();
        if self.listed.elapsed() > LIST || self.tasks.is_empty() {
            // Those that are known stay until they end, whoever their parents are by then.
            self.tasks.extend(tasks::others(self.pids, &self.tasks));
            // Any of them may have begun another program.
            self.widths = Widths::default();
            self.programs.ask_again();
            self.listed = Instant::now();
        }
        let mut ended = Vec::new();
        for &task in &self.tasks {
            let event = match tasks::look_at_life(task) {
                Some((started, state, inside))
                    if *self.started.entry(task).or_insert(started) == started =>
                {
                    Event::Sampled { state, inside }
                }
                Some(_) | None => {
                    ended.push(task);
                    Event::Ends
                }
            };
            let moment = Moment { at: now(), task, event };
            ledger.take(&self.widths.seen(moment, |task| self.programs.is_narrow(task)));
        }
        for task in ended {
            self.tasks.remove(&task);
            self.started.remove(&task);
            self.programs.ended(task);
        }
        self.looks += 1;
        (began.elapsed() * REST).max(SHORTEST)
    }

    /// How often each task was looked at.
    pub(crate) fn looks(&self) -> u64 {
        self.looks
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    #[test]
    fn a_child_is_watched_until_it_ends_itself() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 1000 > /dev/null 2>&1 & echo $!; read line"]);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let child: u32 = line.trim().parse().unwrap();
        let pids = [shell.id()];
        let tasks = tasks::all(&pids);
        let mut ledger = Ledger::new(0, tasks.iter().copied());
        let mut sampler = Sampler::new(&pids, &tasks);
        let known: BTreeSet<u32> = ledger.tasks().collect();
        assert_eq!(known, BTreeSet::from([shell.id(), child]));
        // At the end of its input the parent ends.
        drop(shell.stdin.take());
        shell.wait().unwrap();
        sampler.listed -= LIST * 2;
        sampler.round(&mut ledger, || 1);
        assert_eq!(ledger.tasks().collect::<Vec<_>>(), [child]);
        // Its number is another's: that is not watched.
        let started = sampler.started[&child];
        sampler.started.insert(child, started + 1);
        sampler.listed = Instant::now();
        sampler.round(&mut ledger, || 1);
        assert!(!ledger.is_alive() && sampler.tasks.is_empty());
        let mut ledger = Ledger::new(1, [child]);
        let mut sampler = Sampler::new(&[], &[child]);
        kill_process(Pid::from_raw(child.cast_signed()).unwrap(), Signal::KILL).unwrap();
        while ledger.is_alive() {
            sampler.round(&mut ledger, || 2);
            std::thread::yield_now();
        }
    }
}
