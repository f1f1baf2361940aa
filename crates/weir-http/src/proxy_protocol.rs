//! The PROXY protocol, versions 1 and 2: who the client is, as told by a load balancer in front before
//! the first byte of HTTP (HAProxy, doc/proxy-protocol.txt). Used by the connections of `weir-server`,
//! for peers that the configuration trusts.

use std::fmt;
use std::net::SocketAddr;

use ppp::{v1, v2};

/// What every header of version 2 begins with.
const V2_SIGNATURE: &[u8] = v2::PROTOCOL_PREFIX;
/// What every header of version 1 begins with.
const V1_PREFIX: &[u8] = b"PROXY ";
/// The longest line of version 1 with its CRLF (section 2.1 of the specification).
const MAX_LINE: usize = 107;
/// Bytes of a version 2 header before the addresses.
const FIXED_PART: usize = 16;
/// Most bytes of addresses and further values of a version 2 header that are accepted.
const MAX_VALUES: usize = 4096;

/// The longest header, in bytes; one that is not complete is shorter.
pub const MAX_HEADER: usize = FIXED_PART + MAX_VALUES;

/// What the bytes of a connection begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// The beginning of a header, shorter than [`MAX_HEADER`].
    Partial,
    /// A header.
    Complete {
        /// The client. `None` if the balancer speaks for itself (a health check) or names no IP
        /// address: then the client is the peer of the connection.
        source: Option<SocketAddr>,
        /// Bytes of the header; HTTP begins behind them.
        length: usize,
    },
}

/// Why a connection does not begin with a header. It must be closed: its bytes are not to be taken
/// for a request from the balancer itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidHeader {
    /// What is wrong, for the log.
    pub reason: &'static str,
}

impl fmt::Display for InvalidHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl std::error::Error for InvalidHeader {}

/// Parses the header at the start of `bytes`, which may hold more behind it. Call it again with more
/// while it returns [`Parsed::Partial`]. Further values of version 2 (such as checksums) are passed
/// over. Addresses of IPv4 mapped into IPv6 come out as IPv4.
///
/// # Errors
///
/// [`InvalidHeader`] as soon as no continuation of `bytes` can begin with a header of bounded length,
/// though some faults show only when the line or the fixed part is complete.
pub fn parse(bytes: &[u8]) -> Result<Parsed, InvalidHeader> {
    if may_begin_with(bytes, V2_SIGNATURE) {
        parse_v2(bytes)
    } else if may_begin_with(bytes, V1_PREFIX) {
        parse_v1(bytes)
    } else {
        Err(InvalidHeader { reason: "it does not begin with a PROXY header" })
    }
}

/// Whether `bytes` begin with `prefix`, or are the beginning of it.
fn may_begin_with(bytes: &[u8], prefix: &[u8]) -> bool {
    bytes.iter().zip(prefix).all(|(here, there)| here == there)
}

fn parse_v1(bytes: &[u8]) -> Result<Parsed, InvalidHeader> {
    let malformed = InvalidHeader { reason: "PROXY header of version 1: malformed line" };
    let Some(end) = bytes.iter().take(MAX_LINE).position(|&byte| byte == b'\n') else {
        return match bytes.len() < MAX_LINE {
            true => Ok(Parsed::Partial),
            false => {
                Err(InvalidHeader { reason: "PROXY header of version 1: longer than 107 bytes" })
            }
        };
    };
    let line = bytes.get(..=end).unwrap_or_default();
    let text = line.strip_suffix(b"\r\n").ok_or(malformed)?;
    // Whatever follows this word means nothing (section 2.1).
    let unknown =
        text.strip_prefix(b"PROXY UNKNOWN").is_some_and(|rest| matches!(rest, [] | [b' ', ..]));
    let addresses = match unknown {
        true => v1::Addresses::Unknown,
        false => v1::Header::try_from(line).map_err(|error| invalid_line(&error))?.addresses,
    };
    let source = match addresses {
        v1::Addresses::Unknown => None,
        v1::Addresses::Tcp4(pair) => Some((pair.source_address, pair.source_port).into()),
        v1::Addresses::Tcp6(pair) => Some((pair.source_address, pair.source_port).into()),
    };
    Ok(Parsed::Complete { source: source.map(canonical), length: line.len() })
}

