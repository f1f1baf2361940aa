//! The server's own messages on standard error, reports of panics included. A thread writes them, so
//! nobody waits for standard error. Used by the program `weir` for its logging, and before the process
//! ends.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::{self, Write as _};
use std::io;
use std::panic;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use crate::logs::lines::{Kind, Lines, Output};

/// How long the end of the process waits for standard error.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The lines of standard error from when something is first said; `None` in it: there can be no thread.
static LINES: OnceLock<Option<Lines>> = OnceLock::new();

/// The lines of standard error, which is shared by an access log that goes there.
pub(crate) fn lines() -> Option<&'static Lines> {
    LINES.get_or_init(|| Output::stderr().and_then(Lines::start).ok()).as_ref()
}

/// Writes a line.
pub fn say(line: impl fmt::Display) {
    leave(format!("{line}\n"));
}

/// Waits until what was said is written, but not for a standard error that is stuck. Called before
/// the process ends.
pub fn finish() {
    if let Some(Some(lines)) = LINES.get() {
        lines.flush(LAST_WAIT);
    }
}

fn leave(text: String) {
    match lines() {
        Some(lines) => lines.push(Kind::Message, text),
        None => eprint!("{text}"),
    }
}

/// Takes messages as a subscriber of `tracing` writes them, each with one call.
#[derive(Clone, Copy, Debug)]
pub struct Writer;

impl io::Write for Writer {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        leave(String::from_utf8_lossy(message).into_owned());
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// From now on a thread that panics says so like everybody else, instead of waiting for standard
/// error.
pub fn tell_of_panics() {
    panic::set_hook(Box::new(|panic| {
        let thread = thread::current();
        let mut text = format!("thread '{}' {panic}", thread.name().unwrap_or("unnamed"));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            let _ = write!(text, "\n{backtrace}");
        }
        say(text);
    }));
}
