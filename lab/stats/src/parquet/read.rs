//! Reading records from Parquet, one group of rows at a time. Columns are found by name, so that
//! files which other tools have written can be read too.

use std::fs::File;
use std::path::Path;
use std::vec::IntoIter;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use crate::file::COLUMNS;
use crate::{Error, Outcome, Record};

/// Reads records: an iterator that ends after the first error. Columns other than
/// [`COLUMNS`] are passed over. Memory is that of one group of rows.
pub struct ParquetReader {
    file: SerializedFileReader<File>,
    name: String,
    /// The place of each of [`COLUMNS`] in the file.
    places: [usize; COLUMNS.len()],
    group: usize,
    records: IntoIter<Record>,
    /// Records read before this group.
    before: u64,
}

impl ParquetReader {
    /// Opens the file `path`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is not Parquet or lacks a column.
    pub fn open(path: impl AsRef<Path>) -> Result<ParquetReader, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = File::open(path)
            .map_err(|e| Error::new(&name, None, format!("cannot open the file: {e}")))?;
        let file = SerializedFileReader::new(file)
            .map_err(|e| Error::new(&name, None, format!("not a complete Parquet file: {e}")))?;
        let schema = file.metadata().file_metadata().schema_descr();
        let mut places = [0; COLUMNS.len()];
        for (place, wanted) in places.iter_mut().zip(COLUMNS) {
            let found = schema.columns().iter().position(|column| {
                // One that is in a list or a structure is another.
                column.path().parts() == [wanted] && column.max_rep_level() == 0
            });
            *place = found.ok_or_else(|| {
                let all = COLUMNS.join(", ");
                Error::new(&name, None, format!("no column {wanted}: records have {all}"))
            })?;
        }
        let records = Vec::new().into_iter();
        Ok(ParquetReader { file, name, places, group: 0, records, before: 0 })
    }

    fn read_group(&mut self) -> Result<Vec<Record>, Error> {
        let broken = |e: ParquetError| {
            let group = self.group + 1;
            Error::new(&self.name, None, format!("row group {group} cannot be read: {e}"))
        };
        let group = self.file.get_row_group(self.group).map_err(broken)?;
        let columns = Columns::read(group.as_ref(), &self.places).map_err(broken)?;
        let rows = 0..columns.scheduled.len();
        rows.map(|row| {
            let record = columns.record(row).and_then(|r| r.check().map(|()| r));
            let number = self.before + row as u64 + 1;
            record.map_err(|why| Error::new(&self.name, Some(number), why))
        })
        .collect()
    }
}

impl Iterator for ParquetReader {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.records.next() {
                return Some(Ok(record));
            }
            let groups = self.file.num_row_groups();
            if self.group >= groups {
                return None;
            }
            match self.read_group() {
                Ok(records) => {
                    self.group += 1;
                    self.before += records.len() as u64;
                    self.records = records.into_iter();
                }
                Err(error) => {
                    self.group = groups;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// The columns of a group, each with a value or null per row.
struct Columns {
    scheduled: Vec<Option<f64>>,
    started: Vec<Option<f64>>,
    connected: Vec<Option<f64>>,
    first_byte: Vec<Option<f64>>,
    last_byte: Vec<Option<f64>>,
    size: Vec<Option<i64>>,
    class: Vec<Option<i32>>,
    outcome: Vec<Option<ByteArray>>,
    attempts: Vec<Option<i32>>,
}

impl Columns {
    fn read(group: &dyn RowGroupReader, places: &[usize]) -> Result<Columns, ParquetError> {
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| ParquetError::General("a negative number of rows".into()))?;
        let column = |index: usize| group.get_column_reader(places[index]);
        let double = |index| match column(index)? {
            ColumnReader::DoubleColumnReader(reader) => values(reader, rows),
            _ => Err(other_type(index, "double")),
        };
        let int32 = |index| match column(index)? {
            ColumnReader::Int32ColumnReader(reader) => values(reader, rows),
            _ => Err(other_type(index, "int32")),
        };
        Ok(Columns {
            scheduled: double(0)?,
            started: double(1)?,
            connected: double(2)?,
            first_byte: double(3)?,
            last_byte: double(4)?,
            size: match column(5)? {
                ColumnReader::Int64ColumnReader(reader) => values(reader, rows)?,
                _ => return Err(other_type(5, "int64")),
            },
            class: int32(6)?,
            outcome: match column(7)? {
                ColumnReader::ByteArrayColumnReader(reader) => values(reader, rows)?,
                _ => return Err(other_type(7, "string")),
            },
            attempts: int32(8)?,
        })
    }

    fn record(&self, row: usize) -> Result<Record, String> {
        let null = |field: &str| format!("{field} is missing");
        let word = self.outcome[row].as_ref().ok_or_else(|| null("outcome"))?;
        let outcome = Outcome::ALL
            .into_iter()
            .find(|outcome| outcome.name().as_bytes() == word.data())
            .ok_or_else(|| format!("no outcome is {:?}", String::from_utf8_lossy(word.data())))?;
        let class = self.class[row].ok_or_else(|| null("class"))?;
        Ok(Record {
            scheduled: self.scheduled[row].ok_or_else(|| null("scheduled"))?,
            started: self.started[row].ok_or_else(|| null("started"))?,
            connected: self.connected[row],
            first_byte: self.first_byte[row],
            last_byte: self.last_byte[row],
            size: self.size[row].ok_or_else(|| null("size"))?.cast_unsigned(),
            class: u16::try_from(class).map_err(|_| format!("class {class} is above 65535"))?,
            outcome,
            attempts: self.attempts[row].ok_or_else(|| null("attempts"))?.cast_unsigned(),
        })
    }
}

fn other_type(index: usize, wanted: &str) -> ParquetError {
    ParquetError::General(format!("column {} is not of type {wanted}", COLUMNS[index]))
}

/// All values of a column of a group; null is `None`.
fn values<T: DataType>(
    mut column: ColumnReaderImpl<T>,
    rows: usize,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let (mut present, mut found) = (Vec::new(), Vec::new());
    let (read, _, _) = column.read_records(rows, Some(&mut present), None, &mut found)?;
    if read != rows {
        return Err(ParquetError::General(format!("{read} rows instead of {rows}")));
    }
    // A column without nulls has no levels.
    if present.is_empty() {
        return Ok(found.into_iter().map(Some).collect());
    }
    let mut found = found.into_iter();
    Ok(present.into_iter().map(|level| if level > 0 { found.next() } else { None }).collect())
}
