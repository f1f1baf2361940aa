//! A second client beside the one that is measured, on the same core: it gives way, so that its own work
//! does not look like the server's. Measurements of response times beside something else use it.

use weir_peers::{Result, tool};

/// What `own` and `others` come to: `own` on this thread, `others` meanwhile on one that gives way to it.
///
/// # Errors
///
/// The first of either, when both have ended.
pub(crate) fn beside<A, B: Send>(
    own: impl FnOnce() -> Result<A>,
    others: impl FnOnce() -> Result<B> + Send,
) -> Result<(A, B)> {
    let (own, others) = std::thread::scope(|scope| {
        let others = scope.spawn(move || {
            give_way(rustix::thread::gettid().as_raw_nonzero())?;
            others()
        });
        let own = own();
        let others = others.join();
        (own, others.unwrap_or_else(|_| Err("the thread of the second client panicked".into())))
    });
    Ok((own?, others?))
}

/// Has a thread run when nobody else wants the core (SCHED_IDLE). One that is only nice
/// keeps the core for milliseconds from whoever wakes up meanwhile, and that would look like the server's
/// response time.
///
/// # Errors
///
/// The kernel does not allow it, or there is no such thread.
pub(crate) fn give_way(thread: impl std::fmt::Display) -> Result<()> {
    tool::run(&format!("chrt --idle -p 0 {thread}")).map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn both_run_at_the_same_time_and_either_may_fail() {
        let (first, second) = (AtomicBool::new(false), AtomicBool::new(false));
        let meet = |own: &AtomicBool, other: &AtomicBool| {
            own.store(true, Ordering::Relaxed);
            while !other.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        };
        let met = beside(
            || {
                meet(&first, &second);
                Ok(1)
            },
            || {
                meet(&second, &first);
                Ok(2)
            },
        );
        assert_eq!(met, Ok((1, 2)));
        let failed: Result<((), ())> = beside(|| Ok(()), || Err("of the others".into()));
        assert_eq!(failed, Err("of the others".into()));
        let failed: Result<((), ())> = beside(|| Err("of its own".into()), || Ok(()));
        assert_eq!(failed, Err("of its own".into()));
    }
}
