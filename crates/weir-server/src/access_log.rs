//! The access log in Combined Log Format with two columns more: seconds, and `cut` for a response
//! that did not end. A thread of its own writes; workers never wait for it.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use weir_http::request::Request;

use crate::config::AccessLog;
use crate::metrics::Metrics;

/// Lines that may wait for the writer; more are counted and dropped.
const WAITING: usize = 16_384;

/// One response.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) peer: IpAddr,
    pub(crate) unix_seconds: i64,
    /// `None`: what came was no request.
    pub(crate) request: Option<&'a Request<'a>>,
    pub(crate) code: u16,
    /// Bytes of the body.
    pub(crate) sent: u64,
    pub(crate) complete: bool,
    pub(crate) took: Duration,
}

/// Where workers leave their lines.
#[derive(Clone, Debug)]
pub(crate) struct LogHandle {
    lines: Option<SyncSender<String>>,
    /// The file is to be opened anew.
    reopen: Arc<AtomicBool>,
    metrics: Arc<Metrics>,
}

/// The thread that writes; it ends when all handles are gone.
#[derive(Debug)]
pub(crate) struct LogWriter(Option<JoinHandle<()>>);

pub(crate) fn start(
    target: &AccessLog,
    metrics: Arc<Metrics>,
) -> io::Result<(LogHandle, LogWriter)> {
    let reopen = Arc::<AtomicBool>::default();
    let (out, file): (Box<dyn Write + Send>, _) = match target {
        AccessLog::Off => return Ok((LogHandle { lines: None, reopen, metrics }, LogWriter(None))),
        AccessLog::Stderr => (Box::new(io::stderr()), None),
        AccessLog::File(path) => (Box::new(open(path)?), Some(path.clone())),
    };
    let (lines, waiting) = sync_channel(WAITING);
    let asked = reopen.clone();
    let writer = thread::Builder::new()
        .name("weir-log".to_owned())
        .spawn(move || write_lines(&waiting, BufWriter::new(out), file.as_deref(), &asked))?;
    Ok((LogHandle { lines: Some(lines), reopen, metrics }, LogWriter(Some(writer))))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn write_lines(
    waiting: &Receiver<String>,
    mut out: BufWriter<Box<dyn Write + Send>>,
    file: Option<&Path>,
    reopen: &AtomicBool,
) {
    let mut failed = false;
    while let Ok(line) = waiting.recv() {
        if let Some(path) = file.filter(|_| reopen.swap(false, Ordering::Relaxed)) {
            match open(path) {
                Ok(opened) => {
                    out = BufWriter::new(Box::new(opened));
                    tracing::info!("the access log {} was opened anew", path.display());
                }
                Err(error) => tracing::error!(
                    "the access log {} cannot be opened anew, the old file is used: {error}",
                    path.display()
                ),
            }
        }
        let mut result = out.write_all(line.as_bytes());
        while let Ok(line) = waiting.try_recv() {
            result = result.and_then(|()| out.write_all(line.as_bytes()));
        }
        if let Err(error) = result.and_then(|()| out.flush())
            && !std::mem::replace(&mut failed, true)
        {
            let file = file.unwrap_or(Path::new("on standard error"));
            tracing::error!("the access log {} cannot be written: {error}", file.display());
        }
    }
}

impl LogHandle {
    /// Has the file opened anew, as after it was renamed; what is not a file stays as it is.
    pub(crate) fn reopen(&self) {
        self.reopen.store(true, Ordering::Relaxed);
        // An empty line wakes the writer; if there is no room, it is awake.
        let _ = self.lines.as_ref().map(|lines| lines.try_send(String::new()));
    }

    pub(crate) fn write<'a>(&self, entry: impl FnOnce() -> Entry<'a>) {
        let Some(lines) = &self.lines else { return };
        if let Err(TrySendError::Full(_)) = lines.try_send(line(&entry())) {
            self.metrics.log_lines_lost.inc();
        }
    }
}

impl LogWriter {
    /// Waits until all lines are written. All handles must be gone.
    pub(crate) fn finish(self) {
        if let Some(writer) = self.0
            && writer.join().is_err()
        {
            tracing::error!("the access log's thread ended early");
        }
    }
}

fn line(entry: &Entry<'_>) -> String {
    let date = weir_http::date::format(entry.unix_seconds);
    let date = std::str::from_utf8(&date).unwrap_or_default();
    // "Sun, 06 Nov 1994 08:49:37 GMT" in the order of the log.
    let part = |from: usize, to: usize| date.get(from..to).unwrap_or_default();
    let mut out = String::with_capacity(160);
    let _ = write!(
        out,
        "{} - - [{}/{}/{}:{} +0000] \"",
        entry.peer.to_canonical(),
        part(5, 7),
        part(8, 11),
        part(12, 16),
        part(17, 25),
    );
    match entry.request {
        Some(request) => {
            escape(request.method_text, &mut out);
            out.push(' ');
            escape(request.target, &mut out);
            out.push(' ');
            out.push_str(request.version.as_str());
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

/// Writes what a client sent so that it cannot end the field or the line.
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

#[cfg(test)]
mod tests {
    use super::*;
    use weir_http::request::{Limits, Parsed, parse};

    #[test]
    fn a_line_is_in_the_combined_format() {
        let head = b"GET /a\"b HTTP/1.1\r\nHost: x\r\nUser-Agent: t\\\xc3\xa9\r\n\r\n";
        let Ok(Parsed::Complete { request, .. }) = parse(head, &Limits::default()) else {
            panic!("a valid head")
        };
        let entry = Entry {
            peer: IpAddr::from([10, 0, 0, 1]),
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
    }
}
