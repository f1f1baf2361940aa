//! One range of a `Range` field: which bytes of a representation it names (RFC 9110, section 14.1.2).
//! Used by [`mod@super::super::range`] for a single range and by [`super::several`] for each of a list.

/// Bytes of a representation, by the offsets of the first and of the last: `first <= last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset of the last byte.
    pub last: u64,
}

/// What a range names of a representation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// These bytes, all of which exist.
    Bytes(Span),
    /// Nothing that exists: it begins behind the end, or is the last zero bytes.
    Nothing,
    /// The last bytes of an empty representation. They satisfy the range, but `Content-Range` has no
    /// way to name them.
    Empty,
}

/// What `spec` names of a representation of `length` bytes; `None`: it is malformed. Numbers beyond
/// 64 bits count as the largest.
pub(super) fn named(spec: &str, length: u64) -> Option<Named> {
    match spec.split_once('-')? {
        ("", suffix) => number(suffix).map(|count| last_bytes(count, length)),
        (first, "") => number(first).map(|first| bytes(first, u64::MAX, length)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then(|| bytes(first, last, length))
        }
    }
}

/// The last `count` bytes, or as many as there are.
fn last_bytes(count: u64, length: u64) -> Named {
    if length == 0 && count > 0 {
        return Named::Empty;
    }
    bytes(length.saturating_sub(count), u64::MAX, length)
}

/// The bytes `first` to `last`, cut at the end of the representation.
fn bytes(first: u64, last: u64, length: u64) -> Named {
    if first >= length {
        return Named::Nothing;
    }
    Named::Bytes(Span { first, last: last.min(length - 1) })
}

/// A decimal number (`1*DIGIT`); too large ones become the largest.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
}
