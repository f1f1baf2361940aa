//! Validators of a representation and the preconditions a request makes on them.
//! Used by the file handler of `weir-server`, which decides between 200, 206, 304 and 412.

use std::fmt;

use super::coding::Coding;
use super::date;
use super::request::{Request, is_get_or_head};

/// What identifies one state of a representation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validators {
    /// The entity tag.
    pub etag: ETag,
    /// The modification time in Unix seconds, for `Last-Modified`. It must not lie after the `Date`
    /// of the response (RFC 9110, section 8.8.2.1).
    pub modified: Option<i64>,
}

/// The digits of base 64.
const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

/// An entity tag (RFC 9110, section 8.8.3) in at most 30 bytes: a strong one, unless
/// [`ETag::weak_in`] made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ETag {
    text: [u8; ETag::SPACE],
    used: u8,
}

/// What a weak tag begins with.
const WEAK: &str = "W/";

impl ETag {
    /// The mark of a weak tag, two quotes, two numbers of at most eleven digits in base 64, a dot between
    /// them, and a coding with its hyphen.
    const SPACE: usize = WEAK.len() + 2 + 11 + 1 + 11 + 2;

    /// The tag of a file of `length` bytes, modified `seconds` and `nanoseconds` after 1970.
    ///
    /// The time counts in nanoseconds modulo 2^64: equal for times 584 years apart.
    pub fn new(seconds: i64, nanoseconds: u32, length: u64) -> ETag {
        let time = seconds
            .wrapping_mul(1_000_000_000)
            .wrapping_add(i64::from(nanoseconds))
            .cast_unsigned();
        let mut tag = ETag { text: [0; ETag::SPACE], used: 0 };
        tag.push(b'"');
        tag.push_number(time);
        tag.push(b'.');
        tag.push_number(length);
        tag.push(b'"');
        tag
    }

    /// The tag of what has this hash, in 18 bytes.
    pub fn from_hash(hash: [u8; 12]) -> ETag {
        let mut tag = ETag { text: [0; ETag::SPACE], used: 0 };
        tag.push(b'"');
        for [a, b, c] in hash.as_chunks::<3>().0 {
            let bits = u32::from_be_bytes([0, *a, *b, *c]);
            for digit in (0..4).rev() {
                tag.push(DIGITS[(bits >> (6 * digit)) as usize % 64]);
            }
        }
        tag.push(b'"');
        tag
    }

    /// The tag of what the representation with this tag becomes in a coding: a weak one, as the bytes
    /// depend on who compresses it, and another for each coding (RFC 9110, section 8.8.3.3).
    #[must_use]
    pub fn weak_in(&self, coding: Coding) -> ETag {
        let mark = match coding {
            Coding::Zstd => "-z\"",
            Coding::Brotli => "-b\"",
            Coding::Gzip => "-g\"",
        };
        let mut tag = ETag { text: [0; ETag::SPACE], used: 0 };
        let opened = self.quoted().trim_end_matches('"');
        let parts = [WEAK, opened, mark];
        parts.iter().flat_map(|part| part.bytes()).for_each(|byte| tag.push(byte));
        tag
    }

    /// Whether it is a weak tag.
    pub fn is_weak(&self) -> bool {
        self.as_str().starts_with(WEAK)
    }

    /// The tag without the mark of a weak one.
    fn quoted(&self) -> &str {
        self.as_str().trim_start_matches(WEAK)
    }

    /// The tag as sent, with its quotes.
    pub fn as_str(&self) -> &str {
        let text = self.text.get(..usize::from(self.used)).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// Appends `value` in base 64, without leading zeros: a third shorter than hexadecimal.
    fn push_number(&mut self, value: u64) {
        let significant_bits = (u64::BITS - value.leading_zeros()).max(1);
        for digit in (0..significant_bits.div_ceil(6)).rev() {
            self.push(DIGITS[(value >> (6 * digit)) as usize % 64]);
        }
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.text.get_mut(usize::from(self.used)) {
            *slot = byte;
            self.used += 1;
        }
    }
}

impl fmt::Debug for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ETag({})", self.as_str())
    }
}

/// Whether 412 is the answer: the client asks on a condition that does not hold (RFC 9110, sections
/// 13.1.1, 13.1.4 and 13.2.2). It is judged before all others, and only if the answer would otherwise
/// be a success. `validators`: those of the representation, which exists, if it has any.
///
/// `If-Match` compares strongly: a weak tag matches nothing. When present, it hides
/// `If-Unmodified-Since`, which is ignored for a representation without a modification time.
pub fn precondition_failed(request: &Request<'_>, validators: Option<&Validators>) -> bool {
    if let Some(tags) = request.if_match.as_deref() {
        let is_named = |own: &Validators| contains(tags, &own.etag, Compared::Strongly);
        return tags != "*" && !validators.is_some_and(is_named);
    }
    let since = request.if_unmodified_since.and_then(date::parse);
    let modified = validators.and_then(|validators| validators.modified);
    since.zip(modified).is_some_and(|(since, modified)| modified > since)
}

/// Whether 304 is the answer: the client's copy is current (RFC 9110, sections 13.1.2, 13.1.3 and
/// 13.2.2). `If-None-Match` compares weakly and, when present, hides `If-Modified-Since`.
/// Always false for methods other than GET and HEAD.
pub fn not_modified(request: &Request<'_>, validators: &Validators) -> bool {
    if !is_get_or_head(&request.method) {
        return false;
    }
    if let Some(tags) = request.if_none_match.as_deref() {
        return tags == "*" || contains(tags, &validators.etag, Compared::Weakly);
    }
    let since = request.if_modified_since.and_then(date::parse);
    since.zip(validators.modified).is_some_and(|(since, modified)| modified <= since)
}

/// Whether the `Range` field applies (RFC 9110, section 13.1.5): `If-Range` is absent, or is this
/// very tag, a strong one, or is exactly this modification time. Otherwise the whole representation is
/// sent.
pub fn range_applies(request: &Request<'_>, validators: &Validators) -> bool {
    let Some(condition) = request.if_range else {
        return true;
    };
    if condition == validators.etag.as_str() {
        return !validators.etag.is_weak();
    }
    let date = date::parse(condition);
    date.is_some() && date == validators.modified
}

/// How two entity tags are compared (RFC 9110, section 8.8.3.2).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compared {
    /// Both must be strong ones.
    Strongly,
    /// Whether they are weak does not matter.
    Weakly,
}

/// Whether a list of entity tags contains `etag`. The list is read up to its first malformed member.
fn contains(tags: &str, etag: &ETag, compared: Compared) -> bool {
    if compared == Compared::Strongly && etag.is_weak() {
        return false;
    }
    let own = etag.quoted().trim_matches('"');
    let mut rest = tags;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let weak = rest.strip_prefix("W/");
        let is_comparable = weak.is_none() || compared == Compared::Weakly;
        let opaque = weak.unwrap_or(rest).strip_prefix('"').and_then(|tag| tag.split_once('"'));
        let Some((opaque, after)) = opaque else {
            return false;
        };
        if is_comparable && opaque == own {
            return true;
        }
        rest = after;
    }
}
