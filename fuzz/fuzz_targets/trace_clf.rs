//! Arbitrary bytes as an access log in Common or Combined Log Format. The first byte chooses how it
//! is read.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use weir_workload::read::{Format, Options, Spread, Trace};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, log)) = data.split_first() else {
        return;
    };
    let options = Options {
        format: Some(Format::Clf),
        skip_bad: choice & 1 != 0,
        spread: if choice & 2 != 0 { Spread::Even } else { Spread::Uniform { seed: 1 } },
        reorder: f64::from(choice >> 4),
        ..Options::default()
    };
    let skip_bad = options.skip_bad;
    // With the format given, only compression without a single good byte is refused here.
    let Ok(mut trace) = Trace::new(Cursor::new(log.to_vec()), options) else {
        return;
    };
    let (mut last, mut failed) = (0.0, false);
    for request in trace.by_ref() {
        assert!(!failed, "something follows an error");
        match request {
            Ok(request) => {
                assert!(request.at >= last && request.at.is_finite());
                last = request.at;
                assert!(request.path.starts_with('/'));
                assert!(request.path.bytes().all(|byte| byte.is_ascii_graphic()));
            }
            Err(error) => {
                // Only damaged compression can end a trace whose bad records are passed over.
                assert!(!skip_bad || error.fault.reason().is_none(), "{error}");
                failed = true;
            }
        }
    }
    let counts = trace.counts();
    let left_out: u64 = counts.left_out.values().sum();
    assert!(failed || counts.requests + left_out <= counts.records);
});
