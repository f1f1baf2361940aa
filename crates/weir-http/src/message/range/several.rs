//! Several ranges in one `Range` field: which parts of a representation they come to (RFC 9110, sections
//! 14.2 and 15.3.7.2). Ranges that touch, overlap or lie close together become one part. What no client
//! needs is ignored, so that a short request cannot cause much work (section 17.15).
//! Used by [`mod@super::super::range`].

use super::spec::{self, Named, Span};

/// Most parts of one response.
const MOST_PARTS: usize = 16;

/// Most ranges of one field, as in Apache: they are sorted before it is known how many parts they make.
const MOST_ASKED: usize = 200;

/// Ranges closer together than this (bytes) become one part: what stands between two parts of a
/// `multipart/byteranges` body is about as long (section 15.3.7.2).
const GAP: u64 = 80;

/// Most ranges that begin within another one. Section 14.2 lets a server ignore a field with more than
/// two ranges that overlap.
const MOST_OVERLAPS: usize = 1;

/// Most ranges that begin before the one in front of them. Readers of documents that keep their index
/// at the end ask so, for few.
const MOST_BACKWARDS: usize = 4;

/// The parts of a representation of `length` bytes that `set`, a list of ranges, asks for, in the order
/// of the list: none if no range is satisfiable. `None`: the field is to be ignored.
pub(super) fn parts(set: &str, length: u64) -> Option<Vec<Span>> {
    let asked = asked(set, length)?;
    let backwards = asked.windows(2).filter(|pair| pair[1].first < pair[0].first).count();
    if backwards > MOST_BACKWARDS {
        return None;
    }
    coalesced(&asked)
}

/// The ranges that are satisfiable. Members of the list may be empty (section 5.6.1.2).
fn asked(set: &str, length: u64) -> Option<Vec<Span>> {
    let (mut spans, mut count) = (Vec::new(), 0);
    let members = set.split(',').map(|member| member.trim_matches([' ', '\t']));
    for member in members.filter(|member| !member.is_empty()) {
        count += 1;
        if count > MOST_ASKED {
            return None;
        }
        match spec::named(member, length)? {
            Named::Bytes(span) => spans.push(span),
            Named::Nothing => {}
            Named::Empty => return None,
        }
    }
    (count > 0).then_some(spans)
}

/// The parts that hold all of `asked`, each at the place of the first of its ranges.
fn coalesced(asked: &[Span]) -> Option<Vec<Span>> {
    let mut sorted: Vec<(usize, Span)> = asked.iter().copied().enumerate().collect();
    sorted.sort_unstable_by_key(|(place, span)| (span.first, *place));
    let mut parts: Vec<(usize, Span)> = Vec::new();
    let mut overlaps = 0;
    for (place, span) in sorted {
        match parts.last_mut() {
            Some((begun, part)) if span.first <= part.last.saturating_add(GAP + 1) => {
                overlaps += usize::from(span.first <= part.last);
                part.last = part.last.max(span.last);
                *begun = place.min(*begun);
            }
            _ => parts.push((place, span)),
        }
    }
    if parts.len() > MOST_PARTS || overlaps > MOST_OVERLAPS {
        return None;
    }
    parts.sort_unstable_by_key(|(begun, _)| *begun);
    Some(parts.into_iter().map(|(_, part)| part).collect())
}
