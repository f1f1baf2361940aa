//! Who asks where proxies stand in between: `X-Forwarded-For`, or `Forwarded` (RFC 7239), read from the
//! right past the hops that are trusted. Used by `weir-server` for clients behind `trusted_proxies`.
//!
//! Each proxy adds the address that it sees at the end, so what stands before the first address that is
//! not trusted is the word of somebody who is not trusted, and is not even read.

mod elements;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use self::elements::{FromRight, node, parameter};
use super::fields::Fields;

/// The field that trusted proxies add addresses to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HopField {
    /// `X-Forwarded-For`, with `X-Forwarded-Proto`, `-Host` and `-Prefix` for the rest.
    XForwardedFor,
    /// `Forwarded` (RFC 7239), of which `for`, `proto` and `host` are read.
    Forwarded,
}

/// Who asks, and how, as far as those tell who are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The client; never an IPv4 address in the form of an IPv6 one.
    pub address: IpAddr,
    /// `http` or `https`, if the proxies say how the client asks.
    pub scheme: Option<&'static str>,
    /// The host that the client names, if the proxies say so.
    pub host: Option<String>,
    /// The path that the proxies have taken off the request, without a slash at its end, if they say so.
    pub prefix: Option<String>,
}

/// Whoever asks through `peer`, which has sent these fields.
///
/// The walk goes from the peer to the left as long as it stands at a trusted hop, and ends at the last
/// one if what comes next is no address (`unknown`, a name, nonsense) or nothing. A peer that is not
/// trusted is the client itself.
///
/// Scheme and host are those of the element where the walk ends, which says how the client asks. If that
/// names none, the next one to the right counts that does: it is the nearest to the client.
pub fn origin(
    fields: &Fields<'_>,
    field: HopField,
    peer: IpAddr,
    is_trusted: impl Fn(IpAddr) -> bool,
) -> Origin {
    let mut address = peer.to_canonical();
    if !is_trusted(address) {
        return Origin { address, scheme: None, host: None, prefix: None };
    }
    let lines = match field {
        HopField::XForwardedFor => values(fields, "x-forwarded-for"),
        HopField::Forwarded => values(fields, "forwarded"),
    };
    let mut hops = from_right(&lines);
    // Each was written by a trusted hop.
    let mut read = Vec::new();
    while is_trusted(address) {
        let Some(element) = hops.next() else { break };
        read.push(element);
        let hop = match field {
            HopField::XForwardedFor => node(element),
            HopField::Forwarded => parameter(element, "for").and_then(|text| node(&text)),
        };
        let Some(hop) = hop else { break };
        address = hop;
    }
    match field {
        HopField::XForwardedFor => {
            let other = |name| beside(&values(fields, name), &lines, read.len()).into_iter();
            Origin {
                address,
                scheme: other("x-forwarded-proto").find_map(known_scheme),
                host: other("x-forwarded-host").find_map(host),
                prefix: prefix(other("x-forwarded-prefix")),
            }
        }
        HopField::Forwarded => {
            let said = |name| read.iter().rev().filter_map(move |it| parameter(it, name));
            Origin {
                address,
                scheme: said("proto").find_map(|text| known_scheme(&text)),
                host: said("host").find_map(|text| host(&text)),
                prefix: None,
            }
        }
    }
}

/// The values of all lines of a field, in their order.
fn values<'b>(fields: &Fields<'b>, name: &str) -> Vec<&'b [u8]> {
    let named = fields.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
    named.map(|(_, value)| value).collect()
}

/// The elements of a list in several lines, the last one first.
fn from_right<'b>(lines: &[&'b [u8]]) -> impl Iterator<Item = &'b [u8]> {
    lines.iter().rev().flat_map(|line| FromRight::new(line, b','))
}

/// What the list in `others` says of the last `read` elements of `hops`, the leftmost first.
///
/// Lists of the same length were added to together. Of others nobody can tell what belongs to which hop:
/// their last element alone is taken, which the peer has written.
fn beside<'b>(others: &[&'b [u8]], hops: &[&[u8]], read: usize) -> Vec<&'b [u8]> {
    let mut elements: Vec<_> = from_right(others).collect();
    let is_as_long = elements.len() == from_right(hops).count();
    elements.truncate(if is_as_long { read } else { 1 });
    elements.reverse();
    elements
}

fn known_scheme(text: &[u8]) -> Option<&'static str> {
    ["https", "http"].into_iter().find(|known| text.eq_ignore_ascii_case(known.as_bytes()))
}

/// A host, as far as it can be passed on.
fn host(text: &[u8]) -> Option<String> {
    graphic(text).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The paths in these elements, which were taken off one after the other, as one.
fn prefix<'b>(elements: impl Iterator<Item = &'b [u8]>) -> Option<String> {
    let paths = elements.map(path).collect::<Option<Vec<_>>>()?;
    Some(paths.concat()).filter(|whole| !whole.is_empty())
}

/// A path without the slashes at its end. Two at its beginning would name a host, once it is put before
/// others, and browsers take a backslash for a slash.
fn path(text: &[u8]) -> Option<&str> {
    let path = graphic(text)?.trim_end_matches('/');
    let is_path = path.starts_with('/') && !path.starts_with("//");
    (path.is_empty() || is_path && !path.contains(['\\', '?', '#'])).then_some(path)
}

/// A text without white space or anything else that is not seen.
fn graphic(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()))
}
