//! Arbitrary bytes as a response to the load generator. The first two bytes choose where it is cut
//! in two and what size is expected; the cut must change nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_load::{Body, outcome_of};

fuzz_target!(|data: &[u8]| {
    let [cut, size, response @ ..] = data else {
        return;
    };
    let size = (size % 2 == 0).then_some(u64::from(*size));
    let cut = usize::from(*cut).min(response.len());
    let body = Body::Prefix(std::sync::Arc::from(&b"abcdefgh"[..]));
    let whole = outcome_of([response], size, &body);
    let (first, second) = response.split_at(cut);
    assert_eq!(outcome_of([first, second], size, &body), whole);
});
