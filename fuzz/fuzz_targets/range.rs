//! Arbitrary text as a `Range` field of a representation whose length the first eight bytes give.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_http::message::range::{Range, Span, resolve};

fuzz_target!(|data: &[u8]| {
    let Some((length, header)) = data.split_first_chunk() else {
        return;
    };
    let length = u64::from_le_bytes(*length);
    let Ok(header) = std::str::from_utf8(header) else {
        return;
    };
    let is_list = header.contains(',');
    match resolve(header, length) {
        Range::Whole => {}
        Range::Part { first, last } => {
            assert!(first <= last && last < length);
            // The part, asked for by its exact offsets, is the same part.
            assert_eq!(
                resolve(&format!("bytes={first}-{last}"), length),
                Range::Part { first, last }
            );
            let set = header.split_once('=').map_or("", |(_, set)| set.trim());
            assert!(is_list || (resolve(header, 0) == Range::Whole) == set.starts_with('-'));
        }
        Range::Parts(parts) => {
            assert!(is_list && (2..=16).contains(&parts.len()));
            let mut sorted = parts.clone();
            sorted.sort_by_key(|part| part.first);
            assert!(sorted.iter().all(|part| part.first <= part.last && part.last < length));
            assert!(sorted.windows(2).all(|pair| pair[1].first - pair[0].last > 81));
            // So are the parts, in the same order.
            let part = |Span { first, last }: &Span| format!("{first}-{last}");
            let again: Vec<String> = parts.iter().map(part).collect();
            assert_eq!(
                resolve(&format!("bytes={}", again.join(",")), length),
                Range::Parts(parts)
            );
        }
        Range::Unsatisfiable => {
            assert!(header.contains('-'));
            assert_eq!(resolve(header, 0), Range::Unsatisfiable);
        }
    }
});
