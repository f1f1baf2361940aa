//! Checks passwords on threads of its own: bcrypt takes tens of milliseconds, and no worker waits for it.
//! Each network has one check at a time, so that nobody can take the processor from the others by
//! guessing. Used by [`super::BasicAuth`]; all routes and workers share one.

use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io, thread};

use rustix::process::nice;
use tokio::sync::oneshot;

use super::results::{Digest, Results};
use super::turns::Turns;

/// How long a thread waits for work before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// By how much the threads are nicer than the workers (nice(2)).
const NICER: i32 = 10;

/// A password to be checked.
pub(super) struct Question {
    /// Of bcrypt.
    pub(super) hash: Arc<str>,
    /// There is such a user; if not, the password is wrong, after the same time.
    pub(super) is_user: bool,
    pub(super) password: String,
    pub(super) digest: Digest,
}

/// Without the password: what is printed may end in a log.
impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").finish_non_exhaustive()
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Checker {
    results: Results,
    state: Mutex<State>,
    work_added: Condvar,
    /// The most threads.
    most: usize,
}

#[derive(Debug, Default)]
struct State {
    turns: Turns<IpAddr, Job>,
    threads: usize,
    /// Threads that wait for work.
    idle: usize,
}

#[derive(Debug)]
struct Job {
    question: Question,
    answer: oneshot::Sender<bool>,
}

impl Checker {
    /// # Errors
    ///
    /// The kernel gives no random bytes.
    pub(super) fn new() -> io::Result<Arc<Checker>> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let (state, work_added) = Default::default();
        let most = (cores / 2).max(1);
        Ok(Arc::new(Checker { results: Results::new()?, state, work_added, most }))
    }

    /// See [`Results::digest`].
    pub(super) fn digest(&self, hash: &str, user: &str, password: &str) -> Digest {
        self.results.digest(hash, user, password)
    }

    /// Whether the password was right, if it was checked before.
    pub(super) fn known(&self, digest: &Digest) -> Option<bool> {
        self.results.known(digest)
    }

    /// Whether the password is right that a client of `network` has sent; `None`: too many wait.
    pub(super) async fn check(
        self: &Arc<Self>,
        network: IpAddr,
        question: Question,
    ) -> Option<bool> {
        self.ask(network, question)?.await.ok()
    }

    /// Dropping what is returned takes the question back, unless it is being looked at.
    fn ask(
        self: &Arc<Self>,
        network: IpAddr,
        question: Question,
    ) -> Option<oneshot::Receiver<bool>> {
        let (answer, receiver) = oneshot::channel();
        let mut state = self.lock();
        if !state.turns.arrive(&network, Job { question, answer }) {
            return None;
        }
        self.call(&mut state);
        Some(receiver)
    }

    /// Wakes an idle thread, or starts another. One that was woken counts as idle until it runs, so those
    /// that are idle may have to do all that is ready.
    fn call(self: &Arc<Self>, state: &mut State) {
        self.work_added.notify_one();
        if state.turns.ready() <= state.idle || state.threads >= self.most {
            return;
        }
        let checker = self.clone();
        let name = "weir-passwords".to_owned();
        match thread::Builder::new().name(name).spawn(move || checker.work()) {
            Ok(_) => state.threads += 1,
            // Those that run will do the work.
            Err(_) if state.threads > 0 => {}
            Err(error) => {
                tracing::error!("cannot start a thread to check passwords: {error}");
                state.turns.clear();
            }
        }
    }

    /// Does one job after another; ends when it has had nothing to do for a while.
    fn work(&self) {
        // It works without, too.
        let _ = nice(NICER);
        let mut state = self.lock();
        loop {
            if let Some((network, job)) = state.turns.next() {
                drop(state);
                self.do_job(job);
                state = self.lock();
                state.turns.done(&network);
                continue;
            }
            state.idle += 1;
            let waited = self.work_added.wait_timeout(state, IDLE);
            let (guard, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            state.idle -= 1;
            if timed_out.timed_out() && state.turns.ready() == 0 {
                state.threads -= 1;
                return;
            }
        }
    }

    fn do_job(&self, job: Job) {
        let Job { question, answer } = job;
        // Its client has left.
        if answer.is_closed() {
            return;
        }
        let Question { hash, is_user, password, digest } = question;
        // Requests of one page bring the same password, and the first has been checked by now.
        let is_right = self.results.known(&digest).unwrap_or_else(|| {
            let verify = AssertUnwindSafe(|| bcrypt::verify(&password, &hash));
            let matches = catch_unwind(verify).is_ok_and(|verified| verified.unwrap_or(false));
            let is_right = matches && is_user;
            self.results.note(digest, is_right);
            is_right
        });
        let _ = answer.send(is_right);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `U*U`, from crypt_blowfish's own tests.
    const HASH: &str = "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";

    fn question(checker: &Checker, is_user: bool, password: &str) -> Question {
        let (hash, password) = (HASH.into(), password.to_owned());
        let digest = checker.digest(HASH, "ann", &password);
        Question { hash, is_user, password, digest }
    }

    #[tokio::test]
    async fn passwords_are_checked_once_and_a_stranger_has_none() {
        let checker = Checker::new().unwrap();
        let network = [192, 0, 2, 1].into();
        for (password, is_user, is_right) in
            [("U*U", true, true), ("U*V", true, false), ("", true, false)]
        {
            let asked = question(&checker, is_user, password);
            let digest = asked.digest;
            assert_eq!(checker.known(&digest), None);
            assert_eq!(checker.check(network, asked).await, Some(is_right), "{password}");
            assert_eq!(checker.known(&digest), Some(is_right));
        }
        let other = Checker::new().unwrap();
        assert_eq!(other.check(network, question(&other, false, "U*U")).await, Some(false));
    }

    #[tokio::test]
    async fn a_burst_is_not_left_to_the_one_thread_that_is_idle() {
        let mut checker = Checker::new().unwrap();
        Arc::get_mut(&mut checker).expect("it is new").most = 2;
        // One that was woken before, and has not run yet.
        {
            let mut state = checker.lock();
            (state.threads, state.idle) = (1, 1);
        }
        let ask = |last: u8| {
            let asked = question(&checker, true, &last.to_string());
            checker.ask([192, 0, 2, last].into(), asked).expect("few wait")
        };
        let first = ask(1);
        assert_eq!(checker.lock().threads, 1, "it will be done by the one");
        let second = ask(2);
        assert_eq!(checker.lock().threads, 2);
        assert_eq!((first.await, second.await), (Ok(false), Ok(false)));
    }

    #[tokio::test]
    async fn one_network_waits_in_line_and_others_do_not_wait_for_it() {
        let checker = Checker::new().unwrap();
        // Nobody looks at them: the threads are said to be busy.
        checker.lock().threads = checker.most;
        let network = |last: u8| IpAddr::from([192, 0, 2, last]);
        let ask = |last, number: usize| {
            checker.ask(network(last), question(&checker, true, &number.to_string()))
        };
        let waiting: Vec<_> = (0..100).map_while(|number| ask(1, number)).collect();
        assert!((2..100).contains(&waiting.len()), "{}", waiting.len());
        let other = ask(2, 0).expect("it has brought none");
        let mut state = checker.lock();
        let (first, job) = state.turns.next().unwrap();
        let (second, _) = state.turns.next().unwrap();
        assert_eq!((first, second), (network(1), network(2)));
        assert!(state.turns.next().is_none(), "one at a time");
        drop(state);
        // Whose client has left is not looked at.
        drop(waiting);
        checker.do_job(job);
        assert_eq!(checker.known(&question(&checker, true, "0").digest), None);
        drop(other);
    }
}
