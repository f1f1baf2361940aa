//! Signals end a command early, with what it has found: Ctrl-C, SIGTERM, SIGQUIT, and the SIGHUP of a
//! terminal that goes away. Used by `load` and `blame`.

use std::io::Result;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

/// A flag that the first signal sets; the second ends the process at once.
///
/// # Errors
///
/// When the kernel refuses the handlers.
pub(crate) fn ask_to_end() -> Result<Arc<AtomicBool>> {
    let asked = Arc::default();
    handle(&asked, &asked)?;
    Ok(asked)
}

/// A flag that signals set. They end the process at once when `undone` is set, and not before: for
/// commands that have changed something on this machine.
///
/// # Errors
///
/// When the kernel refuses the handlers.
pub(crate) fn ask_to_undo(undone: &Arc<AtomicBool>) -> Result<Arc<AtomicBool>> {
    let asked = Arc::default();
    handle(&asked, undone)?;
    Ok(asked)
}

fn handle(asked: &Arc<AtomicBool>, at_once: &Arc<AtomicBool>) -> Result<()> {
    let ignored = ignored();
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        // Under nohup the terminal may go away.
        if matches!(signal, SIGHUP | SIGQUIT) && is_in(ignored, signal) {
            continue;
        }
        // In this order, so that the first signal finds the flag not set.
        flag::register_conditional_shutdown(signal, 128 + signal, at_once.clone())?;
        flag::register(signal, asked.clone())?;
    }
    Ok(())
}

/// The signals that this process ignores, as bits.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// The lowest bit is that of signal 1.
fn is_in(mask: u64, signal: i32) -> bool {
    (mask >> (signal - 1)) & 1 == 1
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Command;
    use std::sync::atomic::Ordering;

    use signal_hook::low_level::raise;

    use super::*;

    /// Set in the process of its own in which signals are handled.
    const OWN: &str = "WEIR_TEST_SIGNALS";

    #[test]
    fn no_signal_ends_the_process_before_all_is_undone() {
        if env::var_os(OWN).is_none() {
            let name = "signals::tests::no_signal_ends_the_process_before_all_is_undone";
            let mut command = Command::new(env::current_exe().unwrap());
            let output = command.args([name, "--exact"]).env(OWN, "").output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let before = ignored();
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            let asked = ask_to_undo(&Arc::default()).unwrap();
            if is_in(before, signal) {
                continue;
            }
            raise(signal).unwrap();
            assert!(asked.load(Ordering::Relaxed), "signal {signal}");
            // The second neither.
            raise(signal).unwrap();
        }
    }

    #[test]
    fn signals_are_counted_from_one() {
        assert!(is_in(1, SIGHUP) && is_in(0b100, SIGQUIT) && !is_in(0b101, SIGINT));
    }
}
