//! What signals ask of the server; `serve` does it.

use std::io::{self, IsTerminal};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// SIGTERM or SIGINT: to end, and if it is ending already, to hurry.
    Stop,
    /// SIGHUP on a terminal: its user has left, so the server ends; it never hurries for it.
    HangUp,
    /// SIGUSR1, or SIGHUP without a terminal: to open the log anew, since its file was renamed.
    Reopen,
}

/// The signals that are heard.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user_1: Signal,
    user_2: Signal,
    on_terminal: bool,
}

impl Signals {
    /// Hears signals from now on.
    pub(crate) fn new() -> io::Result<Signals> {
        let is_terminal = io::stdin().is_terminal() || io::stderr().is_terminal();
        // Before it is heard below: then it is not ignored any more.
        let on_terminal = is_terminal && !ignores_hang_up();
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            user_1: signal(SignalKind::user_defined1())?,
            user_2: signal(SignalKind::user_defined2())?,
            on_terminal,
        })
    }

    /// Waits for the next signal that asks for something.
    pub(crate) async fn next(&mut self) -> Asked {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return Asked::Stop,
                _ = self.interrupt.recv() => return Asked::Stop,
                _ = self.hang_up.recv() => return match self.on_terminal {
                    true => Asked::HangUp,
                    false => Asked::Reopen,
                },
                _ = self.user_1.recv() => return Asked::Reopen,
                _ = self.user_2.recv() => tracing::info!("SIGUSR2 is ignored: it has no meaning here"),
            }
        }
    }
}

/// Whether the server was started to outlive its terminal, as by nohup(1): the mask of ignored signals
/// in /proc/self/status (proc(5)) has SIGHUP, the first.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 != 0)
}
