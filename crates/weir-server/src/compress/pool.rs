//! The queue in front of the threads that compress. They run at a lower priority than the workers, so
//! compression has what the workers leave. Then jobs begin late, and that is how it is noticed that the
//! processor is busy. Used by [`super::Compressor`] and its streams.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use weir_sched::Time;

use crate::metrics::{GivenUp, Metrics};
use crate::sys::clock;
use crate::sys::crew::{Crew, Queue};

/// The most jobs that wait.
const MOST_JOBS: usize = 64;

/// The most bytes that wait to be compressed: of one more job they may be exceeded.
const MOST_BYTES: usize = 8_000_000;

/// Once the first of those that wait has waited longer, nothing new is begun.
const LATE: Duration = Duration::from_millis(100);

type Work = Box<dyn FnOnce() + Send>;

/// See the module.
#[derive(Debug)]
pub(super) struct Pool {
    crew: Arc<Crew<Jobs>>,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    /// Of those that wait.
    bytes: usize,
    /// Jobs that are announced.
    announced: usize,
    /// Of those that are announced.
    announced_bytes: usize,
}

struct Job {
    work: Work,
    bytes: usize,
    since: Time,
}

impl Jobs {
    fn refusal(&self) -> Option<GivenUp> {
        let first = self.waiting.front()?;
        if self.waiting.len() >= MOST_JOBS || self.bytes >= MOST_BYTES {
            return Some(GivenUp::QueueFull);
        }
        (clock::now().since(first.since) > LATE).then_some(GivenUp::Busy)
    }

    /// Why no more is announced: that may be as much as may wait, less what waits. What has come goes first,
    /// so that content that is slow to come keeps none out.
    fn refusal_to_announce(&self) -> Option<GivenUp> {
        let is_full = self.waiting.len() + self.announced >= MOST_JOBS
            || self.bytes + self.announced_bytes >= MOST_BYTES;
        if is_full { Some(GivenUp::QueueFull) } else { self.refusal() }
    }

    fn add(&mut self, bytes: usize, work: Work) {
        self.bytes += bytes;
        self.waiting.push_back(Job { work, bytes, since: clock::now() });
    }
}

impl Queue for Jobs {
    type Job = Job;
    type Done = ();

    fn ready(&self) -> usize {
        self.waiting.len()
    }

    fn next(&mut self) -> Option<Job> {
        let job = self.waiting.pop_front()?;
        self.bytes -= job.bytes;
        Some(job)
    }

    fn done(&mut self, (): ()) {}

    fn clear(&mut self) {
        self.waiting.clear();
        self.bytes = 0;
    }
}

impl Pool {
    /// Of `most` threads, which are started when they are needed.
    pub(super) fn new(most: usize, metrics: Arc<Metrics>) -> Pool {
        let work = move |job: Job| {
            let before = clock::thread_time();
            // Who waits for the result sees that there will be none.
            let _ = catch_unwind(AssertUnwindSafe(job.work));
            metrics.compression.spent(clock::thread_time().saturating_sub(before));
        };
        Pool { crew: Crew::new("weir-compress", most.max(1), Jobs::default(), work) }
    }

    /// Why nothing new is begun now, if so.
    pub(super) fn refusal(&self) -> Option<GivenUp> {
        self.crew.with(|jobs| jobs.refusal())
    }

    /// Has `work` done by a thread, for which so many bytes wait meanwhile. Without any thread it is
    /// dropped.
    ///
    /// # Errors
    ///
    /// Why it is not done; it was dropped.
    pub(super) fn begin(
        &self,
        bytes: usize,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), GivenUp> {
        self.crew.add(|jobs| match jobs.refusal() {
            Some(why) => Err(why),
            None => {
                jobs.add(bytes, Box::new(work));
                Ok(())
            }
        })
    }

    /// The same for more of what has begun, which is not refused: whoever began it can only go on.
    pub(super) fn go_on(&self, bytes: usize, work: impl FnOnce() + Send + 'static) {
        self.crew.add(|jobs| jobs.add(bytes, Box::new(work)));
    }

    /// Announces work for which so many bytes are brought before it can begin.
    ///
    /// # Errors
    ///
    /// Why they need not be brought.
    pub(super) fn announce(self: &Arc<Self>, bytes: usize) -> Result<Announced, GivenUp> {
        self.crew.with(|jobs| match jobs.refusal_to_announce() {
            Some(why) => Err(why),
            None => {
                jobs.announced += 1;
                jobs.announced_bytes += bytes;
                Ok(())
            }
        })?;
        Ok(Announced { pool: self.clone(), bytes })
    }
}

