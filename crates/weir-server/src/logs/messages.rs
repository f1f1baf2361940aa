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

use tracing::Level;

use super::message_format;
use crate::config::MessageFormat;
use crate::logs::lines::{Kind, Lines, Output};

/// How long the process waits at its end for standard error.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The lines of standard error, from the first message on; `None` in it: there can be no thread.
static LINES: OnceLock<Option<Lines>> = OnceLock::new();

/// The lines of standard error, for an access log that shares it.
pub(crate) fn lines() -> Option<&'static Lines> {
    LINES.get_or_init(|| Output::stderr().and_then(Lines::start).ok()).as_ref()
}

/// From now on messages are written so.
pub fn write_as(format: MessageFormat) {
    message_format::write_as(format);
}

/// Whether each message is an object of JSON at present.
pub fn are_json() -> bool {
    message_format::is_json()
}

/// Writes a text as it stands.
pub fn say(text: impl fmt::Display) {
    leave(message_format::verbatim(Level::INFO, text));
}

/// Writes what the program has to tell; as text it begins with `weir:`.
pub fn tell(level: Level, text: impl fmt::Display) {
    leave(message_format::told(level, text));
}

/// A message as an object of JSON, with its line end. `fields`: more of its values, by names of letters,
/// digits and underscores.
pub fn json(level: Level, message: &str, fields: &[(&str, String)]) -> String {
    message_format::json(level, message, fields)
}

/// Waits until all messages are written, up to a second. Called before the process ends.
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

/// Takes messages from a subscriber of `tracing`, one with each write.
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

/// From now on panics are reported as messages, so that a thread that panics does not wait for standard
/// error.
pub fn tell_of_panics() {
    panic::set_hook(Box::new(|panic| {
        let thread = thread::current();
        let mut text = format!("thread '{}' {panic}", thread.name().unwrap_or("unnamed"));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            let _ = write!(text, "\n{backtrace}");
        }
        leave(message_format::verbatim(Level::ERROR, text));
    }));
}
