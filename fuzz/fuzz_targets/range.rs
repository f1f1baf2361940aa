//! Arbitrary text as a `Range` field of a representation whose length the first eight bytes give.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_http::message::range::{Range, resolve};

fuzz_target!(|data: &[u8]| {
    let Some((length, header)) = data.split_first_chunk() else {
        return;
    };
    let length = u64::from_le_bytes(*length);
    let Ok(header) = std::str::from_utf8(header) else {
        return;
    };
    match resolve(header, length) {
        Range::Whole => {}
        Range::Part { first, last } => {
            assert!(first <= last && last < length);
            // The part, asked for by its exact offsets, is the same part.
            assert_eq!(
                resolve(&format!("bytes={first}-{last}"), length),
                Range::Part { first, last }
            );
            assert_eq!(resolve(header, 0) == Range::Whole, header.contains("=-"));
        }
        Range::Unsatisfiable => {
            assert!(header.contains('-') && !header.contains(','));
            assert_eq!(resolve(header, 0), Range::Unsatisfiable);
        }
    }
});
