//! The ends of the workers, for which the shutdown waits. It can give up waiting, and knows then which
//! workers have not ended.

use std::io;

use tokio::sync::oneshot::error::TryRecvError;

use super::worker::WorkerEnd;

/// What has become of each worker so far.
#[derive(Debug)]
pub(super) struct WorkerEnds {
    /// Those that have not been seen to end, with their numbers.
    running: Vec<(usize, WorkerEnd)>,
    /// How many connections each of the others has cut, or what ended it.
    ended: Vec<io::Result<usize>>,
}

impl WorkerEnds {
    /// Of these workers, which stand in the order of their numbers.
    pub(super) fn new(workers: Vec<WorkerEnd>) -> WorkerEnds {
        WorkerEnds { running: workers.into_iter().enumerate().collect(), ended: Vec::new() }
    }

    /// Waits until all have ended. Who gives up waiting loses nothing of those that have.
    pub(super) async fn all(&mut self) {
        while let Some((_, end)) = self.running.last_mut() {
            let ended = end.await.unwrap_or_else(|_| Err(failed()));
            self.running.pop();
            self.ended.push(ended);
        }
    }

    /// The numbers of those that have not ended.
    pub(super) fn running(&mut self) -> Vec<usize> {
        let WorkerEnds { running, ended } = self;
        running.retain_mut(|(_, end)| {
            let end = match end.try_recv() {
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Closed) => Err(failed()),
                Ok(end) => end,
            };
            ended.push(end);
            false
        });
        running.iter().map(|(worker, _)| *worker).collect()
    }

    /// How many connections those that have ended have cut.
    ///
    /// # Errors
    ///
    /// What ended one of them.
    pub(super) fn cut(self) -> io::Result<usize> {
        self.ended.into_iter().sum()
    }
}

/// A worker has said nothing at its end: it has panicked.
fn failed() -> io::Error {
    io::Error::other("a worker failed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn those_that_have_ended_count_and_the_others_are_known() {
        let (first, first_end) = oneshot::channel();
        let (second, second_end) = oneshot::channel();
        let (third, third_end) = oneshot::channel();
        let mut ends = WorkerEnds::new(vec![first_end, second_end, third_end]);
        third.send(Ok(3)).unwrap();
        tokio::select! {
            biased;
            () = ends.all() => panic!("two have not ended"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(ends.running(), [0, 1]);
        first.send(Ok(2)).unwrap();
        assert_eq!(ends.running(), [1]);
        second.send(Ok(1)).unwrap();
        ends.all().await;
        assert!(ends.running().is_empty());
        assert_eq!(ends.cut().unwrap(), 6);
    }

    #[tokio::test]
    async fn one_that_fails_has_ended_and_is_told() {
        let (fails, end) = oneshot::channel();
        let (panics, no_end) = oneshot::channel();
        let mut ends = WorkerEnds::new(vec![end, no_end]);
        fails.send(Err(io::Error::other("no descriptor"))).unwrap();
        drop(panics);
        ends.all().await;
        assert!(ends.running().is_empty());
        assert_eq!(ends.cut().unwrap_err().to_string(), "a worker failed");
    }
}
