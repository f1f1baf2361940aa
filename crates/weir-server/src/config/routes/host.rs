//! Names of hosts in routes, and the Host field that a backend sees. Used by the table of routes' keys,
//! and for addresses of backends and redirects.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use http::HeaderValue;

use crate::config::value::value;

/// No name is longer without its last dot (RFC 1035, section 2.3.4).
const LONGEST_NAME: usize = 253;

/// Whether `text` is an IPv4 address or could be a name: labels of letters, digits, hyphens and
/// underscores. What looks like an address is one.
pub(super) fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty() && label.len() <= 63 && label.bytes().all(valid)
    };
    let of_digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.len() <= LONGEST_NAME
        && text.split('.').all(is_label)
        && (!of_digits || text.parse::<Ipv4Addr>().is_ok())
}

/// Splits `name`, `name:port`, `[address]` or `[address]:port`. `None` if it is none of these.
/// Of an address in brackets the first part is without them.
pub(super) fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(literal) => {
            let (address, port) = literal.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            let port = if port.is_empty() { None } else { Some(port.strip_prefix(':')?) };
            (address, port)
        }
        None => {
            let (name, port) =
                text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
            is_name(name).then_some((name, port))?
        }
    };
    let number = |port: &str| port.parse::<u16>().ok().filter(|port| *port > 0);
    Some((host, port.map(|port| number(port).ok_or(())).transpose().ok()?))
}

/// An IPv6 address as it is usually written: it has many spellings.
pub(super) fn ipv6(text: &str) -> Option<String> {
    text.parse::<Ipv6Addr>().ok().map(|address| address.to_string())
}

/// The same in brackets, as in a `Host` field.
pub(crate) fn ipv6_literal(text: &str) -> Option<String> {
    let address = ipv6(text.strip_prefix('[')?.strip_suffix(']')?)?;
    Some(format!("[{address}]"))
}

/// The host of a route: a name, an address, or `*.` and a name. It is kept in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostPattern(pub(super) String);

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.is_ascii() {
            return Err(format!("write the host \"{text}\" as clients send it, with xn--"));
        }
        let lower = text.to_ascii_lowercase();
        if lower == "*" {
            return Err("leave `host` out for a route of every host".to_owned());
        }
        let name = lower.strip_prefix("*.").unwrap_or(&lower);
        if is_name(name) {
            return Ok(HostPattern(lower));
        }
        if let Some(literal) = ipv6_literal(&lower) {
            return Ok(HostPattern(literal));
        }
        Err(format!(
            "\"{text}\" is not a host; write a name without scheme, port and path, such as \
             www.example.org or *.example.org"
        ))
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

value!(HostPattern, "HOST", |host| -> String { host.0 });

/// The `Host` that a backend sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HostHeader {
    /// What the client sent.
    #[default]
    Client,
    /// The name of the backend.
    Backend,
    /// This, with its port if it has one.
    Fixed(HeaderValue),
}

impl FromStr for HostHeader {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "client" => Ok(HostHeader::Client),
            "backend" => Ok(HostHeader::Backend),
            fixed => {
                let valid = split_port(fixed).and_then(|_| HeaderValue::from_str(fixed).ok());
                valid.map(HostHeader::Fixed).ok_or_else(|| {
                    format!(
                        "\"{text}\" is not a Host; write client, backend or a name, such as \
                         app.internal"
                    )
                })
            }
        }
    }
}

impl fmt::Display for HostHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostHeader::Client => f.write_str("client"),
            HostHeader::Backend => f.write_str("backend"),
            HostHeader::Fixed(host) => f.write_str(&String::from_utf8_lossy(host.as_bytes())),
        }
    }
}

value! {
    HostHeader, "HOST", |host| -> HostHeader { host }
    fn words() -> Vec<(&'static str, &'static str)> {
        vec![
            ("client", "what the client sent"),
            ("backend", "the name of the backend"),
            ("a name", "this, with its port if it has one"),
        ]
    }
}
