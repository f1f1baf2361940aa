//! The grammar of what proxies add: elements between commas, parameters, addresses (RFC 7239, sections 4
//! and 6). Used by [`super`], which knows what the elements mean.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The parts of a text between separators, the last one first, without white space around them. Empty
/// ones are left out (RFC 9110, section 5.6.1). A separator in a quoted string does not divide; which
/// quotes belong together is told from the right, so that one that a client left open swallows nothing of
/// what a proxy has added.
pub(super) struct FromRight<'b> {
    rest: Option<&'b [u8]>,
    separator: u8,
}

impl<'b> FromRight<'b> {
    pub(super) fn new(text: &'b [u8], separator: u8) -> FromRight<'b> {
        FromRight { rest: Some(text), separator }
    }
}

impl<'b> Iterator for FromRight<'b> {
    type Item = &'b [u8];

    fn next(&mut self) -> Option<&'b [u8]> {
        loop {
            let rest = self.rest.take()?;
            let part = match last_separator(rest, self.separator) {
                Some(at) => {
                    self.rest = rest.get(..at);
                    rest.get(at + 1..).unwrap_or_default()
                }
                None => rest,
            };
            let part = part.trim_ascii();
            if !part.is_empty() {
                return Some(part);
            }
        }
    }
}

/// Where the last separator stands that is in no quoted string.
fn last_separator(text: &[u8], separator: u8) -> Option<usize> {
    let mut is_quoted = false;
    for (at, byte) in text.iter().enumerate().rev() {
        match *byte {
            b'"' if is_quoted && is_escaped(text, at) => {}
            b'"' => is_quoted = !is_quoted,
            byte if byte == separator && !is_quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// Whether the byte there follows an odd number of backslashes.
fn is_escaped(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default().iter().rev();
    before.take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The value of the parameter `wanted` in an element of `Forwarded`; `None`: it has none, or several, or
/// is malformed (RFC 7239, section 4).
pub(super) fn parameter(element: &[u8], wanted: &str) -> Option<Vec<u8>> {
    let mut found = None;
    for pair in FromRight::new(element, b';') {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (pair.get(..equals)?, pair.get(equals + 1..)?);
        if !name.eq_ignore_ascii_case(wanted.as_bytes()) {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(unquoted(value)?);
    }
    found
}

/// A token as it is, a quoted string without its quotes and backslashes (RFC 9110, section 5.6.4).
fn unquoted(value: &[u8]) -> Option<Vec<u8>> {
    let Some(inner) = value.strip_prefix(b"\"") else { return Some(value.to_vec()) };
    let inner = inner.strip_suffix(b"\"")?;
    let (mut text, mut is_escaped) = (Vec::with_capacity(inner.len()), false);
    for byte in inner {
        match byte {
            b'\\' if !is_escaped => is_escaped = true,
            b'"' if !is_escaped => return None,
            byte => {
                text.push(*byte);
                is_escaped = false;
            }
        }
    }
    (!is_escaped).then_some(text)
}

/// An address, perhaps with a port; an IPv6 address with one stands in brackets (RFC 7239, section 6).
pub(super) fn node(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    if let Some(literal) = text.strip_prefix('[') {
        let (address, port) = literal.split_once(']')?;
        let is_valid = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        let address = address.parse::<Ipv6Addr>().ok().filter(|_| is_valid)?;
        return Some(IpAddr::V6(address).to_canonical());
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    let (address, port) = text.split_once(':')?;
    address.parse::<Ipv4Addr>().ok().filter(|_| is_port(port)).map(IpAddr::V4)
}

/// A number, or a name that hides one (RFC 7239, section 6.3).
fn is_port(text: &str) -> bool {
    let is_number = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_name_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let hides = |name: &str| !name.is_empty() && name.bytes().all(is_name_byte);
    is_number || text.strip_prefix('_').is_some_and(hides)
}
