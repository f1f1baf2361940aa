//! Operations between their arrival and their answer: when each is due, the thread that answers
//! them then, the faults, and the counts. The FUSE device submits the operations and their answers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::service::{Model, Service};

/// Of the disk's threads, in the round-robin class (sched(7)).
const PRIORITY: &str = "3";

/// What the disk has been asked for since it was mounted, or since
/// [`crate::Disk::reset_counts`]. Operations count when they arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads, of data and of metadata, failed ones too.
    pub reads: u64,
    /// Bytes they asked for.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Operations that started where the last one of their channel ended.
    pub sequential: u64,
    /// Sum of the service times; for `c` channels at most `c` times the time passed.
    pub busy: Duration,
    /// The most operations that were waiting or being served at the same time.
    pub most_waiting: usize,
}

/// What an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
}

/// Sends the answer of an operation: an error, if the argument is true.
pub(crate) type Answer = Box<dyn FnOnce(bool) + Send>;

/// The queue of operations, shared by those who bring them and those who answer.
pub(crate) struct Engine {
    began: Instant,
    state: Mutex<State>,
    /// Something that the answering thread should look at.
    changed: Condvar,
}

struct State {
    service: Service,
    due: BinaryHeap<Reverse<Due>>,
    /// How many operations have arrived: breaks ties, first in first out.
    arrived: u64,
    counts: Counts,
    fail_reads: bool,
    hang: bool,
    ending: bool,
}

struct Due {
    finish: Duration,
    arrival: u64,
    kind: Kind,
    answer: Answer,
}

