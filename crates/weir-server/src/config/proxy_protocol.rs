//! The value of `proxy_protocol`: whether connections begin with a PROXY header, and who may open
//! them. Used by connections before their first byte.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::de::{self, Deserializer, SeqAccess, Visitor};

use super::value::Value;
use super::values::Prefix;

/// Whether connections begin with a PROXY header, and who may open them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// They begin with a request.
    Off,
    /// They begin with a header, whoever opens them.
    FromAnyone,
    /// They begin with a header, and are opened by load balancers in these networks (at least one).
    From(Vec<Prefix>),
}

const NONE: &str = "`proxy_protocol` names no network; write true, false, or networks of load \
                    balancers \
                    such as 10.0.0.0/8";

impl ProxyProtocol {
    /// Whether `peer` may open a connection.
    pub(crate) fn admits(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        match self {
            ProxyProtocol::Off | ProxyProtocol::FromAnyone => true,
            ProxyProtocol::From(networks) => {
                networks.iter().any(|Prefix(network)| network.contains(&peer))
            }
        }
    }

    fn from(networks: Vec<Prefix>) -> Result<ProxyProtocol, String> {
        if networks.is_empty() {
            return Err(NONE.to_owned());
        }
        Ok(ProxyProtocol::From(networks))
    }
}

impl FromStr for ProxyProtocol {
    type Err = String;

    /// `true`, `false`, or networks between commas.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "true" => Ok(ProxyProtocol::FromAnyone),
            "false" => Ok(ProxyProtocol::Off),
            "" => Err(NONE.to_owned()),
            networks => {
                let networks: Result<_, String> = networks.split(',').map(str::parse).collect();
                ProxyProtocol::from(networks.map_err(|what| format!("{what}, nor true or false"))?)
            }
        }
    }
}

impl fmt::Display for ProxyProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProxyProtocol::Off => f.write_str("false"),
            ProxyProtocol::FromAnyone => f.write_str("true"),
            ProxyProtocol::From(networks) => {
                let networks: Vec<String> = networks.iter().map(Prefix::to_string).collect();
                f.write_str(&networks.join(","))
            }
        }
    }
}

impl Value for ProxyProtocol {
    type Resolved = ProxyProtocol;

    const NAME: &'static str = "NETWORK,...";

    fn words() -> Vec<(&'static str, &'static str)> {
        vec![
            ("true", "yes, from anywhere"),
            ("false", "no"),
            ("networks", "yes, and only from these networks"),
        ]
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ProxyProtocol, D::Error> {
        deserializer.deserialize_any(Written)
    }

    fn resolve(self) -> ProxyProtocol {
        self
    }

    fn written(&self) -> String {
        self.to_string()
    }
}

/// A boolean, a text as of a flag, or an array of texts.
struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = ProxyProtocol;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, or an array of networks")
    }

    fn visit_bool<E: de::Error>(self, on: bool) -> Result<ProxyProtocol, E> {
        Ok(if on { ProxyProtocol::FromAnyone } else { ProxyProtocol::Off })
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ProxyProtocol, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ProxyProtocol, A::Error> {
        let mut networks = Vec::new();
        while let Some(text) = items.next_element::<String>()? {
            networks.push(text.parse().map_err(de::Error::custom)?);
        }
        ProxyProtocol::from(networks).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_open_a_connection() {
        let admits = |text: &str, peer: &str| {
            text.parse::<ProxyProtocol>().map(|it| it.admits(peer.parse().unwrap()))
        };
        for peer in ["192.0.2.1", "::1"] {
            assert_eq!((admits("true", peer), admits("false", peer)), (Ok(true), Ok(true)));
        }
        let two = "10.0.0.0/8, 192.0.2.1,2001:db8::/32";
        for (peer, may) in [
            ("10.1.2.3", true),
            ("192.0.2.1", true),
            ("192.0.2.2", false),
            ("2001:db8::7", true),
            ("2001:db9::7", false),
            // As a socket for both families names it.
            ("::ffff:10.1.2.3", true),
        ] {
            assert_eq!(admits(two, peer), Ok(may), "{peer}");
        }
        for wrong in ["", "yes", "10.0.0.0/33", "10.0.0.0/8,", "true,10.0.0.0/8"] {
            assert!(wrong.parse::<ProxyProtocol>().is_err(), "{wrong}");
        }
    }
}
