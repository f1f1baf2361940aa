//! Values of flags that only `weir-lab load` has: arrivals, header lines, classes of clients, slow
//! readers. Used by its [`arguments`](super::arguments).

use std::net::IpAddr;
use std::str::FromStr;

use weir_units::{Positive, Share};

use crate::values::link_rate;

/// How requests of a fixed rate are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Arrivals {
    /// Independent users: exponential gaps
    Poisson,
    /// Equal gaps
    Even,
}

/// A line of a request's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header(pub(crate) String);

/// Fields that the generator writes itself.
const OWN_FIELDS: [(&str, &str); 4] = [
    ("host", "use --host"),
    ("connection", "use --requests-per-connection"),
    ("content-length", "requests have no body"),
    ("transfer-encoding", "requests have no body"),
];

impl FromStr for Header {
    type Err = String;

    fn from_str(text: &str) -> Result<Header, String> {
        let wrong =
            || format!("\"{text}\" is not a header line; write such as 'Accept: text/html'");
        let (name, value) = text.split_once(':').ok_or_else(wrong)?;
        let value = value.trim();
        // RFC 9110, section 5.6.2: a name is a token.
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        let clean = |b: u8| b == b'\t' || (b >= 0x20 && b != 0x7f);
        if name.is_empty() || !name.bytes().all(token) || !value.bytes().all(clean) {
            return Err(wrong());
        }
        if let Some((_, instead)) =
            OWN_FIELDS.iter().find(|(own, _)| name.eq_ignore_ascii_case(own))
        {
            return Err(format!("{name} is set by the generator: {instead}"));
        }
        Ok(Header(format!("{name}: {value}\r\n")))
    }
}

/// A class of clients.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Class {
    /// What it is called in the figures.
    pub(crate) name: String,
    /// Where its connections come from; none: where the kernel says.
    pub(crate) addresses: Vec<IpAddr>,
    /// Its share of the clients, relative to the other classes'.
    pub(crate) weight: f64,
}

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Class, String> {
        let example = "write NAME=ADDRESS,ADDRESS,weight=3, such as near=10.0.0.2,weight=3";
        let (name, rest) =
            text.split_once('=').ok_or_else(|| format!("\"{text}\" is not a class; {example}"))?;
        let word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(word) || name == "weight" {
            return Err(format!("\"{name}\" is not a name of letters, digits, - and _; {example}"));
        }
        let mut class = Class { name: name.to_owned(), addresses: Vec::new(), weight: 1.0 };
        for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if let Some(weight) = part.strip_prefix("weight=") {
                class.weight = weight.parse::<Positive>().map_err(|e| format!("weight {e}"))?.get();
            } else {
                let wrong = |_| format!("\"{part}\" is not an address of this machine; {example}");
                class.addresses.push(part.parse().map_err(wrong)?);
            }
        }
        Ok(class)
    }
}

/// Clients that read slowly: their share, and bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SlowReaders {
    pub(crate) share: f64,
    pub(crate) bytes_per_second: u64,
}

impl FromStr for SlowReaders {
    type Err = String;

    fn from_str(text: &str) -> Result<SlowReaders, String> {
        let (share, rate) = text.split_once('@').unwrap_or((text, "20kbit"));
        let share = share.parse::<Share>()?.fraction();
        Ok(SlowReaders { share, bytes_per_second: link_rate(rate)?.bits() / 8 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_cannot_break_the_head() {
        assert_eq!("X-A:  b c ".parse(), Ok(Header("X-A: b c\r\n".into())));
        for wrong in ["", "x", ": y", "a b: c", "A: b\r\nC: d", "Host: x", "connection: close"] {
            assert!(wrong.parse::<Header>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn classes_have_names_addresses_and_weights() {
        let class: Class = "near=10.0.0.2,::1,weight=3".parse().unwrap();
        assert_eq!((class.name.as_str(), class.addresses.len(), class.weight), ("near", 2, 3.0));
        let class: Class = "far=weight=2".parse().unwrap();
        assert_eq!((class.addresses.len(), class.weight), (0, 2.0));
        for wrong in ["near", "=10.0.0.1", "a=10.0.0", "a=weight=0", "a b=1.2.3.4"] {
            assert!(wrong.parse::<Class>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn slow_readers_have_a_share_and_a_rate() {
        let slow: SlowReaders = "5%".parse().unwrap();
        assert_eq!((slow.share, slow.bytes_per_second), (0.05, 2500));
        let slow: SlowReaders = "0.1@64kbit".parse().unwrap();
        assert_eq!((slow.share, slow.bytes_per_second), (0.1, 8000));
        assert!("5%@off".parse::<SlowReaders>().is_err());
    }
}
