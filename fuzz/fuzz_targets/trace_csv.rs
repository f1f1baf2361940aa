//! Arbitrary bytes as a trace of any format, the tables foremost; what is read and written as plain
//! CSV reads back equal.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use weir_workload::Request;
use weir_workload::read::{CsvWriter, Options, SizeBuckets, Trace, curve};

fn read(bytes: &[u8], skip_bad: bool) -> Option<Vec<Request>> {
    let options = Options { skip_bad, ..Options::default() };
    Trace::new(Cursor::new(bytes.to_vec()), options).ok()?.collect::<Result<_, _>>().ok()
}

fuzz_target!(|data: &[u8]| {
    let _ = curve::read(Cursor::new(data.to_vec()));
    let _ = SizeBuckets::read(Cursor::new(data.to_vec()));
    let Some(requests) = read(data, true) else {
        return;
    };
    assert!(requests.is_sorted_by(|a, b| a.at <= b.at));
    let mut csv = CsvWriter::new(Vec::new()).expect("memory");
    for request in &requests {
        csv.write(request).expect("memory");
    }
    let csv = csv.finish().expect("memory");
    assert_eq!(read(&csv, false), Some(requests));
});
