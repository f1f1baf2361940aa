//! Arbitrary bytes as a binary log of the World Cup 1998 site; what is read, written and read again
//! is the same.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use weir_workload::Request;
use weir_workload::read::{Format, Options, Spread, Trace, wc98};

fn read(log: &[u8]) -> Vec<Request> {
    let options = Options {
        format: Some(Format::Wc98),
        skip_bad: true,
        spread: Spread::None,
        ..Options::default()
    };
    let trace = Trace::new(Cursor::new(log.to_vec()), options);
    // An error that remains is one of compression, found before the first record.
    trace.map(|trace| trace.filter_map(Result::ok).collect()).unwrap_or_default()
}

fuzz_target!(|data: &[u8]| {
    let requests = read(data);
    assert!(requests.is_sorted_by(|a, b| a.at <= b.at));
    let mut log = Vec::new();
    if wc98::write(requests.clone(), 893_971_817, &mut log).is_err() {
        return;
    }
    let again = read(&log);
    assert_eq!(again.len(), requests.len());
    for (before, after) in requests.iter().zip(&again) {
        assert_eq!((before.at, before.client, before.size), (after.at, after.client, after.size));
    }
});
