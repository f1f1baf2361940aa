//! Files of records: CSV with a header line, compressed with zstd, written and read one record at a
//! time. What is missing is an empty field. `weir-lab load` and the experiments keep their records
//! so.

mod read;
mod write;

pub use read::RecordReader;
pub use write::RecordWriter;

/// The header: the fields of [`crate::Record`] in their order, without its read lag.
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

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use proptest::prelude::*;

    use super::*;
    use crate::record::tests::{any_record, record};
    use crate::{Error, Outcome, Record};

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
    fn reading_ends_after_the_first_error() {
        let text = format!("{}\nx,1,,,,5,0,reset,1\n1,1,,,,5,0,reset,1\n", COLUMNS.join(","));
        let reader = RecordReader::new(text.as_bytes(), "records.csv").unwrap();
        assert_eq!(reader.map(|read| read.is_err()).collect::<Vec<_>>(), [true]);
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
    fn an_invalid_record_is_not_written() {
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
