//! The access log: a line for each response, in the format and to the target that the configuration names.
//! Connections leave lines here; a thread of its own writes them.

mod clf;
mod details;
mod entry;
#[cfg(test)]
mod tests;
mod values;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::config::{AccessLog, LogFormat};
use crate::error::ServeError;
use crate::logs::date::{Date, Dates};
use crate::logs::lines::{Kind, Lines, LogThread, Output};
use crate::logs::messages;

pub(crate) use details::{Details, GateKind};
pub(crate) use entry::{Ending, Entry};

/// How long the server waits at its end for lines that are not written yet.
pub(crate) const LAST_WAIT: Duration = Duration::from_secs(1);

/// Bytes that lines mostly have, by what is in them: more make a line grow.
const USUAL: usize = 160;
const USUAL_WITH_NAMES: usize = 512;

/// Where connections leave their lines; the default is no access log.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogHandle {
    lines: Option<Lines>,
    /// The log is standard error, which the server's messages go to, too.
    shared: bool,
    format: LogFormat,
    /// The log is the journal, which has fields beside the line.
    has_fields: bool,
    dates: Dates,
}

/// Opens the log.
///
/// # Errors
///
/// Its file cannot be opened, there is no journal, or there can be no thread to write it.
pub(crate) fn open(target: &AccessLog, format: LogFormat) -> Result<LogHandle, ServeError> {
    start(target, format).map_err(|error| cannot_open(target, &error))
}

fn cannot_open(target: &AccessLog, error: &io::Error) -> ServeError {
    ServeError::new(format!("cannot open the access log {target}"), error)
}

fn start(target: &AccessLog, format: LogFormat) -> io::Result<LogHandle> {
    let has_fields = matches!(target, AccessLog::Journal(_));
    let handle = LogHandle { format, has_fields, ..LogHandle::default() };
    let output = match target {
        AccessLog::Off => return Ok(handle),
        // Lines and messages must not be mixed up within a line.
        AccessLog::Stderr => match messages::lines() {
            Some(lines) => {
                return Ok(LogHandle { lines: Some(lines.clone()), shared: true, ..handle });
            }
            None => Output::stderr()?,
        },
        AccessLog::Stdout => Output::stdout()?,
        AccessLog::Journal(socket) => Output::journal(socket)?,
        AccessLog::File(path) => Output::file(path)?,
    };
    Ok(LogHandle { lines: Some(Lines::start(output)?), ..handle })
}

/// Whether the log could be opened, as far as can be told without making it.
///
/// # Errors
///
/// Why it could not.
pub(crate) fn check(target: &AccessLog) -> Result<(), ServeError> {
    let checked = match target {
        AccessLog::File(path) => check_file(path),
        AccessLog::Journal(socket) => Output::check_journal(socket),
        AccessLog::Off | AccessLog::Stderr | AccessLog::Stdout => Ok(()),
    };
    checked.map_err(|error| cannot_open(target, &error))
}

fn check_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(_) => Ok(accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let directory = match path.parent() {
                Some(directory) if !directory.as_os_str().is_empty() => directory,
                _ => Path::new("."),
            };
            let access = Access::WRITE_OK | Access::EXEC_OK;
            let writable = fs::metadata(directory).and_then(|found| match found.is_dir() {
                true => Ok(accessat(CWD, directory, access, AtFlags::EACCESS)?),
                false => Err(ErrorKind::NotADirectory.into()),
            });
            writable.map_err(|error| {
                let what = format!("no file can be created in {}: {error}", directory.display());
                io::Error::new(error.kind(), what)
            })
        }
        Err(error) => Err(error),
    }
}

impl LogHandle {
    /// Whether entries are to have [`Details`].
    pub(crate) fn wants_details(&self) -> bool {
        self.lines.is_some() && self.has_names()
    }

    /// The same log, with lines in another format from now on.
    pub(crate) fn in_format(&self, format: LogFormat) -> LogHandle {
        LogHandle { format, ..self.clone() }
    }

    /// Leaves a line.
    pub(crate) fn write<'a>(&self, entry: impl FnOnce() -> Entry<'a>) {
        if let Some(lines) = &self.lines {
            lines.push(Kind::Request, self.line(&entry()));
        }
    }

    /// Has a log that is a file reopened by its name, after the lines that were left so far: for programs
    /// that rotate logs. Returns at once.
    pub(crate) fn reopen(&self) {
        if let Some(lines) = &self.lines {
            lines.reopen();
        }
    }

    /// Waits until all lines are written, up to a second. Called when the workers have ended; standard
    /// error is waited for by [`messages::finish`].
    pub(crate) fn finish(&self) {
        if let Some(lines) = self.lines.as_ref().filter(|_| !self.shared)
            && !lines.flush(LAST_WAIT)
        {
            tracing::error!("{} is stuck: the last lines are lost", lines.name());
        }
    }

    /// The thread that writes it, if it is the log's own: it ends after the last handle.
    pub(crate) fn thread(&self) -> Option<LogThread> {
        self.lines.as_ref().filter(|_| !self.shared).map(Lines::thread)
    }

    /// Whether values are written with their names, and all of them.
    fn has_names(&self) -> bool {
        self.has_fields || self.format == LogFormat::Json
    }

    /// A line with its end; for the journal all lines of an entry.
    fn line(&self, entry: &Entry<'_>) -> String {
        let date = self.dates.at(entry.at);
        let mut out =
            String::with_capacity(if self.has_names() { USUAL_WITH_NAMES } else { USUAL });
        if self.has_fields {
            values::fields(&mut out, entry, |out| self.add(out, entry, &date));
        } else {
            self.add(&mut out, entry, &date);
            out.push('\n');
        }
        out
    }

    /// Adds a line without its end.
    fn add(&self, out: &mut String, entry: &Entry<'_>, date: &Date) {
        match self.format {
            LogFormat::Weir => clf::weir(out, entry, date),
            LogFormat::Combined => clf::combined(out, entry, date),
            LogFormat::Common => clf::common(out, entry, date),
            LogFormat::Json => values::json(out, entry, date),
        }
    }
}
