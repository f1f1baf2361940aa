//! Checks passwords on threads of its own: bcrypt takes tens of milliseconds, and no worker waits for it.
//! Each network has one check at a time, so that nobody can take the processor from the others by
//! guessing. Used by [`super::BasicAuth`]; all routes and workers share one, which outlives reloads.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use tokio::sync::watch;

use super::results::{Digest, Results};
use super::turns::Turns;
use crate::sys::crew::{Crew, Queue};

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
    results: Arc<Results>,
    crew: Arc<Crew<Turns<IpAddr, Job>>>,
}

#[derive(Debug)]
struct Job {
    question: Question,
    /// For all requests that wait for it; `None` until it is known.
    answer: watch::Sender<Option<bool>>,
}

impl Queue for Turns<IpAddr, Job> {
    type Job = (IpAddr, Job);
    /// The network whose job it was.
    type Done = IpAddr;

    fn ready(&self) -> usize {
        Turns::ready(self)
    }

    fn next(&mut self) -> Option<(IpAddr, Job)> {
        Turns::next(self)
    }

    fn done(&mut self, network: IpAddr) {
        Turns::done(self, &network);
    }

    fn clear(&mut self) {
        Turns::clear(self);
    }
}

impl Checker {
    /// With half as many threads as there are processors.
    ///
    /// # Errors
    ///
    /// The kernel gives no random bytes.
    pub(super) fn new() -> io::Result<Checker> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Checker::of_threads((cores / 2).max(1))
    }

    fn of_threads(most: usize) -> io::Result<Checker> {
        let results = Arc::new(Results::new()?);
        let known = results.clone();
        let work = move |(network, job): (IpAddr, Job)| {
            job.answer(&known);
            network
        };
        Ok(Checker { results, crew: Crew::new("weir-passwords", most, Turns::default(), work) })
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
    pub(super) async fn check(&self, network: IpAddr, question: Question) -> Option<bool> {
        let mut receiver = self.ask(network, question)?;
        let answer = receiver.wait_for(Option::is_some).await.ok()?;
        *answer
    }

    /// Dropping what is returned takes the question back, unless it is being looked at or somebody else has
    /// the same.
    fn ask(&self, network: IpAddr, question: Question) -> Option<watch::Receiver<Option<bool>>> {
        let digest = question.digest;
        self.crew.add(|turns| {
            // A browser asks on several connections at once. Only a question of the same network is joined:
            // that of another may have to wait for longer.
            if let Some(same) = turns.find(&network, |job| job.question.digest == digest) {
                return Some(same.answer.subscribe());
            }
            let (answer, receiver) = watch::channel(None);
            turns.arrive(&network, Job { question, answer }).then_some(receiver)
        })
    }
}

impl Job {
    /// Checks the password, unless all who asked have left.
    fn answer(self, results: &Results) {
        let Job { question, answer } = self;
        if answer.is_closed() {
            return;
        }
        let Question { hash, is_user, password, digest } = question;
        // One that came while the same password was checked has its answer by now.
        let is_right = results.known(&digest).unwrap_or_else(|| {
            let verify = AssertUnwindSafe(|| bcrypt::verify(&password, &hash));
            let matches = catch_unwind(verify).is_ok_and(|verified| verified.unwrap_or(false));
            let is_right = matches && is_user;
            results.note(digest, is_right);
            is_right
        });
        let _ = answer.send(Some(is_right));
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
    async fn one_network_waits_in_line_and_others_do_not_wait_for_it() {
        // Nobody looks at them.
        let checker = Checker::of_threads(0).unwrap();
        let network = |last: u8| IpAddr::from([192, 0, 2, last]);
        let ask = |last, number: usize| {
            checker.ask(network(last), question(&checker, true, &number.to_string()))
        };
        let waiting: Vec<_> = (0..100).map_while(|number| ask(1, number)).collect();
        assert!((2..100).contains(&waiting.len()), "{}", waiting.len());
        let other = ask(2, 0).expect("it has brought none");
        let next = || checker.crew.with(Turns::next);
        let ((first, job), (second, _)) = (next().unwrap(), next().unwrap());
        assert_eq!((first, second), (network(1), network(2)));
        assert!(next().is_none(), "one at a time");
        // Whose client has left is not looked at.
        drop(waiting);
        job.answer(&checker.results);
        assert_eq!(checker.known(&question(&checker, true, "0").digest), None);
        drop(other);
    }

    #[tokio::test]
    async fn the_same_password_waits_in_one_place_for_each_network() {
        // Nobody looks at them.
        let checker = Checker::of_threads(0).unwrap();
        let network = |last: u8| IpAddr::from([192, 0, 2, last]);
        let ask =
            |last, password: &str| checker.ask(network(last), question(&checker, true, password));
        let mut same: Vec<_> = (0..100).map_while(|_| ask(1, "U*U")).collect();
        assert_eq!(same.len(), 100);
        let others: Vec<_> = (0..100).map_while(|number| ask(1, &number.to_string())).collect();
        assert!((2..100).contains(&others.len()), "{}", others.len());
        assert!(ask(1, "U*U").is_some(), "there is no place left, and it needs none");
        let elsewhere = ask(2, "U*U").expect("it has brought none");
        // The one that has come first leaves, and the others still want to know.
        drop(same.remove(0));
        let next = || checker.crew.with(Turns::next);
        let ((first, job), (second, _)) = (next().unwrap(), next().unwrap());
        assert_eq!((first, second), (network(1), network(2)), "none waits in another's line");
        job.answer(&checker.results);
        for receiver in &mut same {
            let answer = receiver.wait_for(Option::is_some).await.unwrap();
            assert_eq!(*answer, Some(true));
        }
        drop((others, elsewhere));
    }
}
