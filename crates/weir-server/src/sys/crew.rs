//! Threads for what takes long and what no worker waits for: they are few, run at a lower priority than the
//! workers, start when there is work and end when there has been none for a while. Used for compression
//! and for passwords.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::nice;

/// How long a thread waits for work before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// By how much the threads are nicer than the workers (nice(2)): one has a tenth of a worker's weight.
const NICER: i32 = 10;

/// The jobs that wait for a crew.
pub(crate) trait Queue: Send + 'static {
    type Job;
    /// What doing a job leaves behind for the queue.
    type Done;

    /// How many jobs could be done at the same time, beside those that are being done.
    fn ready(&self) -> usize;

    /// Takes the next job that can be done.
    fn next(&mut self) -> Option<Self::Job>;

    /// A job is done.
    fn done(&mut self, done: Self::Done);

    /// Drops all jobs: there is no thread for them.
    fn clear(&mut self);
}

/// What a thread does with a job. It does not panic: the crew would lose the thread.
type Work<Q> = Box<dyn Fn(<Q as Queue>::Job) -> <Q as Queue>::Done + Send + Sync>;

/// See the module.
pub(crate) struct Crew<Q: Queue> {
    /// Of the threads, at most 15 bytes.
    name: &'static str,
    /// The most threads.
    most: usize,
    state: Mutex<State<Q>>,
    work_added: Condvar,
    work: Work<Q>,
}

struct State<Q> {
    queue: Q,
    threads: usize,
    /// Threads that wait for work. One that was woken counts until it runs.
    idle: usize,
}

impl<Q: Queue> fmt::Debug for Crew<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<Q: Queue> Crew<Q> {
    /// A crew of at most so many threads that does what is added to `queue`.
    pub(crate) fn new(
        name: &'static str,
        most: usize,
        queue: Q,
        work: impl Fn(Q::Job) -> Q::Done + Send + Sync + 'static,
    ) -> Arc<Crew<Q>> {
        let state = Mutex::new(State { queue, threads: 0, idle: 0 });
        Arc::new(Crew { name, most, state, work_added: Condvar::new(), work: Box::new(work) })
    }

    /// Looks at the queue.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut Q) -> R) -> R {
        look(&mut self.lock().queue)
    }

    /// Adds to the queue, and has it done. Where not even one thread can be started, the queue is cleared.
    pub(crate) fn add<R>(self: &Arc<Self>, add: impl FnOnce(&mut Q) -> R) -> R {
        let mut state = self.lock();
        let added = add(&mut state.queue);
        self.call(&mut state);
        added
    }

    /// Wakes an idle thread, or starts another: those that are idle may have to do all that is ready.
    fn call(self: &Arc<Self>, state: &mut State<Q>) {
        self.work_added.notify_one();
        if state.queue.ready() <= state.idle || state.threads >= self.most {
            return;
        }
        let (crew, name) = (self.clone(), self.name);
        match thread::Builder::new().name(name.to_owned()).spawn(move || crew.run()) {
            Ok(_) => state.threads += 1,
            // Those that run will do the work.
            Err(error) if state.threads > 0 => {
                tracing::warn!("cannot start another thread \"{name}\": {error}");
            }
            Err(error) => {
                tracing::error!("cannot start a thread \"{name}\": {error}");
                state.queue.clear();
            }
        }
    }

    /// What a thread does: one job after another.
    fn run(&self) {
        // If that is forbidden, the kernel shares the processor equally.
        let _ = nice(NICER);
        let mut state = self.lock();
        loop {
            if let Some(job) = state.queue.next() {
                drop(state);
                let done = (self.work)(job);
                state = self.lock();
                state.queue.done(done);
                continue;
            }
            state.idle += 1;
            let waited = self.work_added.wait_timeout(state, IDLE);
            let (guard, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            state.idle -= 1;
            if timed_out.timed_out() && state.queue.ready() == 0 {
                state.threads -= 1;
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<Q>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Numbers, which are sent on.
    #[derive(Default)]
    struct Numbers {
        waiting: VecDeque<u32>,
        done: u32,
    }

    impl Queue for Numbers {
        type Job = u32;
        type Done = u32;

        fn ready(&self) -> usize {
            self.waiting.len()
        }

        fn next(&mut self) -> Option<u32> {
            self.waiting.pop_front()
        }

        fn done(&mut self, number: u32) {
            self.done += number;
        }

        fn clear(&mut self) {
            self.waiting.clear();
        }
    }

    fn crew(most: usize, told: Sender<u32>) -> Arc<Crew<Numbers>> {
        Crew::new("weir-test", most, Numbers::default(), move |number| {
            let _ = told.send(number);
            number
        })
    }

    #[test]
    fn all_is_done_by_few_threads() {
        let (told, numbers) = channel();
        let crew = crew(2, told);
        for number in 1..=100 {
            crew.add(|queue| queue.waiting.push_back(number));
        }
        let mut done: Vec<u32> = numbers.iter().take(100).collect();
        done.sort_unstable();
        assert!(done.into_iter().eq(1..=100));
        assert!((1..=2).contains(&crew.lock().threads));
        // The last one was sent before it counted as done.
        while crew.with(|queue| queue.done) < 5050 {
            thread::yield_now();
        }
    }

    #[test]
    fn a_burst_is_not_left_to_the_one_thread_that_is_idle() {
        let (told, numbers) = channel();
        let crew = crew(2, told);
        // One that was woken before, and has not run yet.
        {
            let mut state = crew.lock();
            (state.threads, state.idle) = (1, 1);
        }
        crew.add(|queue| queue.waiting.push_back(1));
        assert_eq!(crew.lock().threads, 1, "it will be done by the one");
        crew.add(|queue| queue.waiting.push_back(2));
        assert_eq!(crew.lock().threads, 2);
        assert_eq!((numbers.recv(), numbers.recv()), (Ok(1), Ok(2)));
    }
}
