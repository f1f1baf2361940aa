//! Load per minute, as in the World Cup 1998 site's `timestamp,num_request,size`. Load shapes are
//! made of it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::entry::{date_and_time, number};
use super::error::{Fault, Place, TraceError};
use super::input::Input;
use super::lines::Lines;

const HEADER: &str = "timestamp,num_request,size";

/// What a site was asked for in one minute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Minute {
    /// Its start, in seconds since 1970.
    pub start: f64,
    /// Requests.
    pub requests: u64,
    /// Bytes of the responses.
    pub bytes: u64,
}

/// Reads a file of minutes, gzip or zstd or plain. Minutes without requests may be missing.
///
/// # Errors
///
/// The file cannot be read, has another header, or a line that is wrong or out of order.
pub fn open(path: &Path) -> Result<Vec<Minute>, TraceError> {
    let file = File::open(path)
        .map_err(|error| TraceError { place: Place::Whole, fault: Fault::Io(error) })?;
    read(file)
}

/// Reads minutes from anything that can be read.
///
/// # Errors
///
/// As [`open`].
pub fn read(reader: impl Read + Send + 'static) -> Result<Vec<Minute>, TraceError> {
    let input = Input::new(reader).map_err(|fault| TraceError { place: Place::Whole, fault })?;
    let mut lines = Lines::new(input);
    let mut minutes: Vec<Minute> = Vec::new();
    loop {
        let minute = match lines.advance() {
            Ok(true) if lines.number() == 1 => header(lines.line()).map(|()| None),
            Ok(true) if lines.line().is_empty() => continue,
            Ok(true) => minute(lines.line(), minutes.last()).map(Some),
            Ok(false) => return Ok(minutes),
            Err(fault) => Err(fault),
        };
        let place = Place::Line(lines.number());
        minutes.extend(minute.map_err(|fault| TraceError { place, fault })?);
    }
}

fn header(line: &[u8]) -> Result<(), Fault> {
    if line == HEADER.as_bytes() { Ok(()) } else { Err(Fault::field("header", line, HEADER)) }
}

fn minute(line: &[u8], before: Option<&Minute>) -> Result<Minute, Fault> {
    let mut fields = line.split(|&byte| byte == b',');
    let (Some(when), Some(requests), Some(bytes), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(Fault::field("line", line, "a minute, requests and bytes between commas"));
    };
    let (date, time) = match when.iter().position(|&byte| byte == b' ') {
        Some(space) => (&when[..space], &when[space + 1..]),
        None => (when, &b""[..]),
    };
    let minute = Minute {
        start: date_and_time(date, time)?,
        requests: number(requests)
            .ok_or_else(|| Fault::field("num_request", requests, "a number of requests"))?,
        bytes: number(bytes).ok_or_else(|| Fault::field("size", bytes, "a number of bytes"))?,
    };
    match before {
        Some(before) if before.start >= minute.start => {
            Err(Fault::Backwards { seconds: before.start - minute.start })
        }
        _ => Ok(minute),
    }
}
