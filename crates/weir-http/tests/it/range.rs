//! Properties of range resolution, against a second reading of RFC 9110, section 14.1.2.

use proptest::prelude::*;
use weir_http::message::range::{Range, resolve};

/// Which offsets of a representation `first-last` names, one by one.
fn offsets(first: Option<u64>, last: Option<u64>, length: u64) -> Vec<u64> {
    let named = |&at: &u64| match (first, last) {
        (Some(first), Some(last)) => first <= at && at <= last,
        (Some(first), None) => first <= at,
        (None, Some(suffix)) => length - at <= suffix,
        (None, None) => false,
    };
    (0..length).filter(named).collect()
}

fn text(number: Option<u64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn a_part_lies_in_the_representation(header in "(bytes=)?[0-9]{0,21}-?[0-9]{0,21}", length: u64) {
        if let Range::Part { first, last } = resolve(&header, length) {
            prop_assert!(first <= last && last < length);
        }
    }

    #[test]
    fn any_text_is_harmless(header in ".{0,40}", length: u64) {
        if let Range::Part { first, last } = resolve(&header, length) {
            prop_assert!(first <= last && last < length);
        }
    }

    #[test]
    fn parts_are_the_offsets_named(
        first in prop::option::of(0..12_u64), last in prop::option::of(0..12_u64), length in 0..10_u64,
    ) {
        let header = format!("bytes={}-{}", text(first), text(last));
        let malformed = first.is_none() && last.is_none() || first.zip(last).is_some_and(|(a, b)| a > b);
        let empty_suffix = length == 0 && first.is_none() && last != Some(0);
        let named = offsets(first, last, length);
        let expected = match (named.first(), named.last()) {
            _ if malformed || empty_suffix => Range::Whole,
            (Some(&first), Some(&last)) => Range::Part { first, last },
            _ => Range::Unsatisfiable,
        };
        prop_assert_eq!(resolve(&header, length), expected, "{} of {}", header, length);
    }
}
