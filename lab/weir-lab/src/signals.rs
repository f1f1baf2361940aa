//! Ctrl-C and SIGTERM end a command early, with what it has found. Used by `load` and `blame`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that the first SIGINT or SIGTERM sets; the second ends the process at once.
///
/// # Errors
///
/// When the kernel refuses the handlers.
pub(crate) fn ask_to_end() -> std::io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // In this order, so that the first signal finds the flag not set.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, asked.clone())?;
        signal_hook::flag::register(signal, asked.clone())?;
    }
    Ok(asked)
}
