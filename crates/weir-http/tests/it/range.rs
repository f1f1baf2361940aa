//! Properties of range resolution, against a second reading of RFC 9110, section 14.1.2.

use proptest::prelude::*;
use weir_http::message::range::{Range, Span, resolve};

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

/// Fails unless what `header` comes to lies in a representation of `length` bytes.
fn check_bounds(header: &str, length: u64) -> Result<(), TestCaseError> {
    let parts = match resolve(header, length) {
        Range::Whole | Range::Unsatisfiable => return Ok(()),
        Range::Part { first, last } => vec![Span { first, last }],
        Range::Parts(parts) => {
            prop_assert!((2..=16).contains(&parts.len()));
            parts
        }
    };
    for (place, Span { first, last }) in parts.iter().enumerate() {
        prop_assert!(first <= last && *last < length);
        for other in &parts[..place] {
            prop_assert!(other.last < *first || *last < other.first);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn a_part_lies_in_the_representation(header in "(bytes=)?[0-9]{0,21}-?[0-9]{0,21}", length: u64) {
        check_bounds(&header, length)?;
    }

    #[test]
    fn parts_lie_in_the_representation(
        header in "bytes=([0-9]{0,3}-[0-9]{0,3}[, \t]{0,2}){0,20}", length in 0..1200_u64,
    ) {
        check_bounds(&header, length)?;
    }

    #[test]
    fn any_text_is_harmless(header in ".{0,40}", length: u64) {
        check_bounds(&header, length)?;
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

    #[test]
    fn a_list_of_one_is_that_one(
        first in prop::option::of(0..12_u64), last in prop::option::of(0..12_u64), length in 0..10_u64,
    ) {
        let alone = format!("bytes={}-{}", text(first), text(last));
        for list in [format!("{alone},"), format!("{alone} , ,")] {
            prop_assert_eq!(resolve(&list, length), resolve(&alone, length), "{} of {}", list, length);
        }
    }
}

/// A well-formed range: its first offset and its last, or how many bytes there are at the end.
fn spec() -> impl Strategy<Value = (Option<u64>, Option<u64>)> {
    prop_oneof![
        20 => (0..4000_u64, 0..60_u64).prop_map(|(first, more)| (Some(first), Some(first + more))),
        1 => (0..5000_u64).prop_map(|first| (Some(first), None)),
        1 => (0..500_u64).prop_map(|count| (None, Some(count))),
    ]
}

/// How near two parts must be to become one.
const GAP: u64 = 80;

/// Whether the offsets of `ranges`, each in their order, are of a list that may be ignored.
fn is_abuse(ranges: &[Vec<u64>], length: u64) -> bool {
    let backwards = ranges.windows(2).filter(|pair| pair[1][0] < pair[0][0]).count();
    let overlaps = |place: usize| {
        let first = ranges[place][0];
        let before = |other: usize| (ranges[other][0], other) < (first, place);
        (0..ranges.len()).any(|other| before(other) && ranges[other].contains(&first))
    };
    let overlapping = (0..ranges.len()).filter(|place| overlaps(*place)).count();
    // Runs of offsets, where a gap of up to 80 does not end one.
    let (mut runs, mut since) = (0, GAP + 1);
    for at in 0..length {
        if ranges.iter().any(|range| range.contains(&at)) {
            runs += usize::from(since > GAP);
            since = 0;
        } else {
            since += 1;
        }
    }
    backwards > 4 || overlapping > 1 || runs > 16
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn several_ranges_are_all_in_few_parts_that_lie_apart(
        mut specs in prop::collection::vec(spec(), 2..24),
        in_order in prop::bool::weighted(0.8),
        length in 1..4500_u64,
    ) {
        if in_order {
            specs.sort_by_key(|(first, _)| first.unwrap_or(u64::MAX));
        }
        let texts: Vec<String> =
            specs.iter().map(|(first, last)| format!("{}-{}", text(*first), text(*last))).collect();
        let header = format!("bytes={}", texts.join(", "));
        let asked: Vec<Vec<u64>> = specs
            .iter()
            .map(|(first, last)| offsets(*first, *last, length))
            .filter(|named| !named.is_empty())
            .collect();
        let parts = match resolve(&header, length) {
            Range::Whole => {
                prop_assert!(is_abuse(&asked, length), "{} of {} is ignored", header, length);
                return Ok(());
            }
            Range::Unsatisfiable => {
                prop_assert!(asked.is_empty(), "{} of {}", header, length);
                return Ok(());
            }
            Range::Part { first, last } => vec![Span { first, last }],
            Range::Parts(parts) => parts,
        };
        prop_assert!(!asked.is_empty() && !is_abuse(&asked, length), "{} of {}", header, length);
        let part_of = |at: u64| parts.iter().position(|part| part.first <= at && at <= part.last);
        let mut seen = Vec::new();
        for range in &asked {
            let part = part_of(range[0]);
            prop_assert!(part.is_some() && part == part_of(range[range.len() - 1]));
            if !seen.contains(&part) {
                seen.push(part);
            }
        }
        // In the order in which they were asked for, and none that was not.
        prop_assert_eq!(seen, (0..parts.len()).map(Some).collect::<Vec<_>>());
        let mut sorted = parts.clone();
        sorted.sort_by_key(|part| part.first);
        for pair in sorted.windows(2) {
            prop_assert!(pair[1].first - pair[0].last - 1 > GAP, "{:?}", pair);
        }
        for part in &parts {
            let ends = [part.first, part.last];
            let is_asked = |at: &u64| asked.iter().any(|range| range.contains(at));
            prop_assert!(ends.iter().all(is_asked), "{:?} begins or ends for nobody", part);
        }
    }
}
