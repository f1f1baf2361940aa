//! Reading records from CSV, compressed or plain, one at a time.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use csv::{ByteRecord, StringRecord};

use super::COLUMNS;
use crate::{Error, Record};

/// How every zstd frame begins (RFC 8878, section 3.1.1).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Reads records, compressed or plain: an iterator that ends after the first error. Columns are
/// found by name; others than [`COLUMNS`](super::COLUMNS) are passed over.
pub struct RecordReader<'a> {
    csv: csv::Reader<Box<dyn Read + 'a>>,
    header: ByteRecord,
    row: ByteRecord,
    name: String,
    ended: bool,
}

impl RecordReader<'static> {
    /// Opens the file `path`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or its first line lacks a column.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = File::open(path)
            .map_err(|e| Error::new(&name, None, format!("cannot open the file: {e}")))?;
        RecordReader::new(file, &name)
    }
}

impl<'a> RecordReader<'a> {
    /// Reads from `from`, which `name` stands for in errors.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or its first line lacks a column.
    pub fn new(from: impl Read + 'a, name: &str) -> Result<Self, Error> {
        let plain = decompressed(from)
            .map_err(|e| Error::new(name, None, format!("cannot read the file: {e}")))?;
        let mut csv = csv::ReaderBuilder::new().from_reader(plain);
        let header = csv.headers().map_err(|e| read_error(name, 1, &e))?.clone();
        complete(&header).map_err(|why| Error::new(name, Some(1), why))?;
        let header = header.into_byte_record();
        Ok(RecordReader { csv, header, row: ByteRecord::new(), name: name.into(), ended: false })
    }

    fn read(&mut self) -> Result<Option<Record>, Error> {
        // Where the reader stands, for errors that do not say where they are.
        let next = self.csv.position().line();
        if !self
            .csv
            .read_byte_record(&mut self.row)
            .map_err(|e| read_error(&self.name, next, &e))?
        {
            return Ok(None);
        }
        let line = self.row.position().map_or(next, csv::Position::line);
        let record: Record = self
            .row
            .deserialize(Some(&self.header))
            .map_err(|e| Error::new(&self.name, Some(line), field_error(&e, &self.header)))?;
        record.check().map_err(|why| Error::new(&self.name, Some(line), why))?;
        Ok(Some(record))
    }
}

impl Iterator for RecordReader<'_> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.read().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

/// Plain text of what may be compressed.
fn decompressed<'a>(mut from: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut start = Vec::with_capacity(MAGIC.len());
    from.by_ref().take(MAGIC.len() as u64).read_to_end(&mut start)?;
    let compressed = start == MAGIC;
    let whole = io::Cursor::new(start).chain(from);
    if compressed {
        Ok(Box::new(zstd::Decoder::new(whole)?))
    } else {
        Ok(Box::new(BufReader::new(whole)))
    }
}

/// Whether the header has every column.
fn complete(header: &StringRecord) -> Result<(), String> {
    let missing: Vec<&str> =
        COLUMNS.into_iter().filter(|column| header.iter().all(|have| have != *column)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "no column {}: not a file of records, whose first line is `{}`",
        missing.join(", "),
        COLUMNS.join(",")
    ))
}

/// What reading a line said; `next` is the line that was to be read.
fn read_error(name: &str, next: u64, error: &csv::Error) -> Error {
    let line = error.position().map_or(next, csv::Position::line);
    let message = match error.kind() {
        csv::ErrorKind::Io(e) => {
            format!("cannot read on: {e} (a run that was cut off leaves a file without an end)")
        }
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} fields instead of the header's {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "not text (UTF-8)".into(),
        _ => error.to_string(),
    };
    Error::new(name, Some(line), message)
}

/// Which field of a line cannot be what it should be.
fn field_error(error: &csv::Error, header: &ByteRecord) -> String {
    let csv::ErrorKind::Deserialize { err, .. } = error.kind() else { return error.to_string() };
    let column = err.field().and_then(|field| header.get(usize::try_from(field).ok()?));
    match column {
        Some(column) => format!("column {}: {}", String::from_utf8_lossy(column), err.kind()),
        None => err.kind().to_string(),
    }
}
