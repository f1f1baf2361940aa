//! The `Range` field: which parts of a representation a GET asks for (RFC 9110, section 14).
//! Used by the file handler of `weir-server`, after [`super::conditions::range_applies`] has judged
//! `If-Range`.

mod several;
mod spec;

use std::fmt;

use self::spec::Named;
pub use self::spec::Span;

/// What to send of a representation. Offsets and lengths are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Range {
    /// All of it, with 200: the field is to be ignored.
    Whole,
    /// The bytes `first` to `last`, both included, with 206. `first <= last < length`.
    Part {
        /// Offset of the first byte.
        first: u64,
        /// Offset of the last byte.
        last: u64,
    },
    /// These parts in this order, with 206 as `multipart/byteranges`: from 2 to 16, more than 80 bytes
    /// apart.
    Parts(Vec<Span>),
    /// None of it, with 416.
    Unsatisfiable,
}

/// Resolves the value of one `Range` field against a representation of `length` bytes
/// (RFC 9110, sections 14.1.2 and 14.2).
///
/// Only ranges in bytes are served in part; other units and malformed values give [`Range::Whole`]. So
/// do lists of ranges that no client needs: with more than 200 members, with more than two ranges that
/// overlap, with more than four that begin before the one in front of them, or that come to more than
/// 16 parts (sections 14.2 and 17.15). Of a list, ranges at most 80 bytes apart become one part, and
/// those that are not satisfiable are left out. Numbers beyond 64 bits count as the largest.
pub fn resolve(header: &str, length: u64) -> Range {
    let Some((unit, set)) = header.split_once('=') else {
        return Range::Whole;
    };
    if !unit.eq_ignore_ascii_case("bytes") {
        return Range::Whole;
    }
    if set.contains(',') {
        return several::parts(set, length).map_or(Range::Whole, of_parts);
    }
    // The grammar has no space here, but an example of section 14.1.2 has.
    match spec::named(set.trim_matches([' ', '\t']), length) {
        Some(Named::Bytes(Span { first, last })) => Range::Part { first, last },
        Some(Named::Nothing) => Range::Unsatisfiable,
        Some(Named::Empty) | None => Range::Whole,
    }
}

/// One part is sent as if it alone had been asked for.
fn of_parts(parts: Vec<Span>) -> Range {
    match *parts.as_slice() {
        [] => Range::Unsatisfiable,
        [Span { first, last }] => Range::Part { first, last },
        _ => Range::Parts(parts),
    }
}

/// What a response says about the part it carries: `Content-Range` (RFC 9110, section 14.4). All
/// numbers are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentRange {
    /// The bytes `first` to `last`, both included, of `total`.
    Part {
        /// Offset of the first byte.
        first: u64,
        /// Offset of the last byte.
        last: u64,
        /// Length of the whole representation.
        total: u64,
    },
    /// No part of a representation of `total` bytes.
    Unsatisfied {
        /// Length of the whole representation.
        total: u64,
    },
}

