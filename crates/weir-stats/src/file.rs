//! Files of records: CSV with a header line, compressed with zstd, written and read one record at a
//! time. What is missing is an empty field. It does not know what the records mean.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use csv::{ByteRecord, StringRecord};

use crate::{Error, Record};

/// The header: the fields of [`Record`] in their order.
pub const COLUMNS: [&str; 9] = [
    "scheduled",
    "started",
    "connected",
    "first_byte",
    "last_byte",
    "size",
    "class",
    "outcome",
    "attempts",
];

/// zstd's own default: a file a fifth of the plain text's size, at more than a million records a
/// second.
const LEVEL: i32 = 3;

/// How every zstd frame begins (RFC 8878, section 3.1.1).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Writes records. Call [`RecordWriter::finish`] when all are written: without it the end of the
/// file is missing, and a reader will say so.
pub struct RecordWriter<W: Write> {
    csv: csv::Writer<zstd::Encoder<'static, W>>,
    name: String,
    line: u64,
}

impl RecordWriter<BufWriter<File>> {
    /// Creates the file `path`, or empties it.
    ///
    /// # Errors
    ///
    /// When the file cannot be created or written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = File::create(path)
            .map_err(|e| Error::new(&name, None, format!("cannot create the file: {e}")))?;
        RecordWriter::new(BufWriter::new(file), &name)
    }
}

impl<W: Write> RecordWriter<W> {
    /// Writes to `to`, which `name` stands for in errors.
    ///
    /// # Errors
    ///
    /// When the header cannot be written.
    pub fn new(to: W, name: &str) -> Result<Self, Error> {
        let failed =
            |e: &dyn std::fmt::Display| Error::new(name, None, format!("not written: {e}"));
        let encoder = zstd::Encoder::new(to, LEVEL).map_err(|e| failed(&e))?;
        // The header is written here, so that a file without records has one too.
        let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(encoder);
        csv.write_record(COLUMNS).map_err(|e| failed(&e))?;
        Ok(RecordWriter { csv, name: name.into(), line: 1 })
    }

    /// Writes one record.
    ///
    /// # Errors
    ///
    /// When the record makes no sense ([`Record::check`]; it is not written then), or writing fails.
    pub fn write(&mut self, record: &Record) -> Result<(), Error> {
        let line = Some(self.line + 1);
        record.check().map_err(|why| Error::new(&self.name, line, why))?;
        self.csv
            .serialize(record)
            .map_err(|e| Error::new(&self.name, line, format!("not written: {e}")))?;
        self.line += 1;
        Ok(())
    }

    /// Writes the end of the file and gives back what was written to.
    ///
    /// # Errors
    ///
    /// When writing fails: the file is not complete then.
    pub fn finish(self) -> Result<W, Error> {
        let RecordWriter { csv, name, .. } = self;
        let failed =
            |e: &dyn std::fmt::Display| Error::new(&name, None, format!("not written: {e}"));
        let encoder = csv.into_inner().map_err(|e| failed(e.error()))?;
        let mut to = encoder.finish().map_err(|e| failed(&e))?;
        to.flush().map_err(|e| failed(&e))?;
        Ok(to)
    }
}

