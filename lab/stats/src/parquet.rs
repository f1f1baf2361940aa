//! The same files of records as Parquet, a column per field, for tools that read columns (DuckDB,
//! pandas). What is missing is null. It does not know what the records mean.

mod read;
mod write;

pub use read::ParquetReader;
pub use write::ParquetWriter;

/// The columns, named and in order as in [`crate::file::COLUMNS`].
const SCHEMA: &str = "
message record {
    required double scheduled;
    required double started;
    optional double connected;
    optional double first_byte;
    optional double last_byte;
    required int64 size (integer(64, false));
    required int32 class (integer(16, false));
    required binary outcome (string);
    required int32 attempts (integer(32, false));
}";

#[cfg(test)]
mod tests {
    use std::fs::File;

    use proptest::prelude::*;

    use super::*;
    use crate::Record;
    use crate::record::tests::{any_record, record};
    use crate::{Outcome, RecordReader};

    /// Writes records to a file of their own, in groups of `group`.
    fn written(records: &[Record], group: usize) -> (tempfile::TempDir, std::path::PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.parquet");
        let file = File::create(&path).unwrap();
        let mut writer = ParquetWriter::with_group(file, "records", group).unwrap();
        records.iter().for_each(|record| writer.write(record).unwrap());
        writer.finish().unwrap();
        (directory, path)
    }

    proptest! {
        #[test]
        fn records_come_back_as_they_were(
            records in prop::collection::vec(any_record(), 0..30),
            group in 1_usize..12,
        ) {
            let (_directory, path) = written(&records, group);
            let read: Result<Vec<Record>, _> = ParquetReader::open(&path).unwrap().collect();
            prop_assert_eq!(read.unwrap(), records);
        }
    }

    #[test]
    fn the_default_group_is_written_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.parquet");
        let mut writer = ParquetWriter::create(&path).unwrap();
        let one = record(1.0, 5, Outcome::Abandoned, None);
        writer.write(&one).unwrap();
        writer.finish().unwrap();
        let read: Result<Vec<Record>, _> = ParquetReader::open(&path).unwrap().collect();
        assert_eq!(read.unwrap(), [one]);
    }

    #[test]
    fn a_file_that_was_cut_off_is_an_error() {
        let (_directory, path) = written(&[record(1.0, 5, Outcome::Ok, Some(1.0))], 10);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let error = ParquetReader::open(&path).err().unwrap().to_string();
        assert!(error.contains("records.parquet") && error.contains("Parquet"), "{error}");
    }

    #[test]
    fn neither_reader_takes_the_others_files() {
        let (_directory, path) = written(&[record(1.0, 5, Outcome::Ok, Some(1.0))], 10);
        assert!(RecordReader::open(&path).is_err());
        std::fs::write(&path, "scheduled,started\n").unwrap();
        assert!(ParquetReader::open(&path).is_err());
    }

    #[test]
    fn a_record_that_makes_no_sense_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records.parquet");
        let mut writer = ParquetWriter::create(&path).unwrap();
        let error = writer.write(&record(f64::NAN, 5, Outcome::Reset, None)).unwrap_err();
        assert!(error.to_string().contains("scheduled is NaN"), "{error}");
        writer.finish().unwrap();
        assert_eq!(ParquetReader::open(&path).unwrap().count(), 0);
    }
}
