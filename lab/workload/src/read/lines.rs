//! The lines of a trace file, of bounded length, for the readers of all text formats.

use std::io::{BufRead, BufReader, Read};

use super::error::{Compression, Fault};
use super::input::{Input, fault};
use super::limits::LONGEST_LINE;

/// The lines of a file, one at a time.
pub(crate) struct Lines {
    bytes: BufReader<Box<dyn Read + Send>>,
    compression: Option<Compression>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    pub(crate) fn new(input: Input) -> Lines {
        let Input { bytes, compression, .. } = input;
        Lines { bytes, compression, line: Vec::new(), number: 0 }
    }

    /// Goes to the next line; `false` at the end. A line that is too long is passed over. What an
    /// error of reading cut off is not a line.
    pub(crate) fn advance(&mut self) -> Result<bool, Fault> {
        self.line.clear();
        self.number += 1;
        let mut length = 0;
        loop {
            let buffer = match self.bytes.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(fault(error, self.compression)),
            };
            let end = memchr::memchr(b'\n', buffer);
            let part = &buffer[..end.unwrap_or(buffer.len())];
            let room = LONGEST_LINE - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            length += part.len();
            let last = buffer.is_empty();
            let used = part.len() + usize::from(end.is_some());
            self.bytes.consume(used);
            if length > LONGEST_LINE && (end.is_some() || last) {
                return Err(Fault::TooLong);
            }
            if end.is_some() || last {
                return Ok(end.is_some() || length > 0);
            }
        }
    }

    /// The line, without its end.
    pub(crate) fn line(&self) -> &[u8] {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        match self.number {
            1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            _ => line,
        }
    }

    /// The number of the line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}
