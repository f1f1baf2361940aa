//! The signals that the server obeys, as commands. Used by the main loop, and by the shutdown after it.

use std::io::{self, IsTerminal};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal tells the server to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// SIGTERM or SIGINT: stop, or hurry if it is stopping already.
    Stop,
    /// SIGHUP on a terminal, whose user has left: stop, but never hurry.
    HangUp,
    /// SIGUSR1: reopen the log, whose file was renamed.
    Reopen,
    /// SIGHUP without a terminal: the same, and read configuration and certificates anew.
    Reload,
}

/// The signals that are handled.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user_1: Signal,
    user_2: Signal,
    on_terminal: bool,
}

/// Those that do not stop the server, which are kept until it has started. The others end one that starts.
#[derive(Debug)]
pub(super) struct EarlySignals {
    hang_up: Signal,
    user_1: Signal,
    user_2: Signal,
    on_terminal: bool,
}

impl EarlySignals {
    /// Handles them from now on; on a terminal, SIGHUP waits as well.
    ///
    /// # Errors
    ///
    /// A signal cannot be handled.
    pub(super) fn new() -> io::Result<EarlySignals> {
        let is_terminal = io::stdin().is_terminal() || io::stderr().is_terminal();
        // Before the handlers below are set: then it is not ignored any more.
        let on_terminal = is_terminal && !ignores_hang_up();
        Ok(EarlySignals {
            hang_up: signal(SignalKind::hangup())?,
            user_1: signal(SignalKind::user_defined1())?,
            user_2: signal(SignalKind::user_defined2())?,
            on_terminal,
        })
    }

    /// Handles all signals from now on.
    ///
    /// # Errors
    ///
    /// As [`EarlySignals::new`].
    pub(super) fn with_those_that_stop(self) -> io::Result<Signals> {
        let EarlySignals { hang_up, user_1, user_2, on_terminal } = self;
        let terminate = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Signals { terminate, interrupt, hang_up, user_1, user_2, on_terminal })
    }
}

impl Signals {
    /// Waits for the next command.
    pub(super) async fn next(&mut self) -> Command {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return Command::Stop,
                _ = self.interrupt.recv() => return Command::Stop,
                _ = self.hang_up.recv() => return match self.on_terminal {
                    true => Command::HangUp,
                    false => Command::Reload,
                },
                _ = self.user_1.recv() => return Command::Reopen,
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
