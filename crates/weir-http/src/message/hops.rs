//! Who asks where proxies stand in between: `X-Forwarded-For`, or `Forwarded` (RFC 7239), read from the
//! right past the hops that are trusted. Used by `weir-server` for clients behind `trusted_proxies`.
//!
//! Each proxy adds the address that it sees at the end, so what stands before the first address that is
//! not trusted is the word of somebody who is not trusted, and is not even read.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::fields::Fields;

/// The field that trusted proxies add addresses to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HopField {
    /// `X-Forwarded-For`, with `X-Forwarded-Proto` for the scheme.
    XForwardedFor,
    /// `Forwarded` (RFC 7239), of which `for` and `proto` are read.
    Forwarded,
}

/// Who asks, as far as those tell who are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The client; never an IPv4 address in the form of an IPv6 one.
    pub address: IpAddr,
    /// `http` or `https`, if the nearest proxy says how it was asked.
    pub scheme: Option<&'static str>,
}

/// Whoever asks through `peer`, which has sent these fields.
///
/// The walk goes from the peer to the left as long as it stands at a trusted hop, and ends at the last
/// one if what comes next is no address (`unknown`, a name, nonsense) or nothing. A peer that is not
/// trusted is the client itself.
pub fn origin(
    fields: &Fields<'_>,
    field: HopField,
    peer: IpAddr,
    is_trusted: impl Fn(IpAddr) -> bool,
) -> Origin {
    let mut address = peer.to_canonical();
    if !is_trusted(address) {
        return Origin { address, scheme: None };
    }
    let lines = match field {
        HopField::XForwardedFor => values(fields, "x-forwarded-for"),
        HopField::Forwarded => values(fields, "forwarded"),
    };
    let mut hops = lines.iter().rev().flat_map(|line| FromRight::new(line, b','));
    while is_trusted(address) {
        let Some(element) = hops.next() else { break };
        let hop = match field {
            HopField::XForwardedFor => node(element),
            HopField::Forwarded => parameter(element, "for").and_then(|text| node(&text)),
        };
        let Some(hop) = hop else { break };
        address = hop;
    }
    let scheme = match field {
        HopField::XForwardedFor => {
            last_element(&values(fields, "x-forwarded-proto")).and_then(known_scheme)
        }
        HopField::Forwarded => {
            let said = last_element(&lines).and_then(|element| parameter(element, "proto"));
            said.and_then(|text| known_scheme(&text))
        }
    };
    Origin { address, scheme }
}

/// The values of all lines of a field, in their order.
fn values<'b>(fields: &Fields<'b>, name: &str) -> Vec<&'b [u8]> {
    let named = fields.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
    named.map(|(_, value)| value).collect()
}

/// The last element of a list in several lines.
fn last_element<'b>(lines: &[&'b [u8]]) -> Option<&'b [u8]> {
    lines.iter().rev().find_map(|line| FromRight::new(line, b',').next())
}

fn known_scheme(text: &[u8]) -> Option<&'static str> {
    ["https", "http"].into_iter().find(|known| text.eq_ignore_ascii_case(known.as_bytes()))
}

/// The parts of a text between separators, the last one first, without white space around them. Empty
/// ones are left out (RFC 9110, section 5.6.1). A separator in a quoted string does not divide; which
/// quotes belong together is told from the right, so that one that a client left open swallows nothing of
/// what a proxy has added.
struct FromRight<'b> {
    rest: Option<&'b [u8]>,
    separator: u8,
}

