//! Ctrl-C and SIGTERM raise a flag that every wait of the lab looks at, so that servers, namespaces,
//! groups and mounts are removed on the way out. The runner of experiments and `weir-costs` install it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::{Error, Result};

/// A signal is noticed within this while something waits.
const LOOK: Duration = Duration::from_millis(50);

static RAISED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Watch for SIGINT and SIGTERM from now on. Further calls watch on.
///
/// # Errors
///
/// When the kernel refuses the handlers.
pub fn install() -> Result<()> {
    static INSTALLED: OnceLock<Result<()>> = OnceLock::new();
    INSTALLED.get_or_init(watch).clone()
}

fn watch() -> Result<()> {
    let raised = RAISED.get_or_init(Arc::default);
    for number in [SIGINT, SIGTERM] {
        flag::register(number, Arc::clone(raised))
            .map_err(|e| Error(format!("cannot watch for signal {number}: {e}")))?;
    }
    Ok(())
}

/// Whether a signal came.
pub fn interrupted() -> bool {
    RAISED.get().is_some_and(|raised| raised.load(Ordering::Relaxed))
}

/// An error once a signal came.
///
/// # Errors
///
/// After SIGINT or SIGTERM.
pub fn check() -> Result<()> {
    match interrupted() {
        true => Err("interrupted; what was started is removed".into()),
        false => Ok(()),
    }
}

/// Sleep, in pieces short enough to notice a signal.
///
/// # Errors
///
/// After SIGINT or SIGTERM.
pub fn sleep(time: Duration) -> Result<()> {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        check()?;
        std::thread::sleep(left.min(LOOK));
    }
    check()
}
