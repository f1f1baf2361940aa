//! Work that waits for files, done by a thread of its own so that the main thread never waits: a disk, or
//! the machine that has the files, may not answer. Used by reloads, and to look after certificates and
//! passwords.

use std::fmt::Display;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

/// How long work may take that somebody waits for. `weir reload` waits longer than for all of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most work of that kind at once. What nobody waits for any more counts until its files answer.
const MOST: usize = 32;

static ROOM: Semaphore = Semaphore::const_new(MOST);

/// What a helper is about to wait for, for messages. Copies share it.
#[derive(Clone, Debug)]
pub(crate) struct Step(Arc<Mutex<String>>);

impl Step {
    fn new() -> Step {
        Step(Arc::new(Mutex::new("a thread that waits for files".to_owned())))
    }

    /// From now on it waits for `what`, such as "the file a.pem".
    pub(crate) fn begin(&self, what: impl Display) {
        *self.lock() = what.to_string();
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has `work` done, however long it takes. If this is dropped before, the thread goes on, and what comes of
/// its work is lost. The end of the process waits for no such thread.
///
/// # Errors
///
/// There can be no thread, or it has panicked.
pub(crate) async fn by_helper<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (sender, done) = oneshot::channel();
    // Nobody may wait for it any more.
    let help = move || drop(sender.send(work()));
    thread::Builder::new().name("weir-files".to_owned()).spawn(help)?;
    done.await.map_err(|_| io::Error::other("a thread that waited for files has failed"))
}

/// The same for work that has to be done within 10 s. It says of each step which files it waits for.
///
/// # Errors
///
/// Which files do not answer, or why there can be no thread, in words.
pub(crate) async fn by_helper_in_time<T: Send + 'static>(
    work: impl FnOnce(&Step) -> T + Send + 'static,
) -> Result<T, String> {
    within(PATIENCE, &ROOM, work).await
}

async fn within<T: Send + 'static>(
    most: Duration,
    room: &'static Semaphore,
    work: impl FnOnce(&Step) -> T + Send + 'static,
) -> Result<T, String> {
    let place = room.try_acquire().map_err(|_| {
        "too many threads wait already for files that do not answer; see to those".to_owned()
    })?;
    let step = Step::new();
    let of_helper = step.clone();
    let work = move || {
        let done = work(&of_helper);
        // Whoever gets what was done finds the place free.
        drop(place);
        done
    };
    match timeout(most, by_helper(work)).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err(format!("{} does not answer within {most:?}", step.lock())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Instant;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn what_comes_of_it_is_had_as_soon_as_it_is_done() {
        assert_eq!(by_helper(|| 7).await.unwrap(), 7);
        assert_eq!(by_helper_in_time(|_| 7).await, Ok(7));
    }

    #[tokio::test]
    async fn files_that_do_not_answer_are_named_and_not_waited_for() {
        let mut most = Duration::from_millis(1);
        loop {
            let (release, is_released) = channel::<()>();
            let hangs = within(most, &ROOM, move |step| {
                step.begin("the configuration file");
                step.begin("the root /srv");
                let _ = is_released.recv();
            });
            let told = hangs.await.unwrap_err();
            drop(release);
            if told == format!("the root /srv does not answer within {most:?}") {
                break;
            }
            // The thread had not come so far.
            most *= 2;
            assert!(most < DEADLINE, "{told}");
        }
    }

    #[tokio::test]
    async fn no_more_threads_wait_than_there_is_room_for() {
        static ONE: Semaphore = Semaphore::const_new(1);
        let (release, is_released) = channel::<()>();
        let hangs = within(Duration::ZERO, &ONE, move |_| {
            let _ = is_released.recv();
        });
        assert!(hangs.await.is_err());
        let refused = within(PATIENCE, &ONE, |_| ()).await.unwrap_err();
        assert!(refused.starts_with("too many threads wait already"), "{refused}");
        drop(release);
        // Once its files have answered, there is room again.
        let start = Instant::now();
        while let Err(refused) = within(PATIENCE, &ONE, |_| ()).await {
            assert!(start.elapsed() < DEADLINE, "{refused}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
