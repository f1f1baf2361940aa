//! The threads that compress, and the queue in front of them. They are few and run at a lower priority
//! than the workers, so compression has what the workers leave. Then jobs begin late, and that is how it
//! is noticed that the processor is busy. Used by [`super::Compressor`] and its streams.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::nice;
use weir_sched::Time;

use crate::metrics::{GivenUp, Metrics};
use crate::sys::clock;

/// The most jobs that wait.
const MOST_JOBS: usize = 64;

/// The most bytes that wait to be compressed: of one more job they may be exceeded.
const MOST_BYTES: usize = 8_000_000;

/// Once the first of those that wait has waited longer, nothing new is begun.
const LATE: Duration = Duration::from_millis(100);

/// How long a thread waits for work before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// By how much the threads are nicer than the workers (nice(2)): one has a tenth of a worker's weight.
const NICER: i32 = 10;

type Work = Box<dyn FnOnce() + Send>;

/// See the module.
pub(super) struct Pool {
    state: Mutex<State>,
    work_added: Condvar,
    /// Threads at most.
    most: usize,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    /// Of those in the queue.
    bytes: usize,
    threads: usize,
    /// Threads that have nothing to do.
    idle: usize,
}

struct Job {
    work: Work,
    bytes: usize,
    since: Time,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("most", &self.most).finish_non_exhaustive()
    }
}

impl State {
    fn refusal(&self) -> Option<GivenUp> {
        let first = self.queue.front()?;
        if self.queue.len() >= MOST_JOBS || self.bytes >= MOST_BYTES {
            return Some(GivenUp::QueueFull);
        }
        (clock::now().since(first.since) > LATE).then_some(GivenUp::Busy)
    }
}

impl Pool {
    /// Of `most` threads, which are started when they are needed.
    pub(super) fn new(most: usize, metrics: Arc<Metrics>) -> Arc<Pool> {
        let (state, work_added) = Default::default();
        Arc::new(Pool { state, work_added, most: most.max(1), metrics })
    }

    /// Why nothing new is begun now, if so.
    pub(super) fn refusal(&self) -> Option<GivenUp> {
        self.lock().refusal()
    }

    /// Has `work` done by a thread, for which so many bytes wait meanwhile.
    ///
    /// # Errors
    ///
    /// Why it is not done; it was dropped.
    pub(super) fn begin(
        self: &Arc<Self>,
        bytes: usize,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), GivenUp> {
        let mut state = self.lock();
        match state.refusal() {
            Some(why) => Err(why),
            None => self.add(&mut state, bytes, Box::new(work)),
        }
    }

    /// The same for more of what has begun, which is not refused: whoever began it can only go on.
    ///
    /// # Errors
    ///
    /// There is no thread; it was dropped.
    pub(super) fn go_on(
        self: &Arc<Self>,
        bytes: usize,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), GivenUp> {
        self.add(&mut self.lock(), bytes, Box::new(work))
    }

    fn add(self: &Arc<Self>, state: &mut State, bytes: usize, work: Work) -> Result<(), GivenUp> {
        if state.queue.len() >= state.idle && state.threads < self.most {
            let pool = self.clone();
            match thread::Builder::new().name("weir-compress".to_owned()).spawn(move || pool.work())
            {
                Ok(_) => state.threads += 1,
                // Those that run will do the work.
                Err(error) if state.threads > 0 => {
                    tracing::warn!("cannot start another thread that compresses: {error}");
                }
                Err(error) => {
                    tracing::warn!("cannot start a thread that compresses: {error}");
                    return Err(GivenUp::Failed);
                }
            }
        }
        state.bytes += bytes;
        state.queue.push_back(Job { work, bytes, since: clock::now() });
        self.work_added.notify_one();
        Ok(())
    }

    /// What a thread does: one job after another, until it has had nothing to do for 10 s.
    fn work(&self) {
        // If that is forbidden, the kernel shares the processor equally.
        let _ = nice(NICER);
        let mut state = self.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                state.bytes -= job.bytes;
                drop(state);
                let before = clock::thread_time();
                // Who waits for the result sees that there will be none.
                let _ = catch_unwind(AssertUnwindSafe(job.work));
                self.metrics.compression.spent(clock::thread_time().saturating_sub(before));
                state = self.lock();
                continue;
            }
            state.idle += 1;
            let waited = self.work_added.wait_timeout(state, IDLE);
            let (guard, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            state.idle -= 1;
            if timed_out.timed_out() && state.queue.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A pool whose only thread is kept busy until something is sent.
    fn busy() -> (Arc<Pool>, Sender<()>) {
        let pool = Pool::new(1, Arc::new(Metrics::new()));
        let (release, held) = channel::<()>();
        let (started, has_started) = channel();
        pool.begin(1, move || {
            started.send(()).unwrap();
            let _ = held.recv();
        })
        .unwrap();
        has_started.recv().unwrap();
        (pool, release)
    }

    fn count(pool: &Arc<Pool>, bytes: usize) -> (Result<(), GivenUp>, Receiver<()>) {
        let (done, is_done) = channel();
        (pool.begin(bytes, move || done.send(()).unwrap()), is_done)
    }

    #[test]
    fn what_is_begun_is_done_and_a_panic_ends_nothing() {
        let pool = Pool::new(2, Arc::new(Metrics::new()));
        for number in 0..10 {
            let (begun, is_done) = count(&pool, 1);
            assert_eq!(begun, Ok(()), "{number}");
            is_done.recv().unwrap();
            pool.begin(1, || panic!("as a test wants it")).unwrap();
        }
        assert!(pool.lock().threads <= 2);
    }

    #[test]
    fn a_full_queue_takes_no_more_but_what_has_begun_goes_on() {
        let (pool, release) = busy();
        let taken: Vec<_> = (0..MOST_JOBS).map(|_| count(&pool, 1)).collect();
        assert!(taken.iter().all(|(begun, _)| begun.is_ok()));
        assert_eq!(count(&pool, 1).0, Err(GivenUp::QueueFull));
        assert_eq!(pool.refusal(), Some(GivenUp::QueueFull));
        let (done, is_done) = channel();
        pool.go_on(1, move || done.send(()).unwrap()).unwrap();
        release.send(()).unwrap();
        is_done.recv().unwrap();
        taken.iter().for_each(|(_, is_done)| is_done.recv().unwrap());
        assert_eq!((pool.refusal(), pool.lock().bytes), (None, 0));
    }

    #[test]
    fn many_bytes_are_a_full_queue() {
        let (pool, release) = busy();
        let (first, _) = count(&pool, MOST_BYTES);
        assert_eq!((first, count(&pool, 1).0), (Ok(()), Err(GivenUp::QueueFull)));
        drop(release);
    }

    #[test]
    fn what_waits_for_long_tells_that_the_processor_is_busy() {
        let (pool, release) = busy();
        let (_begun, is_done) = count(&pool, 1);
        let start = std::time::Instant::now();
        while pool.refusal() != Some(GivenUp::Busy) {
            assert!(start.elapsed() < Duration::from_secs(30), "nobody notices");
            thread::yield_now();
        }
        release.send(()).unwrap();
        is_done.recv().unwrap();
        assert_eq!(pool.refusal(), None);
    }
}