impl<'b> FromRight<'b> {
    fn new(text: &'b [u8], separator: u8) -> FromRight<'b> {
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
fn parameter(element: &[u8], wanted: &str) -> Option<Vec<u8>> {
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
fn node(text: &[u8]) -> Option<IpAddr> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Trusted are 10.0.0.0/8 and 2001:db8::/16.
    fn is_trusted(address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => address.octets()[0] == 10,
            IpAddr::V6(address) => address.segments()[0] == 0x2001,
        }
    }

    fn fields<'b>(lines: &[(&'b str, &'b str)]) -> Fields<'b> {
        lines.iter().map(|(name, value)| (*name, value.as_bytes())).collect()
    }

    fn told(field: HopField, peer: &str, lines: &[(&str, &str)]) -> (String, Option<&'static str>) {
        let found = origin(&fields(lines), field, peer.parse().unwrap(), is_trusted);
        (found.address.to_string(), found.scheme)
    }

    #[test]
    fn the_walk_ends_at_the_first_that_is_not_trusted_or_at_the_last_good_hop() {
        let client = |lines: &[&str]| {
            let lines: Vec<_> = lines.iter().map(|line| ("X-Forwarded-For", *line)).collect();
            told(HopField::XForwardedFor, "10.0.0.1", &lines).0
        };
        for (lines, address) in [
            (&[][..], "10.0.0.1"),
            (&["192.0.2.1"], "192.0.2.1"),
            (&["6.6.6.6, 192.0.2.1"], "192.0.2.1"),
            (&["6.6.6.6", "192.0.2.1, 10.0.0.2", "10.0.0.3"], "192.0.2.1"),
            (&["10.0.0.9,10.0.0.8"], "10.0.0.9"),
            (&["192.0.2.1:1234"], "192.0.2.1"),
            (&["192.0.2.1:_hidden"], "192.0.2.1"),
            (&["[fd00::1]:80"], "fd00::1"),
            (&["fd00::1"], "fd00::1"),
            (&["[fd00::1], 2001:db8::7"], "fd00::1"),
            (&["::ffff:192.0.2.1"], "192.0.2.1"),
            (&["6.6.6.6, ,, 192.0.2.1 , "], "192.0.2.1"),
            // Nonsense, and what is no address, end the walk.
            (&["6.6.6.6, unknown, 10.0.0.2"], "10.0.0.2"),
            (&["6.6.6.6, _gateway"], "10.0.0.1"),
            (&["6.6.6.6, 192.0.2.256"], "10.0.0.1"),
            (&["192.0.2.1:port"], "10.0.0.1"),
            (&["192.0.2.1:123456"], "10.0.0.1"),
            (&["[fd00::1]x"], "10.0.0.1"),
            (&["[192.0.2.1]"], "10.0.0.1"),
            (&["fd00::1]:80"], "10.0.0.1"),
            (&["\"192.0.2.1\""], "10.0.0.1"),
        ] {
            assert_eq!(client(lines), address, "{lines:?}");
        }
    }

    #[test]
    fn a_peer_that_is_not_trusted_is_the_client() {
        let lies = [("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Proto", "https")];
        let told = told(HopField::XForwardedFor, "::ffff:192.0.2.9", &lies);
        assert_eq!(told, ("192.0.2.9".to_owned(), None));
    }

    #[test]
    fn forwarded_is_read_as_in_rfc_7239() {
        let client = |line: &str| told(HopField::Forwarded, "10.0.0.1", &[("Forwarded", line)]);
        for (line, address, scheme) in [
            ("for=192.0.2.43;proto=https;by=10.0.0.1", "192.0.2.43", Some("https")),
            ("For=\"[fd00::17]:4711\"", "fd00::17", None),
            ("for=6.6.6.6, FOR=192.0.2.60; proto=HTTP;host=\"a,b;c\"", "192.0.2.60", Some("http")),
            ("for=192.0.2.1,for=10.0.0.2;proto=https", "192.0.2.1", Some("https")),
            ("for=\"192\\.0.2.1\"", "192.0.2.1", None),
            ("for=\"_a\\\"b\", for=10.0.0.2", "10.0.0.2", None),
            ("for=6.6.6.6, for=unknown", "10.0.0.1", None),
            ("for=6.6.6.6, proto=https", "10.0.0.1", Some("https")),
            ("for=6.6.6.6;for=192.0.2.1", "10.0.0.1", None),
            ("for=6.6.6.6, 192.0.2.1", "10.0.0.1", None),
            ("for=\"192.0.2.1", "10.0.0.1", None),
            ("for = 192.0.2.1", "10.0.0.1", None),
            ("for=192.0.2.1;proto=ftp", "192.0.2.1", None),
        ] {
            assert_eq!(client(line), (address.to_owned(), scheme), "{line}");
        }
        // The other field is somebody else's.
        let both = [("X-Forwarded-For", "6.6.6.6"), ("Forwarded", "for=192.0.2.1")];
        assert_eq!(told(HopField::Forwarded, "10.0.0.1", &both).0, "192.0.2.1");
        let scheme = [("X-Forwarded-Proto", "http, https"), ("X-Forwarded-For", "192.0.2.1")];
        assert_eq!(told(HopField::XForwardedFor, "10.0.0.1", &scheme).1, Some("https"));
    }

    /// An address as a proxy writes it into `Forwarded`.
    fn element(address: IpAddr) -> String {
        match address {
            IpAddr::V4(address) => format!("for={address}"),
            IpAddr::V6(address) => format!("for=\"[{address}]:80\""),
        }
    }

    fn hop() -> impl Strategy<Value = IpAddr> {
        let (trusted, other) =
            ("10\\.0\\.0\\.[1-9]|2001::[1-9]", "192\\.0\\.2\\.[1-9]|fd00::[1-9]");
        prop_oneof![trusted, other].prop_map(|text| text.parse().unwrap())
    }

    proptest! {
        /// Whatever a client sends, a proxy that adds its address at the end decides who it is.
        #[test]
        fn what_the_client_wrote_decides_nothing(
            lies in prop::collection::vec("([ -~]|for=|\"|\\\\|,|;|10\\.0\\.0\\.2){0,20}", 0..4),
            (client, same_line) in (hop(), any::<bool>()),
        ) {
            prop_assume!(!is_trusted(client));
            for (field, name, added) in [
                (HopField::XForwardedFor, "x-forwarded-for", client.to_string()),
                (HopField::Forwarded, "forwarded", element(client)),
            ] {
                let mut lines = lies.clone();
                match lines.pop() {
                    Some(last) if same_line => lines.push(format!("{last}, {added}")),
                    last => lines.extend(last.into_iter().chain([added])),
                }
                let lines: Vec<_> = lines.iter().map(|line| (name, line.as_str())).collect();
                let found = origin(&fields(&lines), field, [10, 0, 0, 1].into(), is_trusted);
                prop_assert_eq!(found.address, client, "{:?}", lines);
            }
        }

        #[test]
        fn the_rule_as_it_is_written_down(
            hops in prop::collection::vec(hop(), 0..6), peer in hop(),
        ) {
            let expected = match is_trusted(peer) {
                false => peer,
                true => {
                    let untrusted = hops.iter().rev().find(|hop| !is_trusted(**hop));
                    *untrusted.or(hops.first()).unwrap_or(&peer)
                }
            };
            let list = |write: fn(IpAddr) -> String| {
                hops.iter().map(|hop| write(*hop)).collect::<Vec<_>>().join(", ")
            };
            let (plain, standard) = (list(|hop| hop.to_string()), list(element));
            let both = [("x-forwarded-for", plain.as_str()), ("forwarded", standard.as_str())];
            let lines = fields(&both);
            for field in [HopField::XForwardedFor, HopField::Forwarded] {
                prop_assert_eq!(origin(&lines, field, peer, is_trusted).address, expected);
            }
        }

        #[test]
        fn nothing_panics(line in "([ -~]|for=|\"|\\\\|,|;|\\[|\\]|:){0,40}") {
            for field in [HopField::XForwardedFor, HopField::Forwarded] {
                let lines = [("x-forwarded-for", line.as_str()), ("forwarded", line.as_str())];
                let _ = origin(&fields(&lines), field, [10, 0, 0, 1].into(), is_trusted);
            }
        }
    }
}