fn parse_v2(bytes: &[u8]) -> Result<Parsed, InvalidHeader> {
    if let Some(&[high, low]) = bytes.get(FIXED_PART - 2..FIXED_PART)
        && usize::from(u16::from_be_bytes([high, low])) > MAX_VALUES
    {
        return Err(InvalidHeader { reason: "PROXY header of version 2: longer than 4112 bytes" });
    }
    let header = match v2::Header::try_from(bytes) {
        Ok(header) => header,
        Err(v2::ParseError::Incomplete(_) | v2::ParseError::Partial(..)) => {
            return Ok(Parsed::Partial);
        }
        Err(error) => return Err(invalid_binary(&error)),
    };
    let source = match (header.command, header.addresses) {
        (v2::Command::Proxy, v2::Addresses::IPv4(pair)) => {
            Some((pair.source_address, pair.source_port).into())
        }
        (v2::Command::Proxy, v2::Addresses::IPv6(pair)) => {
            Some((pair.source_address, pair.source_port).into())
        }
        (v2::Command::Local, _)
        | (v2::Command::Proxy, v2::Addresses::Unspecified | v2::Addresses::Unix(_)) => None,
    };
    Ok(Parsed::Complete { source: source.map(canonical), length: header.len() })
}

/// What is wrong with a line of version 1.
fn invalid_line(error: &v1::BinaryParseError) -> InvalidHeader {
    use v1::ParseError::*;
    let v1::BinaryParseError::Parse(error) = error else {
        return InvalidHeader { reason: "PROXY header of version 1: malformed line" };
    };
    InvalidHeader {
        reason: match error {
            MissingProtocol | InvalidProtocol => {
                "PROXY header of version 1: neither TCP4, TCP6 nor UNKNOWN"
            }
            MissingSourceAddress
            | MissingDestinationAddress
            | MissingSourcePort
            | MissingDestinationPort => {
                "PROXY header of version 1: an address or a port is missing"
            }
            InvalidSourceAddress(_) => "PROXY header of version 1: no valid source address",
            InvalidDestinationAddress(_) => {
                "PROXY header of version 1: no valid destination address"
            }
            InvalidSourcePort(_) => "PROXY header of version 1: no valid source port",
            InvalidDestinationPort(_) => "PROXY header of version 1: no valid destination port",
            _ => "PROXY header of version 1: malformed line",
        },
    }
}

