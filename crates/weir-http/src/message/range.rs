//! The `Range` field: which part of a representation a GET asks for (RFC 9110, section 14).
//! Used by the file handler of `weir-server`, after [`super::conditions::range_applies`] has judged
//! `If-Range`.

use std::fmt;

/// What to send of a representation. Offsets and lengths are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// None of it, with 416.
    Unsatisfiable,
}

/// Resolves the value of one `Range` field against a representation of `length` bytes
/// (RFC 9110, sections 14.1.2 and 14.2).
///
/// Only a single range in bytes is served in part. Other units, several ranges and malformed values
/// give [`Range::Whole`], as section 14.2 permits. Numbers beyond 64 bits count as the largest.
pub fn resolve(header: &str, length: u64) -> Range {
    let Some((unit, spec)) = header.split_once('=') else {
        return Range::Whole;
    };
    if !unit.eq_ignore_ascii_case("bytes") {
        return Range::Whole;
    }
    let Some((first, last)) = spec.split_once('-') else {
        return Range::Whole;
    };
    match (first, last) {
        ("", suffix) => number(suffix).map_or(Range::Whole, |count| last_bytes(count, length)),
        (first, "") => number(first).map_or(Range::Whole, |first| part(first, u64::MAX, length)),
        (first, last) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => part(first, last, length),
            _ => Range::Whole,
        },
    }
}

/// The last `count` bytes, or as many as there are. An empty representation satisfies every suffix
/// but `-0` and has no part to name in `Content-Range`, so it is sent whole.
fn last_bytes(count: u64, length: u64) -> Range {
    if length == 0 && count > 0 {
        return Range::Whole;
    }
    part(length.saturating_sub(count), u64::MAX, length)
}

/// The bytes `first` to `last`, cut at the end of the representation.
fn part(first: u64, last: u64, length: u64) -> Range {
    if first >= length {
        return Range::Unsatisfiable;
    }
    Range::Part { first, last: last.min(length - 1) }
}

/// A decimal number (`1*DIGIT`); too large ones become the largest.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
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
    use super::resolve;

    fn check(cases: &[(&str, Range)], length: u64) {
        for (header, range) in cases {
            assert_eq!(resolve(header, length), *range, "{header} of {length}");
        }
    }

    #[test]
    fn examples_of_rfc_9110_section_14_1_2() {
        let cases = [
            ("bytes=0-499", Part { first: 0, last: 499 }),
            ("bytes=500-999", Part { first: 500, last: 999 }),
            ("bytes=-500", Part { first: 9500, last: 9999 }),
            ("bytes=9500-", Part { first: 9500, last: 9999 }),
            ("bytes=0-0", Part { first: 0, last: 0 }),
            ("bytes=0-0,-1", Whole),
            ("bytes= 0-0", Whole),
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
    }

    #[test]
    fn other_units_and_bad_syntax_are_ignored() {
        let texts = "|bytes|bytes=|bytes=-|bytes=5|bytes=5-4|bytes=a-b|bytes=1-b|bytes=+1-2|bytes=1--2|\
                     bytes=--1|bytes=1-2-3|bytes=0x1-2|lines=0-1|bytes 0-1|bytes=0-1,|bytes=٣-٤";
        for text in texts.split('|') {
            assert_eq!(resolve(text, 10), Whole, "{text}");
        }
    }
}
