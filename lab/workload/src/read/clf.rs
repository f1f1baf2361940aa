//! The reader of Common and Combined Log Format: `client ident user [time] "request" status bytes`,
//! with anything after it. [`super::Trace`] decides which of its entries are requests to replay.

use std::borrow::Cow;

use chrono::NaiveDate;

use super::entry::{Client, Entry, epoch, number};
use super::error::Fault;

const LINE: &str = "client ident user [10/Oct/2000:13:55:36 -0700] \"GET /path HTTP/1.0\" 200 2326";
const TIME: &str = "a time such as 10/Oct/2000:13:55:36 -0700";

/// Reads a line. A size of `-` is unknown. Quotes within the request line need not be escaped: it
/// ends at the first quote that a status follows.
pub(super) fn parse(line: &[u8]) -> Result<Entry<'_>, Fault> {
    let wrong = || Fault::field("line", line, LINE);
    let space = memchr::memchr(b' ', line).ok_or_else(wrong)?;
    let (client, rest) = line.split_at(space);
    if client.is_empty() {
        return Err(wrong());
    }
    // A user's name may hold spaces, but hardly a bracket after one.
    let opens = memchr::memmem::find(rest, b" [").ok_or_else(wrong)?;
    let rest = &rest[opens + 2..];
    let closes = memchr::memchr(b']', rest).ok_or_else(wrong)?;
    let time = time(&rest[..closes]).ok_or_else(|| Fault::field("time", &rest[..closes], TIME))?;
    let rest = rest[closes + 1..].strip_prefix(b" \"").ok_or_else(wrong)?;
    let (request, status, bytes) = request_line(rest).ok_or_else(wrong)?;
    let (get, path) = target(request);
    let size = match bytes {
        b"-" => None,
        digits => Some(number(digits).ok_or_else(|| Fault::field("size", digits, "bytes, or -"))?),
    };
    let client = Client::Name(Cow::Borrowed(client));
    Ok(Entry { time, client, class: 0, path, size, get, status: Some(status) })
}

/// Seconds since 1970 of `10/Oct/2000:13:55:36 -0700`.
fn time(text: &[u8]) -> Option<f64> {
    let [d1, d2, b'/', m1, m2, m3, b'/', y1, y2, y3, y4, b':', clock @ ..] = text else {
        return None;
    };
    let [h1, h2, b':', n1, n2, b':', s1, s2, b' ', sign, zh1, zh2, zm1, zm2] = *clock else {
        return None;
    };
    const MONTHS: [&[u8; 3]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let month = (1..).zip(MONTHS).find(|(_, name)| *name == &[*m1, *m2, *m3])?.0;
    let year = i32::try_from(number(&[*y1, *y2, *y3, *y4])?).ok()?;
    let day = u32::try_from(number(&[*d1, *d2])?).ok()?;
    let date = NaiveDate::from_ymd_opt(year, month, day)?;
    let local = epoch(date, number(&[h1, h2])?, number(&[n1, n2])?, number(&[s1, s2])?)?;
    let zone = (number(&[zh1, zh2])? * 60 + number(&[zm1, zm2])?) as f64 * 60.0;
    match sign {
        b'+' => Some(local - zone),
        b'-' => Some(local + zone),
        _ => None,
    }
}

/// The request line up to its closing quote, the status and the size that follow.
fn request_line(rest: &[u8]) -> Option<(&[u8], u16, &[u8])> {
    memchr::memchr_iter(b'"', rest).find_map(|quote| {
        let slashes = rest[..quote].iter().rev().take_while(|&&byte| byte == b'\\').count();
        if slashes % 2 == 1 {
            return None;
        }
        let after = rest[quote + 1..].strip_prefix(b" ")?;
        let (status, after) = after.split_at_checked(3)?;
        let status = u16::try_from(number(status)?).ok()?;
        let after = after.strip_prefix(b" ")?;
        let end = memchr::memchr(b' ', after).unwrap_or(after.len());
        Some((&rest[..quote], status, &after[..end]))
    })
}

/// Whether it is a GET, and of what. The version may be missing (HTTP/0.9), the path hold spaces.
fn target(request: &[u8]) -> (bool, Cow<'_, [u8]>) {
    let method_end = memchr::memchr(b' ', request).unwrap_or(request.len());
    let (method, rest) = request.split_at(method_end);
    let rest = rest.trim_ascii();
    let path = match memchr::memmem::rfind(rest, b" HTTP/") {
        Some(version) => rest[..version].trim_ascii_end(),
        None => rest,
    };
    let get = method == b"GET" && !path.is_empty();
    (get, unescape(path))
}

/// Undoes the escapes that Apache (`\"`, `\\`, `\n`, `\xhh`) and nginx (`\x22`) write.
fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        let (meant, used) = match *after {
            [b'x', high, low, ..] => match (hex(high), hex(low)) {
                (Some(high), Some(low)) => (high << 4 | low, 3),
                _ => (b'\\', 0),
            },
            [b'n', ..] => (b'\n', 1),
            [b'r', ..] => (b'\r', 1),
            [b't', ..] => (b'\t', 1),
            [b'v', ..] => (0x0b, 1),
            [b'b', ..] => (0x08, 1),
            [quoted @ (b'"' | b'\\'), ..] => (quoted, 1),
            _ => (b'\\', 0),
        };
        plain.push(meant);
        rest = &rest[used..];
    }
    Cow::Owned(plain)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