impl Due {
    fn key(&self) -> (Duration, u64) {
        (self.finish, self.arrival)
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Due {}

impl Engine {
    /// An empty queue without a model and without faults.
    pub(crate) fn new() -> Engine {
        let state = State {
            service: Service::new(None),
            due: BinaryHeap::new(),
            arrived: 0,
            counts: Counts::default(),
            fail_reads: false,
            hang: false,
            ending: false,
        };
        Engine { began: Instant::now(), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Start the thread that answers.
    pub(crate) fn start(self: &Arc<Engine>) -> Result<JoinHandle<()>, Error> {
        let engine = Arc::clone(self);
        std::thread::Builder::new()
            .name("slowdisk-timer".into())
            .spawn(move || {
                serve_the_kernel();
                engine.answer_all();
            })
            .map_err(|e| Error::new(format!("cannot start the thread that answers: {e}")))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take an operation that arrived at `now`, and answer it when it is due.
    pub(crate) fn accept(&self, now: Instant, kind: Kind, offset: u64, bytes: u64, answer: Answer) {
        let mut state = self.state();
        let now = now.saturating_duration_since(self.began);
        let served = state.service.serve(now, offset, bytes);
        let arrival = state.arrived;
        state.arrived += 1;
        state.due.push(Reverse(Due { finish: served.finish, arrival, kind, answer }));
        let waiting = state.due.len();
        let first = state.due.peek().is_some_and(|Reverse(due)| due.arrival == arrival);
        let counts = &mut state.counts;
        match kind {
            Kind::Read => {
                (counts.reads, counts.read_bytes) = (counts.reads + 1, counts.read_bytes + bytes)
            }
            Kind::Write => {
                (counts.writes, counts.written_bytes) =
                    (counts.writes + 1, counts.written_bytes + bytes);
            }
        }
        counts.sequential += u64::from(served.sequential);
        counts.busy += served.finish - served.start;
        counts.most_waiting = counts.most_waiting.max(waiting);
        drop(state);
        if first {
            self.changed.notify_one();
        }
    }

    /// The loop of the answering thread, until [`Engine::end`].
    fn answer_all(&self) {
        let mut state = self.state();
        loop {
            let now = self.began.elapsed();
            let (wait, ending) = match state.due.peek() {
                None if state.ending => return,
                None => (None, false),
                Some(_) if state.hang && !state.ending => (None, false),
                Some(Reverse(due)) => (Some(due.finish.saturating_sub(now)), state.ending),
            };
            match wait {
                Some(wait) if wait.is_zero() || ending => {
                    let Some(Reverse(due)) = state.due.pop() else { continue };
                    let failed = due.kind == Kind::Read && state.fail_reads;
                    // The answer is a system call that copies up to a megabyte.
                    drop(state);
                    (due.answer)(failed);
                    state = self.state();
                }
                Some(wait) => {
                    let woken = self.changed.wait_timeout(state, wait);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Change the model. Without one, operations under way end at once; with one,
    /// they keep their times, and new ones find idle channels.
    pub(crate) fn set_model(&self, model: Option<Model>) {
        let mut state = self.state();
        state.service = Service::new(model);
        if model.is_none() {
            let due = std::mem::take(&mut state.due).into_vec();
            let at_once = |Reverse(due)| Reverse(Due { finish: Duration::ZERO, ..due });
            state.due = due.into_iter().map(at_once).collect();
        }
        drop(state);
        self.changed.notify_one();
    }

    pub(crate) fn fail_reads(&self, fail: bool) {
        self.state().fail_reads = fail;
    }

    pub(crate) fn hang(&self, hang: bool) {
        self.state().hang = hang;
        self.changed.notify_one();
    }

    pub(crate) fn counts(&self) -> Counts {
        self.state().counts
    }

    pub(crate) fn reset_counts(&self) {
        self.state().counts = Counts::default();
    }

    /// Answer everything at once and let the answering thread end.
    pub(crate) fn end(&self) {
        self.state().ending = true;
        self.changed.notify_one();
    }
}

/// Make the calling thread, and those it starts, fit to serve I/O: it must wake up on time, and must not
/// wait for memory that is only freed once this very disk has been written to.
///
/// Failures are ignored: the disk works without, but less punctually.
pub(crate) fn serve_the_kernel() {
    // Timers of ordinary threads may be 50 µs late, to save wake-ups.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let _ = rustix::process::configure_io_flusher_behavior(true);
    come_first();
}

/// Put the calling thread before all that waits for the disk, and before load generators of priority 2: it
/// needs little time, but soon.
fn come_first() {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let mut command = Command::new("chrt");
    command.args(["--rr", "-p", PRIORITY, &thread]).stdin(Stdio::null());
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    const SEEK: Duration = Duration::from_millis(20);

    /// An engine with one channel and its thread.
    fn engine() -> (Arc<Engine>, JoinHandle<()>) {
        let engine = Arc::new(Engine::new());
        engine.set_model(Some(Model { seek: SEEK, bytes_per_second: 0, channels: 1 }));
        let thread = engine.start().unwrap();
        (engine, thread)
    }

    /// Let two reads and a write arrive; receive their number and whether they failed.
    fn three(engine: &Engine) -> Receiver<(u64, bool)> {
        let (sender, receiver) = channel();
        for (number, kind) in [Kind::Read, Kind::Read, Kind::Write].into_iter().enumerate() {
            let (number, sender) = (number as u64, sender.clone());
            let answer = Box::new(move |failed| sender.send((number, failed)).unwrap());
            engine.accept(Instant::now(), kind, number * 100, 10, answer);
        }
        receiver
    }

    #[test]
    fn answers_come_in_order_and_not_too_early() {
        let (engine, thread) = engine();
        let began = Instant::now();
        let answers = three(&engine);
        for number in 0..3 {
            assert_eq!(answers.recv(), Ok((number, false)));
            assert!(began.elapsed() >= SEEK * (number as u32 + 1));
        }
        let counts = Counts {
            reads: 2,
            read_bytes: 20,
            writes: 1,
            written_bytes: 10,
            sequential: 0,
            busy: 3 * SEEK,
            most_waiting: 3,
        };
        assert_eq!(engine.counts(), counts);
        engine.end();
        thread.join().unwrap();
    }

    #[test]
    fn a_hanging_disk_answers_once_released_and_failing_reads_fail() {
        let (engine, thread) = engine();
        engine.hang(true);
        engine.fail_reads(true);
        let answers = three(&engine);
        answers.recv_timeout(4 * SEEK).unwrap_err();
        engine.hang(false);
        assert_eq!(answers.iter().collect::<Vec<_>>(), [(0, true), (1, true), (2, false)]);
        engine.end();
        thread.join().unwrap();
    }

    #[test]
    fn without_the_model_and_at_the_end_nothing_waits() {
        let (engine, thread) = engine();
        let hour = Duration::from_secs(3600);
        let slow = Model { seek: hour, bytes_per_second: 0, channels: 1 };
        engine.set_model(Some(slow));
        let answers = three(&engine);
        engine.set_model(None);
        assert_eq!(answers.iter().count(), 3);
        engine.set_model(Some(slow));
        let answers = three(&engine);
        engine.hang(true);
        engine.end();
        assert_eq!(answers.iter().map(|(number, _)| number).collect::<Vec<_>>(), [0, 1, 2]);
        thread.join().unwrap();
    }
}
