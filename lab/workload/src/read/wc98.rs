//! The binary logs of the World Cup 1998 site (Arlitt & Jin, HPL-1999-35; definitions.h of the
//! Internet Traffic Archive's tools): records of 20 bytes, big-endian. Read by [`super::Trace`],
//! written by `weir-lab trace convert`.

use std::borrow::Cow;
use std::io::{self, BufReader, Read, Write};

use super::entry::{Client, Entry};
use super::error::{Compression, Fault};
use super::input::{Input, fault};
use crate::Request;

/// Bytes of a record.
pub const RECORD: usize = 20;
/// The size of a record whose size is unknown.
const NO_SIZE: u32 = 0xffff_ffff;
/// The lower six bits of the status byte index this; the upper two are the version.
const STATUS: [u16; 37] = [
    100, 101, 200, 201, 202, 203, 204, 205, 206, 300, 301, 302, 303, 304, 305, 400, 401, 402, 403,
    404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 500, 501, 502, 503, 504, 505,
];
/// Methods above are unknown.
const METHODS: u8 = 8;
/// Types of files above are unknown.
const TYPES: u8 = 12;
/// HTTP/1.0, status 200.
const OK_HTTP_1_0: u8 = 0x40 | 2;
const OTHER_TYPE: u8 = 12;

/// Whether `start` can be the start of such a log: at least one record, and every whole one with
/// known codes and times in order.
pub(super) fn plausible(start: &[u8]) -> bool {
    let (records, _) = start.as_chunks::<RECORD>();
    let time =
        |record: &[u8; RECORD]| u32::from_be_bytes([record[0], record[1], record[2], record[3]]);
    !records.is_empty()
        && records.iter().all(|record| {
            record[16] <= METHODS
                && usize::from(record[17] & 0x3f) <= STATUS.len()
                && record[18] <= TYPES
        })
        && records.is_sorted_by_key(time)
}

pub(super) struct Records {
    bytes: BufReader<Box<dyn Read + Send>>,
    compression: Option<Compression>,
    path: String,
    number: u64,
}

impl Records {
    pub(super) fn new(input: Input) -> Records {
        let Input { bytes, compression, .. } = input;
        Records { bytes, compression, path: String::new(), number: 0 }
    }

    /// The number of the record, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next record. Its path is the number of its object: the log has no names.
    pub(super) fn next(&mut self) -> Option<Result<Entry<'_>, Fault>> {
        self.number += 1;
        let mut record = [0; RECORD];
        let mut got = 0;
        while got < RECORD {
            match self.bytes.read(&mut record[got..]) {
                Ok(0) if got == 0 => return None,
                Ok(0) => return Some(Err(Fault::ShortRecord { bytes: got })),
                Ok(count) => got += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Some(Err(fault(error, self.compression))),
            }
        }
        let word = |at: usize| {
            u32::from_be_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
        };
        let [method, status, kind] = [record[16], record[17] & 0x3f, record[18]];
        if method > METHODS {
            let expected = "a code of definitions.h, 0 to 8";
            return Some(Err(Fault::field("method", method.to_string().as_bytes(), expected)));
        }
        if kind > TYPES {
            let expected = "a code of definitions.h, 0 to 12";
            return Some(Err(Fault::field("type", kind.to_string().as_bytes(), expected)));
        }
        if usize::from(status) > STATUS.len() {
            let expected = "a code of definitions.h, 0 to 37";
            return Some(Err(Fault::field("status", status.to_string().as_bytes(), expected)));
        }
        self.path = format!("/{}", word(8));
        Some(Ok(Entry {
            time: f64::from(word(0)),
            client: Client::Number(word(4)),
            class: 0,
            path: Cow::Borrowed(self.path.as_bytes()),
            size: Some(word(12)).filter(|&size| size != NO_SIZE).map(u64::from),
            get: method == 0,
            status: Some(STATUS.get(usize::from(status)).copied().unwrap_or(0)),
        }))
    }
}

/// Writes requests as such a log. Times become whole seconds after `epoch` (seconds since 1970),
/// paths numbers in the order of their first use; classes are not kept, and a size of 4 GiB or more
/// becomes unknown.
///
/// # Errors
///
/// Those of `out`, and a time that does not fit 32 bits.
pub fn write(
    requests: impl IntoIterator<Item = Request>,
    epoch: u32,
    mut out: impl Write,
) -> io::Result<u64> {
    let mut objects = std::collections::HashMap::new();
    let mut written = 0;
    for request in requests {
        let seconds = request.at.floor() + f64::from(epoch);
        if !(0.0..=f64::from(u32::MAX)).contains(&seconds) {
            let why = format!("a time of {} s does not fit the format's 32 bits", request.at);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let next = u32::try_from(objects.len()).unwrap_or(u32::MAX);
        let object = *objects.entry(request.path).or_insert(next);
        let size = request.size.and_then(|size| u32::try_from(size).ok()).unwrap_or(NO_SIZE);
        for word in [seconds as u32, request.client, object, size] {
            out.write_all(&word.to_be_bytes())?;
        }
        out.write_all(&[0, OK_HTTP_1_0, OTHER_TYPE, 0])?;
        written += 1;
    }
    out.flush()?;
    Ok(written)
}
