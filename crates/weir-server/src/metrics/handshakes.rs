//! Handshakes of TLS with clients, by how they ended, and when certificates end. Counted by connections;
//! told by the server when it has read certificates.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::size_classes::Label;

/// How a handshake ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeEnd {
    /// Both have agreed on new keys.
    Full,
    /// An earlier session goes on.
    Resumed,
    /// The client asked for the answer to a challenge of a certificate authority, and has seen it.
    Challenge,
    /// One of the two refused.
    Failed,
    /// It took longer than `handshake_timeout`.
    TimedOut,
    /// The client left, or was let go for want of descriptors.
    Left,
    /// The client spoke HTTP in clear text.
    ClearText,
}

const ENDS: [(HandshakeEnd, &str); 7] = [
    (HandshakeEnd::Full, "full"),
    (HandshakeEnd::Resumed, "resumed"),
    (HandshakeEnd::Challenge, "challenge"),
    (HandshakeEnd::Failed, "failed"),
    (HandshakeEnd::TimedOut, "timed out"),
    (HandshakeEnd::Left, "left"),
    (HandshakeEnd::ClearText, "clear text"),
];

type Name = [(&'static str, String); 1];

/// See the module.
#[derive(Debug)]
pub(crate) struct Handshakes {
    ends: Vec<Counter>,
    expiry: Family<Name, Gauge>,
}

impl Handshakes {
    pub(super) fn register(registry: &mut Registry) -> Handshakes {
        let ends = Family::<Label, Counter>::default();
        let help = "Handshakes of TLS with clients, by how they ended";
        registry.register("tls_handshakes", help, ends.clone());
        let of = |(_, label)| ends.get_or_create(&[("ended", label)]).clone();
        let ends = ENDS.into_iter().map(of).collect();
        let expiry = Family::default();
        registry.register_with_unit(
            "tls_certificate_expiry_timestamp",
            "When the certificate for a name ends, in seconds since 1970",
            Unit::Seconds,
            expiry.clone(),
        );
        Handshakes { ends, expiry }
    }

    pub(crate) fn ended(&self, end: HandshakeEnd) {
        if let Some(place) = ENDS.iter().position(|(known, _)| *known == end) {
            self.ends[place].inc();
        }
    }

    /// The certificate for `name` is valid until `end`.
    pub(crate) fn expires(&self, name: &str, end: SystemTime) {
        let seconds = end.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let seconds = i64::try_from(seconds.as_secs()).unwrap_or(i64::MAX);
        self.expiry.get_or_create(&[("name", name.to_owned())]).set(seconds);
    }

    /// The certificates of files are valid until then, by name; `before` are names of those that were.
    pub(crate) fn of_files(&self, ends: &BTreeMap<String, SystemTime>, before: &BTreeSet<String>) {
        for name in before.iter().filter(|name| !ends.contains_key(*name)) {
            self.expiry.remove(&[("name", name.clone())]);
        }
        for (name, end) in ends {
            self.expires(name, *end);
        }
    }
}
