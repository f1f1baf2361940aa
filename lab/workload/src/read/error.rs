//! What can be wrong with a trace: where, what was found, what is expected. Every reader returns
//! it; what skips bad records counts them by [`Reason`].

use std::fmt;
use std::io;

use super::format::Format;
use super::limits::{LONGEST_LINE, MOST_HELD};

/// A trace cannot be read on, and why.
#[derive(Debug)]
pub struct TraceError {
    /// Where in the trace.
    pub place: Place,
    /// What is wrong there.
    pub fault: Fault,
}

/// A place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line, counted from 1.
    Line(u64),
    /// A record of a binary format, counted from 1.
    Record(u64),
    /// No place in particular: the file as a whole.
    Whole,
}

/// What is wrong with a trace.
#[derive(Debug)]
pub enum Fault {
    /// A field does not say what its format says it should.
    Field {
        /// Which.
        name: &'static str,
        /// What was there, shortened.
        found: String,
        /// What should be.
        expected: &'static str,
    },
    /// A line has another number of columns than the header.
    Columns {
        /// What was there.
        found: usize,
        /// What the header says.
        expected: usize,
    },
    /// The header lacks a column.
    Header {
        /// The column.
        missing: &'static str,
        /// The header that was expected.
        expected: &'static str,
    },
    /// A line is longer than [`LONGEST_LINE`](super::LONGEST_LINE).
    TooLong,
    /// A request is earlier than one before it.
    Backwards {
        /// By how many seconds.
        seconds: f64,
    },
    /// A request is more than 366 days later than all before it.
    Ahead {
        /// By how many seconds.
        seconds: f64,
    },
    /// More requests within a second (or within the window of reordering) than memory should hold.
    TooDense,
    /// A binary record ends early.
    ShortRecord {
        /// The bytes that were there.
        bytes: usize,
    },
    /// Compressed data end early.
    Truncated(Compression),
    /// Compressed data are damaged.
    Corrupt(Compression, io::Error),
    /// The file cannot be read.
    Io(io::Error),
    /// The content fits no format.
    UnknownFormat,
    /// The file holds something else than requests.
    NotRequests(&'static str),
    /// There is nothing in the file.
    Empty,
}

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
}

/// The kind of a [`Fault`], to count by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A field was unreadable.
    BadField,
    /// A line had another number of columns than the header.
    WrongColumns,
    /// A line was too long.
    LineTooLong,
    /// A request was earlier than one before it.
    OutOfOrder,
    /// A request was far later than all before it.
    FarAhead,
    /// Too many requests in one second.
    TooDense,
    /// The last binary record ended early.
    ShortRecord,
    /// The compressed data ended early; nothing after was read.
    TruncatedFile,
    /// The compressed data were damaged; nothing after was read.
    CorruptFile,
}

impl Fault {
    /// A field that is not what it should be. Only the start of a long `found` is kept.
    pub(super) fn field(name: &'static str, found: &[u8], expected: &'static str) -> Fault {
        let start = &found[..found.len().min(60)];
        let more = if found.len() > start.len() { "…" } else { "" };
        Fault::Field { name, found: format!("{}{more}", start.escape_ascii()), expected }
    }

    /// What it is counted as when bad records are skipped; `None` if reading must stop.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Fault::Field { .. } => Some(Reason::BadField),
            Fault::Columns { .. } => Some(Reason::WrongColumns),
            Fault::TooLong => Some(Reason::LineTooLong),
            Fault::Backwards { .. } => Some(Reason::OutOfOrder),
            Fault::Ahead { .. } => Some(Reason::FarAhead),
            Fault::TooDense => Some(Reason::TooDense),
            Fault::ShortRecord { .. } => Some(Reason::ShortRecord),
            Fault::Truncated(_) => Some(Reason::TruncatedFile),
            Fault::Corrupt(..) => Some(Reason::CorruptFile),
            Fault::Header { .. }
            | Fault::Io(_)
            | Fault::UnknownFormat
            | Fault::NotRequests(_)
            | Fault::Empty => None,
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Line(line) => write!(f, "line {line}: {}", self.fault),
            Place::Record(record) => write!(f, "record {record}: {}", self.fault),
            Place::Whole => self.fault.fmt(f),
        }
    }
}

impl std::error::Error for TraceError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Field { name, found, expected } => {
                write!(f, "the {name} is \"{found}\"; expected {expected}")
            }
            Fault::Columns { found, expected } => {
                write!(f, "the line has {found} columns; expected {expected} as in the header")
            }
            Fault::Header { missing, expected } => {
                write!(f, "the header names no column `{missing}`; expected {expected}")
            }
            Fault::TooLong => {
                write!(f, "the line is longer than {} bytes", LONGEST_LINE)
            }
            Fault::Backwards { seconds } => write!(
                f,
                "the time is {seconds} s before that of an earlier request; expected times in \
                 order (a longer reordering window sorts them)"
            ),
            Fault::Ahead { seconds } => write!(
                f,
                "the time is {seconds} s after those of all earlier requests; expected at most \
                 366 days (two logs so far apart are two traces)"
            ),
            Fault::TooDense => {
                write!(f, "more than {} requests in one second or reordering window", MOST_HELD)
            }
            Fault::ShortRecord { bytes } => {
                write!(
                    f,
                    "the file ends after {bytes} bytes of the record; expected 20 (truncated)"
                )
            }
            Fault::Truncated(compression) => write!(
                f,
                "the {compression} data end early: the file is truncated; expected a whole one \
                 (what is before can be read by skipping what is bad)"
            ),
            Fault::Corrupt(compression, error) => write!(
                f,
                "the {compression} data are corrupt ({error}); expected an undamaged file (what is \
                 before can be read by skipping what is bad)"
            ),
            Fault::Io(error) => write!(f, "cannot read: {error}"),
            Fault::UnknownFormat => write!(
                f,
                "the content fits no format; expected one of {} (name it if you know it)",
                Format::NAMES.join(", ")
            ),
            Fault::NotRequests(what) => write!(f, "the file holds {what}, not requests"),
            Fault::Empty => write!(f, "the file is empty; expected requests"),
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::BadField => "unreadable field",
            Reason::WrongColumns => "wrong number of columns",
            Reason::LineTooLong => "line too long",
            Reason::OutOfOrder => "out of order",
            Reason::FarAhead => "far ahead of those before",
            Reason::TooDense => "too many in one second",
            Reason::ShortRecord => "truncated record",
            Reason::TruncatedFile => "truncated file",
            Reason::CorruptFile => "corrupt file",
        })
    }
}