/// Reads records, compressed or plain: an iterator that ends after the first error. Columns are
/// found by name; others than [`COLUMNS`] are passed over.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Outcome;
    use crate::record::tests::{any_record, record};

    fn written(records: &[Record]) -> Vec<u8> {
        let mut writer = RecordWriter::new(Vec::new(), "records").unwrap();
        records.iter().for_each(|record| writer.write(record).unwrap());
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<Record>, Error> {
        RecordReader::new(bytes, "records.csv")?.collect()
    }

    /// The error of a plain file whose header is whole and whose further lines are these.
    fn error_of(lines: &str) -> String {
        read(format!("{}\n{lines}", COLUMNS.join(",")).as_bytes()).unwrap_err().to_string()
    }

    proptest! {
        #[test]
        fn records_come_back_as_they_were(records in prop::collection::vec(any_record(), 0..30)) {
            prop_assert_eq!(read(&written(&records)).unwrap(), records);
        }

        #[test]
        fn any_bytes_give_records_or_an_error(text in "[-0-9.,a-z\"\n]{0,80}") {
            let _ = read(format!("{}\n{text}", COLUMNS.join(",")).as_bytes());
            let _ = read(text.as_bytes());
        }
    }

    #[test]
    fn the_text_has_a_header_and_empty_fields() {
        let bytes = written(&[record(1.5, 7, Outcome::Refused, None)]);
        let text = String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap();
        let (header, line) = text.split_once('\n').unwrap();
        assert_eq!(
            header,
            "scheduled,started,connected,first_byte,last_byte,size,class,outcome,attempts"
        );
        assert_eq!(line, "1.5,1.5,,,,7,0,refused,1\n");
        assert_eq!(read(text.as_bytes()).unwrap().len(), 1, "plain text is read too");
    }

    #[test]
    fn a_file_without_records_has_a_header() {
        assert!(read(&written(&[])).unwrap().is_empty());
    }

    #[test]
    fn files_are_created_and_opened_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.csv.zst");
        let one = record(0.25, 9, Outcome::Ok, Some(0.5));
        let mut writer = RecordWriter::create(&path).unwrap();
        writer.write(&one).unwrap();
        writer.finish().unwrap();
        let read: Result<Vec<Record>, _> = RecordReader::open(&path).unwrap().collect();
        assert_eq!(read.unwrap(), [one]);
        let error = RecordReader::open(directory.path().join("none")).err().unwrap().to_string();
        assert!(error.contains("none: cannot open the file"), "{error}");
    }

    #[test]
    fn columns_are_found_by_name() {
        let text = "more,attempts,outcome,class,size,last_byte,first_byte,connected,started,scheduled\n\
                    x,2,reset,3,4,,,,1.5,1\n";
        let read = read(text.as_bytes()).unwrap();
        assert_eq!((read[0].attempts, read[0].class, read[0].scheduled), (2, 3, 1.0));
    }

    #[test]
    fn errors_say_which_line_and_what() {
        let good = "1,1,,,,5,0,reset,1\n";
        let cases = [
            ("1,1,,,,5,0,reset,1,8\n", "10 fields instead of the header's 9"),
            ("1,1,,,,-5,0,reset,1\n", "column size: "),
            ("1,1,,,,5,70000,reset,1\n", "column class: "),
            ("soon,1,,,,5,0,reset,1\n", "column scheduled: "),
            ("1,1,,,,5,0,lost,1\n", "lost"),
            ("1,NaN,,,,5,0,reset,1\n", "started is NaN"),
            ("1,1,,,,5,0,ok,1\n", "last_byte is missing"),
        ];
        for (line, what) in cases {
            let error = error_of(&format!("{good}{line}{good}"));
            assert!(error.starts_with("records.csv, line 3: "), "{error}");
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn a_wrong_header_says_what_is_missing() {
        let error = read(b"scheduled,started,size\n1,2,3\n").unwrap_err().to_string();
        assert!(
            error.contains("line 1") && error.contains("no column connected, first_byte"),
            "{error}"
        );
        assert!(read(b"").unwrap_err().to_string().contains("no column scheduled"));
    }

    #[test]
    fn a_file_that_was_cut_off_gives_its_records_and_then_an_error() {
        let records: Vec<Record> = (0..50_000_u32)
            .map(|i| record(f64::from(i).sqrt(), u64::from(i), Outcome::Ok, Some(0.1)))
            .collect();
        let whole = written(&records);
        let mut reader = RecordReader::new(&whole[..whole.len() / 2], "half").unwrap();
        let read = reader.by_ref().take_while(Result::is_ok).count();
        assert!((1000..50_000).contains(&read), "{read}");
        assert!(reader.next().is_none(), "it ends after the error");
        let last = RecordReader::new(&whole[..whole.len() / 2], "half").unwrap().last();
        let error = last.unwrap().unwrap_err();
        assert_eq!(error.line, Some(read as u64 + 2));
        assert!(error.message.contains("cut off"), "{error}");
    }

    #[test]
    fn a_record_that_makes_no_sense_is_not_written() {
        let mut writer = RecordWriter::new(Vec::new(), "out").unwrap();
        writer.write(&record(0.0, 1, Outcome::Reset, None)).unwrap();
        let error = writer.write(&record(0.0, 1, Outcome::Ok, None)).unwrap_err().to_string();
        assert!(error.starts_with("out, line 3: ") && error.contains("last_byte"), "{error}");
        assert_eq!(read(&writer.finish().unwrap()).unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = RecordWriter::new(Full, "full").unwrap();
        writer.write(&record(0.0, 1, Outcome::Reset, None)).unwrap();
        let error = writer.finish().err().unwrap().to_string();
        assert!(error.starts_with("full: not written"), "{error}");
    }
}
