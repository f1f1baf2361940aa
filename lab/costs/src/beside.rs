//! A second client beside the one that is measured, on the same core: it gives way, so that its own work
//! does not look like the server's. Measurements of response times beside something else use it.

use rustix::process::setpriority_process;
use weir_peers::{Error, Result};

/// How nice the second client is (nice(2)).
const NICE: i32 = 19;

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
            give_way()?;
            others()
        });
        let own = own();
        let others = others.join();
        (own, others.unwrap_or_else(|_| Err("the thread of the second client panicked".into())))
    });
    Ok((own?, others?))
}

fn give_way() -> Result<()> {
    // Of this thread alone, as Linux has it.
    setpriority_process(None, NICE)
        .map_err(|e| Error(format!("cannot give way to the other client: {e}")))
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
