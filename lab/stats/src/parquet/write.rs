//! Writing records as Parquet: they are gathered in groups, and each group is written column by
//! column.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::SCHEMA;
use crate::{Error, Record};

/// Records that are gathered before they are written: 6 MB of memory.
const GROUP: usize = 65_536;

/// Writes records. Call [`ParquetWriter::finish`] when all are written: without it the file cannot
/// be read.
pub struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    name: String,
    /// Records of the group that is not written yet.
    waiting: Vec<Record>,
    group: usize,
    count: u64,
}

impl ParquetWriter<File> {
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
        ParquetWriter::new(file, &name)
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Writes to `to`, which `name` stands for in errors.
    ///
    /// # Errors
    ///
    /// When the beginning of the file cannot be written.
    pub fn new(to: W, name: &str) -> Result<Self, Error> {
        ParquetWriter::with_group(to, name, GROUP)
    }

    /// As [`ParquetWriter::new`], with groups of so many records.
    pub(super) fn with_group(to: W, name: &str, group: usize) -> Result<Self, Error> {
        let zstd = Compression::ZSTD(Default::default());
        let properties = WriterProperties::builder().set_compression(zstd).build();
        let file = parse_message_type(SCHEMA)
            .and_then(|schema| {
                SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))
            })
            .map_err(|e| failed(name, &e))?;
        Ok(ParquetWriter { file, name: name.into(), waiting: Vec::new(), group, count: 0 })
    }

    /// Takes one record; writes when enough are gathered.
    ///
    /// # Errors
    ///
    /// When the record makes no sense ([`Record::check`]; it is not written then), or writing fails.
    pub fn write(&mut self, record: &Record) -> Result<(), Error> {
        record.check().map_err(|why| Error::new(&self.name, Some(self.count + 1), why))?;
        self.count += 1;
        self.waiting.push(record.clone());
        if self.waiting.len() < self.group { Ok(()) } else { self.write_group() }
    }

    /// Writes what is gathered and the end of the file, and gives back what was written to.
    ///
    /// # Errors
    ///
    /// When writing fails: the file is not complete then.
    pub fn finish(mut self) -> Result<W, Error> {
        self.write_group()?;
        let mut to = self.file.into_inner().map_err(|e| failed(&self.name, &e))?;
        to.flush().map_err(|e| failed(&self.name, &ParquetError::from(e)))?;
        Ok(to)
    }

    fn write_group(&mut self) -> Result<(), Error> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let written = self.file.next_row_group().and_then(|group| columns(group, &self.waiting));
        written.map_err(|e| failed(&self.name, &e))?;
        self.waiting.clear();
        Ok(())
    }
}

fn failed(name: &str, error: &ParquetError) -> Error {
    Error::new(name, None, format!("not written: {error}"))
}

/// Writes the columns of a group in the order of the schema.
fn columns<W: Write + Send>(
    mut group: SerializedRowGroupWriter<'_, W>,
    records: &[Record],
) -> Result<(), ParquetError> {
    let to = &mut group;
    // Unsigned numbers keep their bits: the schema says how they are to be read.
    required::<DoubleType, _>(to, records, |r| r.scheduled)?;
    required::<DoubleType, _>(to, records, |r| r.started)?;
    optional(to, records, |r| r.connected)?;
    optional(to, records, |r| r.first_byte)?;
    optional(to, records, |r| r.last_byte)?;
    required::<Int64Type, _>(to, records, |r| r.size.cast_signed())?;
    required::<Int32Type, _>(to, records, |r| i32::from(r.class))?;
    required::<ByteArrayType, _>(to, records, |r| ByteArray::from(r.outcome.name()))?;
    required::<Int32Type, _>(to, records, |r| r.attempts.cast_signed())?;
    group.close().map(|_| ())
}

fn required<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    records: &[Record],
    field: impl Fn(&Record) -> T::T,
) -> Result<(), ParquetError> {
    let values: Vec<T::T> = records.iter().map(field).collect();
    column::<T, W>(group, &values, None)
}

fn optional<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    records: &[Record],
    field: impl Fn(&Record) -> Option<f64>,
) -> Result<(), ParquetError> {
    let present: Vec<i16> = records.iter().map(|r| i16::from(field(r).is_some())).collect();
    let values: Vec<f64> = records.iter().filter_map(field).collect();
    column::<DoubleType, W>(group, &values, Some(&present))
}

fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    present: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("the schema has too few columns".into()))?;
    column.typed::<T>().write_batch(values, present, None)?;
    column.close()
}