/// Work that is announced, until it begins or this is dropped. That takes the lock of the queue, so no job
/// may have one: jobs are dropped where that is held.
#[derive(Debug)]
pub(super) struct Announced {
    pool: Arc<Pool>,
    bytes: usize,
}

impl Announced {
    /// Has `work` done by a thread; it is not refused, as it was announced. Without any thread it is dropped.
    pub(super) fn begin(self, work: impl FnOnce() + Send + 'static) {
        self.pool.go_on(self.bytes, work);
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        self.pool.crew.with(|jobs| {
            jobs.announced -= 1;
            jobs.announced_bytes -= self.bytes;
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A pool whose only thread is kept busy until something is sent.
    fn busy() -> (Pool, Sender<()>) {
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

    fn count(pool: &Pool, bytes: usize) -> (Result<(), GivenUp>, Receiver<()>) {
        let (done, is_done) = channel();
        (pool.begin(bytes, move || done.send(()).unwrap()), is_done)
    }

    #[test]
    fn what_is_begun_is_done_and_a_panic_ends_nothing() {
        let pool = Pool::new(1, Arc::new(Metrics::new()));
        for number in 0..10 {
            let (begun, is_done) = count(&pool, 1);
            assert_eq!(begun, Ok(()), "{number}");
            is_done.recv().unwrap();
            pool.begin(1, || panic!("as a test wants it")).unwrap();
        }
    }

    #[test]
    fn a_full_queue_takes_no_more_but_what_has_begun_goes_on() {
        let (pool, release) = busy();
        let taken: Vec<_> = (0..MOST_JOBS).map(|_| count(&pool, 1)).collect();
        assert!(taken.iter().all(|(begun, _)| begun.is_ok()));
        assert_eq!(count(&pool, 1).0, Err(GivenUp::QueueFull));
        assert_eq!(pool.refusal(), Some(GivenUp::QueueFull));
        let (done, is_done) = channel();
        pool.go_on(1, move || done.send(()).unwrap());
        release.send(()).unwrap();
        is_done.recv().unwrap();
        taken.iter().for_each(|(_, is_done)| is_done.recv().unwrap());
        assert_eq!((pool.refusal(), pool.crew.with(|jobs| jobs.bytes)), (None, 0));
    }

    #[test]
    fn many_bytes_are_a_full_queue() {
        let (pool, release) = busy();
        let (first, _) = count(&pool, MOST_BYTES);
        assert_eq!((first, count(&pool, 1).0), (Ok(()), Err(GivenUp::QueueFull)));
        drop(release);
    }

    #[test]
    fn what_is_announced_is_bounded_and_keeps_nothing_out_that_has_come() {
        let (pool, release) = busy();
        let pool = Arc::new(pool);
        let large = pool.announce(MOST_BYTES).unwrap();
        assert_eq!(pool.announce(1).err(), Some(GivenUp::QueueFull));
        let (begun, is_done) = count(&pool, 1);
        assert_eq!(begun, Ok(()));
        let (done, large_is_done) = channel();
        large.begin(move || done.send(()).unwrap());
        // It waits, and is announced no more.
        let counts = |jobs: &mut Jobs| (jobs.announced, jobs.announced_bytes, jobs.bytes);
        assert_eq!(pool.crew.with(counts), (0, 0, MOST_BYTES + 1));
        release.send(()).unwrap();
        is_done.recv().unwrap();
        large_is_done.recv().unwrap();
        let mut many: Vec<_> = (0..MOST_JOBS).map(|_| pool.announce(1).unwrap()).collect();
        assert_eq!(pool.announce(1).err(), Some(GivenUp::QueueFull));
        many.pop();
        assert!(pool.announce(1).is_ok());
    }

    #[test]
    fn what_waits_for_long_tells_that_the_processor_is_busy() {
        let (pool, release) = busy();
        let (_begun, is_done) = count(&pool, 1);
        let start = std::time::Instant::now();
        while pool.refusal() != Some(GivenUp::Busy) {
            assert!(start.elapsed() < Duration::from_secs(30), "nobody notices");
            std::thread::yield_now();
        }
        release.send(()).unwrap();
        is_done.recv().unwrap();
        assert_eq!(pool.refusal(), None);
    }
}
