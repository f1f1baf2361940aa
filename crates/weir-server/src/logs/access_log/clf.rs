//! The Common and the Combined format, and weir's own, which is the Combined one with two more columns.
//!
//! Common is written as Apache does it (mod_log_config, `"%h %l %u %t \"%r\" %>s %b"`), Combined as nginx
//! does (its format `combined`); they differ in how they escape, and in a body of no bytes.

use std::fmt::Write as _;

use weir_http::message::version_text;

use super::entry::{Ending, Entry};
use crate::logs::date::Date;
use crate::logs::numbers::{number, seconds};

/// Adds a line in the Common format.
pub(super) fn common(out: &mut String, entry: &Entry<'_>, date: &Date) {
    until_status(out, entry, date, apache_escape);
    match entry.sent {
        0 => out.push('-'),
        sent => number(out, sent),
    }
}

/// Adds a line in the Combined format.
pub(super) fn combined(out: &mut String, entry: &Entry<'_>, date: &Date) {
    until_status(out, entry, date, nginx_escape);
    number(out, entry.sent);
    referer_and_agent(out, entry, nginx_escape);
}

/// Adds a line of weir's own format: behind the Combined one, escaped as Apache does it, the response time
/// in seconds, and `cut` for a response that did not end.
pub(super) fn weir(out: &mut String, entry: &Entry<'_>, date: &Date) {
    until_status(out, entry, date, apache_escape);
    number(out, entry.sent);
    referer_and_agent(out, entry, apache_escape);
    out.push(' ');
    seconds(out, entry.took);
    out.push_str(if entry.ending == Ending::Complete { " -" } else { " cut" });
}

/// How what a client sent is escaped so that it cannot end the field or the line.
type Escape = fn(&mut String, &str);

/// The columns up to the status, and the space behind it.
fn until_status(out: &mut String, entry: &Entry<'_>, date: &Date, escape: Escape) {
    let _ = match entry.peer.known_ip() {
        Some(address) => write!(out, "{}", address.to_canonical()),
        None => write!(out, "{}", entry.peer),
    };
    out.push_str(" - ");
    word(out, entry.user.unwrap_or("-"), escape);
    out.push_str(" [");
    date.write_clf(out);
    out.push_str("] \"");
    match entry.request {
        Some(request) => {
            escape(out, request.method.as_str());
            out.push(' ');
            escape(out, request.target);
            out.push(' ');
            out.push_str(version_text(request.version));
        }
        None => out.push('-'),
    }
    out.push_str("\" ");
    number(out, entry.code.into());
    out.push(' ');
}

/// Adds a column without quotes, which no space may end either.
fn word(out: &mut String, text: &str, escape: Escape) {
    for (number, part) in text.split(' ').enumerate() {
        if number > 0 {
            out.push_str("\\x20");
        }
        escape(out, part);
    }
}

fn referer_and_agent(out: &mut String, entry: &Entry<'_>, escape: Escape) {
    let request = entry.request;
    for value in [request.and_then(|r| r.referer), request.and_then(|r| r.user_agent)] {
        out.push_str(" \"");
        escape(out, value.unwrap_or("-"));
        out.push('"');
    }
}

/// As Apache does it: quotes and backslashes with a backslash, other bytes as `\xhh`.
fn apache_escape(out: &mut String, text: &str) {
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

/// As nginx does it: quotes, backslashes and other bytes as `\xHH`.
fn nginx_escape(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if !matches!(byte, b'"' | b'\\') => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02X}");
            }
        }
    }
}
