//! A turn: the time from when a task of a worker is polled until it returns. All other connections of
//! the worker wait that long, so long turns are counted by what they were spent on. Every connection runs
//! in turns; whoever needs the time asks for the beginning of the turn.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::time::Duration;

use weir_sched::Time;

use crate::metrics::{Cause, Metrics};
use crate::sys::clock;

/// A turn that takes longer is a stall.
const LONG: Duration = Duration::from_millis(10);

thread_local! {
    static BEGAN: Cell<Time> = const { Cell::new(Time::ZERO) };
    static EXPLAINED: Cell<bool> = const { Cell::new(false) };
}

/// When the turn that is under way on this thread began: the time, without asking the clock.
pub(crate) fn began() -> Time {
    BEGAN.get()
}

/// Does what should not block but could, and counts it as the cause if it did.
pub(crate) fn spent_on<T>(cause: Cause, metrics: &Metrics, work: impl FnOnce() -> T) -> T {
    let before = clock::now();
    let result = work();
    if clock::now().since(before) > LONG {
        EXPLAINED.set(true);
        metrics.stalls.count(cause);
    }
    result
}

/// Runs `task` and times each of its turns.
pub(crate) async fn timed<F: Future>(metrics: &Metrics, mut task: Pin<&mut F>) -> F::Output {
    poll_fn(|context| {
        let begin = clock::now();
        BEGAN.set(begin);
        EXPLAINED.set(false);
        let result = task.as_mut().poll(context);
        if clock::now().since(begin) > LONG && !EXPLAINED.get() {
            metrics.stalls.count(Cause::Other);
        }
        result
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Format;

    fn block() {
        let begin = clock::now();
        while clock::now().since(begin) <= LONG {
            std::hint::spin_loop();
        }
    }

    fn stalls(metrics: &Metrics, cause: &str) -> bool {
        let line = format!("weir_stalled_turns_total{{cause=\"{cause}\"}} 1");
        metrics.text(Format::OpenMetrics).lines().any(|found| found == line)
    }

    async fn timed_once(metrics: &Metrics, task: impl Future<Output = ()>) {
        timed(metrics, std::pin::pin!(task)).await;
    }

    #[tokio::test]
    async fn a_long_turn_is_counted_with_its_cause() {
        let metrics = Metrics::new();
        timed_once(&metrics, async { spent_on(Cause::Read, &metrics, block) }).await;
        assert!(stalls(&metrics, "read") && !stalls(&metrics, "other"));
        timed_once(&metrics, async { block() }).await;
        assert!(stalls(&metrics, "other"));
    }

    #[tokio::test]
    async fn waiting_is_no_turn() {
        let metrics = Metrics::new();
        let before = clock::now();
        timed_once(&metrics, tokio::time::sleep(LONG * 2)).await;
        assert!(clock::now().since(before) > LONG);
        // The time when its last turn began is known to all that runs in it.
        timed_once(&metrics, async { assert!(began() > before) }).await;
        assert!(!stalls(&metrics, "sendfile") && !stalls(&metrics, "open"));
    }
}