impl fmt::Display for ContentRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContentRange::Part { first, last, total } => write!(f, "bytes {first}-{last}/{total}"),
            ContentRange::Unsatisfied { total } => write!(f, "bytes */{total}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Range::{self, Part, Unsatisfiable, Whole};
    use super::{Span, resolve};

    fn check(cases: &[(&str, Range)], length: u64) {
        for (header, range) in cases {
            assert_eq!(resolve(header, length), *range, "{header} of {length}");
        }
    }

    fn parts<const N: usize>(parts: [(u64, u64); N]) -> Range {
        Range::Parts(parts.map(|(first, last)| Span { first, last }).into())
    }

    /// So many ranges of one byte, each so far behind the one before.
    fn far_apart(count: u64, step: u64) -> String {
        let ranges: Vec<String> = (0..count).map(|n| format!("{0}-{0}", n * step)).collect();
        format!("bytes={}", ranges.join(","))
    }

    #[test]
    fn examples_of_rfc_9110_section_14_1_2() {
        let cases = [
            ("bytes=0-499", Part { first: 0, last: 499 }),
            ("bytes=500-999", Part { first: 500, last: 999 }),
            ("bytes=-500", Part { first: 9500, last: 9999 }),
            ("bytes=9500-", Part { first: 9500, last: 9999 }),
            ("bytes=0-0", Part { first: 0, last: 0 }),
            ("bytes=0-0,-1", parts([(0, 0), (9999, 9999)])),
            ("bytes= 0-999, 4500-5499, -1000", parts([(0, 999), (4500, 5499), (9000, 9999)])),
            ("bytes=500-600,601-999", Part { first: 500, last: 999 }),
            ("bytes=500-700,601-999", Part { first: 500, last: 999 }),
            ("bytes= 0-0", Part { first: 0, last: 0 }),
        ];
        check(&cases, 10_000);
    }

    #[test]
    fn ends_are_cut_and_starts_must_exist() {
        let cases = [
            ("bytes=5-100", Part { first: 5, last: 9 }),
            ("bytes=9-9", Part { first: 9, last: 9 }),
            ("bytes=10-", Unsatisfiable),
            ("bytes=10-20", Unsatisfiable),
            ("bytes=-0", Unsatisfiable),
            ("bytes=-10", Part { first: 0, last: 9 }),
            ("bytes=-11", Part { first: 0, last: 9 }),
            ("BYTES=0-1", Part { first: 0, last: 1 }),
            ("bytes=0-99999999999999999999", Part { first: 0, last: 9 }),
            ("bytes=99999999999999999999-", Unsatisfiable),
            ("bytes=-99999999999999999999", Part { first: 0, last: 9 }),
        ];
        check(&cases, 10);
    }

    #[test]
    fn an_empty_representation_has_no_parts() {
        check(&[("bytes=0-", Unsatisfiable), ("bytes=-1", Whole), ("bytes=-0", Unsatisfiable)], 0);
        check(&[("bytes=0-,5-", Unsatisfiable), ("bytes=0-,-1", Whole)], 0);
    }

    #[test]
    fn other_units_and_bad_syntax_are_ignored() {
        let texts = "|bytes|bytes=|bytes=-|bytes=5|bytes=5-4|bytes=a-b|bytes=1-b|bytes=+1-2|bytes=1--2|\
                     bytes=--1|bytes=1-2-3|bytes=0x1-2|lines=0-1|bytes 0-1|bytes=٣-٤|bytes=,|bytes=, ,|\
                     bytes=0-1,a|bytes=0-1,5-4|bytes=0-1;3-4|bytes=0-1 2,3-4|lines=0-1,3-4";
        for text in texts.split('|') {
            assert_eq!(resolve(text, 10), Whole, "{text}");
        }
    }

    #[test]
    fn what_is_close_together_is_one_part_at_the_place_of_its_first_range() {
        let cases = [
            ("bytes=0-9,90-99", Part { first: 0, last: 99 }),
            ("bytes=0-9,91-99", parts([(0, 9), (91, 99)])),
            ("bytes=500-509,0-9,520-529", parts([(500, 529), (0, 9)])),
            ("bytes=500-509,0-9,400-459", parts([(400, 509), (0, 9)])),
            ("bytes=0-9,,\t,200-209 ,", parts([(0, 9), (200, 209)])),
            ("bytes=0-1,", Part { first: 0, last: 1 }),
            ("bytes=0-9,2000-,-0", Part { first: 0, last: 9 }),
            ("bytes=1000-,2000-2001", Unsatisfiable),
        ];
        check(&cases, 1000);
    }

    #[test]
    fn lists_that_nobody_needs_are_ignored() {
        let count = |header: &str| match resolve(header, 1_000_000) {
            Whole => 0,
            Range::Parts(parts) => parts.len(),
            Part { .. } => 1,
            Unsatisfiable => panic!("{header} begins before the end"),
        };
        assert_eq!(count(&far_apart(16, 1000)), 16);
        assert_eq!(count(&far_apart(17, 1000)), 0);
        // What becomes one part may have been many ranges.
        assert_eq!(count(&far_apart(200, 50)), 1);
        assert_eq!(count(&far_apart(201, 50)), 0);
        assert_eq!(count("bytes=0-499,400-899,2000-2999"), 2);
        assert_eq!(count("bytes=0-499,400-899,800-999"), 0);
        assert_eq!(count("bytes=0-,0-,0-"), 0);
        assert_eq!(count("bytes=5000-5001,4000-4001,3000-3001,2000-2001,1000-1001"), 5);
        assert_eq!(count("bytes=6000-6001,5000-5001,4000-4001,3000-3001,2000-2001,1000-1001"), 0);
    }
}
