//! The access log: Combined Log Format with two more columns, the response time in seconds and `cut` for
//! a response that did not end. Connections leave lines here; a thread of its own writes them.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use weir_http::message::{Request, version_text};

use crate::config::AccessLog;
use crate::error::ServeError;
use crate::identity::PeerAddress;
use crate::logs::lines::{Kind, Lines, Output};
use crate::logs::messages;

/// How long the server waits at its end for lines that are not written yet.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// One response.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) peer: PeerAddress,
    /// Who it is by its password, if that was asked for.
    pub(crate) user: Option<&'a str>,
    pub(crate) unix_seconds: i64,
    /// `None`: what the client sent was not a request.
    pub(crate) request: Option<&'a Request<'a>>,
    pub(crate) code: u16,
    /// Bytes of the body.
    pub(crate) sent: u64,
    pub(crate) complete: bool,
    pub(crate) took: Duration,
}

/// Where connections leave their lines; the default is no access log.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogHandle {
    lines: Option<Lines>,
    /// The log is standard error, which the server's messages go to, too.
    shared: bool,
}

/// Opens the log.
///
/// # Errors
///
/// Its file cannot be opened, or there can be no thread to write it.
pub(crate) fn open(target: &AccessLog) -> Result<LogHandle, ServeError> {
    start(target).map_err(|error| cannot_open(target, &error))
}

fn cannot_open(target: &AccessLog, error: &io::Error) -> ServeError {
    ServeError::new(format!("cannot open the access log {target}"), error)
}

fn start(target: &AccessLog) -> io::Result<LogHandle> {
    let output = match target {
        AccessLog::Off => return Ok(LogHandle::default()),
        // Lines and messages must not be mixed up within a line.
        AccessLog::Stderr => match messages::lines() {
            Some(lines) => return Ok(LogHandle { lines: Some(lines.clone()), shared: true }),
            None => Output::stderr()?,
        },
        AccessLog::Stdout => Output::stdout()?,
        AccessLog::File(path) => Output::file(path)?,
    };
    Ok(LogHandle { lines: Some(Lines::start(output)?), shared: false })
}

/// Whether the log could be opened, as far as can be told without making it.
///
/// # Errors
///
/// Why it could not.
pub(crate) fn check(target: &AccessLog) -> Result<(), ServeError> {
    let AccessLog::File(path) = target else { return Ok(()) };
    check_file(path).map_err(|error| cannot_open(target, &error))
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
    pub(crate) fn write<'a>(&self, entry: impl FnOnce() -> Entry<'a>) {
        if let Some(lines) = &self.lines {
            lines.push(Kind::Request, line(&entry()));
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
}

fn line(entry: &Entry<'_>) -> String {
    let date = weir_http::message::date::format(entry.unix_seconds);
    let date = std::str::from_utf8(&date).unwrap_or_default();
    // "Sun, 06 Nov 1994 08:49:37 GMT" in the order of the log.
    let part = |from: usize, to: usize| date.get(from..to).unwrap_or_default();
    let mut out = String::with_capacity(160);
    let _ = match entry.peer.known_ip() {
        Some(address) => write!(out, "{}", address.to_canonical()),
        None => write!(out, "{}", entry.peer),
    };
    out.push_str(" - ");
    escape_word(entry.user.unwrap_or("-"), &mut out);
    let _ = write!(
        out,
        " [{}/{}/{}:{} +0000] \"",
        part(5, 7),
        part(8, 11),
        part(12, 16),
        part(17, 25),
    );
    match entry.request {
        Some(request) => {
            escape(request.method.as_str(), &mut out);
            out.push(' ');
            escape(request.target, &mut out);
            out.push(' ');
            out.push_str(version_text(request.version));
        }
        None => out.push('-'),
    }
    let _ = write!(out, "\" {} {} \"", entry.code, entry.sent);
    escape(entry.request.and_then(|r| r.referer).unwrap_or("-"), &mut out);
    out.push_str("\" \"");
    escape(entry.request.and_then(|r| r.user_agent).unwrap_or("-"), &mut out);
    let _ = write!(out, "\" {:.6}", entry.took.as_secs_f64());
    out.push_str(if entry.complete { " -\n" } else { " cut\n" });
    out
}

/// Escapes what a client sent so that it cannot end the field or the line.
fn escape(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
}

/// Escapes what stands in a column without quotes, so that it cannot end it either.
fn escape_word(text: &str, out: &mut String) {
    for (number, part) in text.split(' ').enumerate() {
        if number > 0 {
            out.push_str("\\x20");
        }
        escape(part, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_http::h1::request::{Limits, parse_request};

    #[test]
    fn a_user_cannot_forge_columns() {
        for (user, column) in [
            ("me", "me"),
            ("me [6/Nov] \"GET / ", "me\\x20[6/Nov]\\x20\\\"GET\\x20/\\x20"),
            ("é\n", "\\xc3\\xa9\\x0a"),
        ] {
            let mut out = String::new();
            escape_word(user, &mut out);
            assert_eq!(out, column);
        }
    }

    #[test]
    fn a_line_is_in_the_combined_format() {
        let head = b"GET /a\"b HTTP/1.1\r\nHost: x\r\nUser-Agent: t\\\xc3\xa9\r\n\r\n";
        let Ok(Some((request, _))) = parse_request(head, &Limits::default()) else {
            panic!("a valid head")
        };
        let entry = Entry {
            peer: PeerAddress::Ip(([10, 0, 0, 1], 1234).into()),
            user: None,
            unix_seconds: 784_111_777,
            request: Some(&request),
            code: 200,
            sent: 12,
            complete: true,
            took: Duration::from_micros(1500),
        };
        assert_eq!(
            line(&entry),
            "10.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /a\\\"b HTTP/1.1\" 200 12 \"-\" \
             \"t\\\\\\xc3\\xa9\" 0.001500 -\n"
        );
        assert!(line(&Entry { user: Some("me"), ..entry }).starts_with("10.0.0.1 - me [06/"));
    }
}
