//! Arbitrary bytes as a PROXY header that arrives in pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_http::proxy_protocol::{MAX_HEADER, Parsed, parse};

fuzz_target!(|data: &[u8]| {
    let mut before = Ok(Parsed::Partial);
    for end in 0..=data.len() {
        let now = parse(&data[..end]);
        match before {
            Ok(Parsed::Partial) => {}
            Ok(complete) => assert_eq!(now, Ok(complete), "a valid header changed"),
            Err(_) => assert!(now.is_err(), "an error changed"),
        }
        match now {
            Ok(Parsed::Partial) => assert!(end < MAX_HEADER),
            Ok(Parsed::Complete { length, .. }) => assert!(length <= end && length <= MAX_HEADER),
            Err(_) => {}
        }
        before = now;
    }
});
