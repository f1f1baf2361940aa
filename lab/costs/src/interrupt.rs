//! Ctrl-C and SIGTERM raise a flag that every wait looks at, so that servers,
//! groups and mounts are dropped on the way out. It knows none of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::Result;

static RAISED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Watch from now on.
pub(crate) fn install() -> Result<()> {
    let raised = RAISED.get_or_init(Arc::default);
    for number in [SIGINT, SIGTERM] {
        flag::register(number, Arc::clone(raised))
            .map_err(|e| format!("cannot watch for signal {number}: {e}"))?;
    }
    Ok(())
}

/// Fails once a signal came.
pub(crate) fn check() -> Result<()> {
    let came = RAISED.get().is_some_and(|raised| raised.load(Ordering::Relaxed));
    if came { Err("interrupted; what was started is being removed".into()) } else { Ok(()) }
}

/// Sleep, in pieces short enough to notice a signal.
pub(crate) fn sleep(time: Duration) -> Result<()> {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        check()?;
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
    check()
}