/// What is wrong with a header of version 2.
fn invalid_binary(error: &v2::ParseError) -> InvalidHeader {
    use v2::ParseError::*;
    InvalidHeader {
        reason: match error {
            Version(_) => "PROXY header of version 2: another version after its signature",
            Command(_) => "PROXY header of version 2: unknown command",
            AddressFamily(_) => "PROXY header of version 2: unknown address family",
            Protocol(_) => "PROXY header of version 2: unknown transport protocol",
            InvalidAddresses(..) => "PROXY header of version 2: too short for its addresses",
            _ => "PROXY header of version 2: malformed",
        },
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Parsed, InvalidHeader> {
        parse(text.as_bytes())
    }

    fn complete(source: Option<&str>, length: usize) -> Result<Parsed, InvalidHeader> {
        Ok(Parsed::Complete { source: source.map(|text| text.parse().unwrap()), length })
    }

    /// A header of version 2 with this command, family and these values.
    fn binary(command: u8, family: u8, values: &[u8]) -> Vec<u8> {
        let length = u16::try_from(values.len()).unwrap().to_be_bytes();
        [V2_SIGNATURE, &[0x20 | command, family], &length, values].concat()
    }

    #[test]
    fn lines() {
        let v4 = "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n";
        assert_eq!(line(v4), complete(Some("192.0.2.1:56324"), v4.len()));
        assert_eq!(line(&format!("{v4}GET /")), complete(Some("192.0.2.1:56324"), v4.len()));
        let v6 = "PROXY TCP6 2001:db8::1 ::1 1 65535\r\n";
        assert_eq!(line(v6), complete(Some("[2001:db8::1]:1"), v6.len()));
        let mapped = "PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n";
        assert_eq!(line(mapped), complete(Some("192.0.2.1:1"), mapped.len()));
        for unknown in ["PROXY UNKNOWN\r\n", "PROXY UNKNOWN a b c d e f\r\n", "PROXY UNKNOWN \r\n"]
        {
            assert_eq!(line(unknown), complete(None, unknown.len()), "{unknown:?}");
        }
        let longest = format!("PROXY UNKNOWN {}\r\n", "f".repeat(MAX_LINE - 16));
        assert_eq!(line(&longest), complete(None, MAX_LINE));
    }

    #[test]
    fn lines_that_are_none() {
        for bad in [
            "GET / HTTP/1.1\r\n",
            "PROXY\r\n",
            "proxy TCP4 1.1.1.1 2.2.2.2 1 2\r\n",
            "PROXY TCP4\r\n",
            "PROXY TCP4 1.1.1.1\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 2\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 2 3\r\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 65536\r\n",
            "PROXY TCP4 1.1.1 2.2.2.2 1 2\r\n",
            "PROXY TCP4 ::1 ::2 1 2\r\n",
            "PROXY TCP6 1.1.1.1 2.2.2.2 1 2\r\n",
            "PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n",
            "PROXY UNKNOWNS\r\n",
            "PROXY UNKNOWN\n",
            "PROXY  TCP4 1.1.1.1 2.2.2.2 1 2\r\n",
        ] {
            assert!(line(bad).is_err(), "{bad:?}");
        }
        let long = format!("PROXY UNKNOWN {}\r\n", "f".repeat(MAX_LINE - 15));
        assert!(line(&long).is_err());
        assert!(line(&long[..MAX_LINE]).is_err());
        assert_eq!(line(&long[..MAX_LINE - 1]), Ok(Parsed::Partial));
    }

    #[test]
    fn binary_headers() {
        let v4 = [192, 0, 2, 1, 198, 51, 100, 1, 0xdc, 4, 1, 187];
        let header = binary(1, 0x11, &v4);
        assert_eq!(parse(&header), complete(Some("192.0.2.1:56324"), 28));
        assert_eq!(parse(&[&header[..], b"GET"].concat()), complete(Some("192.0.2.1:56324"), 28));
        let v6 = [[0; 15].as_slice(), &[1], &[0; 15], &[2], &[0, 80, 1, 187]].concat();
        assert_eq!(parse(&binary(1, 0x21, &v6)), complete(Some("[::1]:80"), 52));
        let values = [v4.as_slice(), &[4, 0, 1, 0]].concat();
        assert_eq!(parse(&binary(1, 0x11, &values)), complete(Some("192.0.2.1:56324"), 32));
        assert_eq!(parse(&binary(0, 0x11, &v4)), complete(None, 28));
        assert_eq!(parse(&binary(0, 0, &[])), complete(None, 16));
        assert_eq!(parse(&binary(1, 0, &[1, 2])), complete(None, 18));
        assert_eq!(parse(&binary(1, 0x31, &[0; 216])), complete(None, 232));
    }

    #[test]
    fn binary_headers_that_are_none() {
        for (command, family, values) in
            [(2, 0x11, 12), (1, 0x41, 12), (1, 0x13, 12), (1, 0x11, 11), (1, 0x21, 35)]
        {
            assert!(parse(&binary(command, family, &vec![0; values])).is_err());
        }
        let mut old = binary(1, 0x11, &[0; 12]);
        old[12] = 0x11;
        assert!(parse(&old).is_err());
        assert!(parse(b"\r\n\r\n\0\r\nQUIT\r").is_err());
        assert!(matches!(parse(&binary(1, 0x11, &[0; MAX_VALUES])), Ok(Parsed::Complete { .. })));
        assert!(parse(&binary(1, 0x11, &[0; MAX_VALUES + 1])[..FIXED_PART]).is_err());
    }

    #[test]
    fn it_is_said_what_is_wrong() {
        let mut old = binary(1, 0x11, &[0; 12]);
        old[12] = 0x11;
        for (bytes, reason) in [
            (b"GET / HTTP/1.1".to_vec(), "it does not begin with a PROXY header"),
            (b"PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n".to_vec(), "1: neither TCP4, TCP6 nor UNKNOWN"),
            (b"PROXY TCP4 1.1.1 2.2.2.2 1 2\r\n".to_vec(), "1: no valid source address"),
            (b"PROXY TCP4 1.1.1.1\r\n".to_vec(), "1: an address or a port is missing"),
            (b"PROXY TCP4 1.1.1.1 2.2.2 1 2\r\n".to_vec(), "1: no valid destination address"),
            (b"PROXY TCP4 1.1.1.1 2.2.2.2 x 2\r\n".to_vec(), "1: no valid source port"),
            (b"PROXY TCP4 1.1.1.1 2.2.2.2 1 y\r\n".to_vec(), "1: no valid destination port"),
            (b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\n".to_vec(), "1: malformed line"),
            (b"PROXY TCP4 \xff 2.2.2.2 1 2\r\n".to_vec(), "1: malformed line"),
            ([&b"PROXY "[..], &[b'a'; 101]].concat(), "1: longer than 107 bytes"),
            (binary(2, 0x11, &[0; 12]), "2: unknown command"),
            (binary(1, 0x41, &[0; 12]), "2: unknown address family"),
            (binary(1, 0x13, &[0; 12]), "2: unknown transport protocol"),
            (binary(1, 0x11, &[0; 11]), "2: too short for its addresses"),
            (old, "2: another version after its signature"),
            (binary(1, 0x11, &[0; MAX_VALUES + 1]), "2: longer than 4112 bytes"),
        ] {
            let said = parse(&bytes).unwrap_err().to_string();
            assert!(said.ends_with(reason), "{}: {said}", bytes.escape_ascii());
        }
    }

    #[test]
    fn pieces_wait_for_the_rest() {
        let text = b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n".to_vec();
        for whole in [text, binary(1, 0x11, &[0; 12])] {
            for end in 0..whole.len() {
                assert_eq!(parse(&whole[..end]), Ok(Parsed::Partial), "{end}");
            }
        }
    }
}
