//! Who may ask, and how often: networks, limits and passwords, and who asks through trusted proxies.
//! [`Access`] is what the configuration says of the whole server, a [`Guard`] what it says of a route. Both
//! are `None` where it says nothing. Connections and `protocol` ask them.

mod connections;
mod guard;
mod networks;
mod passwords;
mod refusal;
mod requests;

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use weir_http::message::Fields;
use weir_http::message::hops::{self, HopField, Origin};
use weir_sched::Time;

use self::connections::ConnectionLimit;
pub(crate) use self::connections::{Place, Surplus};
pub(crate) use self::guard::{Guard, Guards};
use self::networks::Rules;
pub(crate) use self::passwords::watch as watch_passwords;
pub(crate) use self::refusal::Refusal;
use self::requests::RequestLimit;
use crate::config::{AccessConfig, ClientAddressField};
use crate::identity::PeerAddress;

/// What all workers share.
#[derive(Debug)]
pub(crate) struct Access {
    /// Proxies that are believed who asks through them.
    trusted: Vec<IpNet>,
    /// Where they say so.
    field: HopField,
    rules: Option<Rules>,
    requests: Option<Arc<RequestLimit>>,
    connections: Option<Arc<ConnectionLimit>>,
}

impl Access {
    /// `None` if everybody may do everything, and who connects is who asks. Limits that the configuration
    /// `before` had as well go on with what they have counted.
    pub(crate) fn open(config: &AccessConfig, before: Option<&Access>) -> Option<Arc<Access>> {
        let width = config.client_width();
        let requests = before.and_then(|before| before.requests.as_ref());
        let requests = |rate| RequestLimit::open(requests, rate, config.limit_burst, width);
        let connections = before.and_then(|before| before.connections.as_ref());
        let connections = |most| ConnectionLimit::open(connections, most, width);
        let access = Access {
            trusted: config.trusted_proxies.iter().map(|prefix| prefix.0).collect(),
            field: match config.client_address_field {
                ClientAddressField::XForwardedFor => HopField::XForwardedFor,
                ClientAddressField::Forwarded => HopField::Forwarded,
            },
            rules: Rules::new(&config.allow, &config.deny),
            requests: config.limit_requests.map(requests),
            connections: config.limit_connections.map(connections),
        };
        let Access { trusted, rules, requests, connections, .. } = &access;
        let is_open =
            trusted.is_empty() && rules.is_none() && requests.is_none() && connections.is_none();
        (!is_open).then(|| Arc::new(access))
    }

    /// Whether the other end of a connection is a trusted proxy. One at a Unix socket counts as one at
    /// 127.0.0.1, as for all networks.
    pub(crate) fn trusts(&self, peer: PeerAddress) -> bool {
        self.is_trusted(peer.ip().to_canonical())
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(&address))
    }

    /// Whoever asks through `peer`, by the fields of the request; `None`: the peer itself asks.
    pub(crate) fn origin(&self, peer: PeerAddress, fields: &Fields<'_>) -> Option<Origin> {
        let is_trusted = |address| self.is_trusted(address);
        self.trusts(peer).then(|| hops::origin(fields, self.field, peer.ip(), is_trusted))
    }

    /// A request of the client at `address` comes.
    ///
    /// # Errors
    ///
    /// Its network may not ask, or it comes too often.
    pub(crate) fn admit(&self, address: IpAddr, now: Time) -> Result<(), Refusal> {
        self.rules.iter().try_for_each(|rules| rules.admit(address))?;
        self.requests.iter().try_for_each(|requests| requests.admit(address, now))
    }

    /// A connection from `peer` is opened; it counts until what is returned is dropped. `None`: it does not
    /// count, as many clients may share it.
    ///
    /// # Errors
    ///
    /// The client may have no more.
    pub(crate) fn enter(&self, peer: PeerAddress) -> Result<Option<Box<Place>>, Surplus> {
        let limit = self.connections.as_ref().filter(|_| !self.trusts(peer));
        // Boxed: a connection need not be larger for it.
        limit.map(|limit| limit.enter(peer.ip()).map(Box::new)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, parse};

    fn access(text: &str) -> Option<Arc<Access>> {
        following(None, text)
    }

    fn following(before: Option<&Access>, text: &str) -> Option<Arc<Access>> {
        let config = Config::from_settings(parse(text).unwrap()).unwrap();
        Access::open(&config.access, before)
    }

    fn peer(address: &str) -> PeerAddress {
        PeerAddress::Ip(address.parse().unwrap())
    }

    #[test]
    fn nothing_stands_before_a_server_that_asks_for_nothing() {
        assert!(access("").is_none() && access("limit_ipv4_prefix = 24").is_none());
        for text in [
            "trusted_proxies = \"::1\"",
            "allow = \"::1\"",
            "deny = \"::1\"",
            "limit_requests = 1",
            "limit_connections = 1",
        ] {
            assert!(access(text).is_some(), "{text}");
        }
    }

    #[test]
    fn only_trusted_peers_say_who_asks() {
        let access = access("trusted_proxies = [\"10.0.0.0/8\", \"127.0.0.1\"]").unwrap();
        let fields: Fields<'_> =
            [("X-Forwarded-For", &b"192.0.2.1, 10.9.9.9"[..])].into_iter().collect();
        let origin = |peer| access.origin(peer, &fields).map(|found| found.address.to_string());
        let client = Some("192.0.2.1".to_owned());
        assert_eq!(origin(peer("10.0.0.1:80")), client);
        assert_eq!(origin(peer("[::ffff:10.0.0.1]:80")), client);
        assert_eq!(origin(PeerAddress::Unix), client);
        assert_eq!(origin(peer("192.0.2.7:80")), None);
    }

    #[test]
    fn networks_come_before_limits_and_proxies_have_as_many_connections_as_they_like() {
        let text = "trusted_proxies = \"10.0.0.0/8\"\ndeny = \"192.0.2.9\"\nlimit_requests = \"1/h\"\n\
                    limit_connections = 1";
        let access = access(text).unwrap();
        let admit = |address: &str| access.admit(address.parse().unwrap(), Time::ZERO);
        assert_eq!(
            [admit("192.0.2.9"), admit("192.0.2.9")],
            [Err(Refusal::Forbidden), Err(Refusal::Forbidden)]
        );
        assert_eq!(admit("192.0.2.1"), Ok(()));
        assert!(matches!(admit("192.0.2.1"), Err(Refusal::TooMany(_))));
        let held = access.enter(peer("192.0.2.1:1")).unwrap();
        assert!(held.is_some() && access.enter(peer("192.0.2.1:2")).is_err());
        for _ in 0..3 {
            assert!(access.enter(peer("10.0.0.1:1")).unwrap().is_none());
        }
    }

    #[test]
    fn what_was_counted_goes_on_in_limits_that_are_the_same() {
        let limits = "limit_requests = \"1/h\"\nlimit_connections = 1\n";
        let before = access(limits).unwrap();
        let (client, address) = (peer("192.0.2.1:1"), [192, 0, 2, 1].into());
        assert_eq!(before.admit(address, Time::ZERO), Ok(()));
        let _held = before.enter(client).unwrap();
        for (text, may_ask, may_connect) in [
            (format!("{limits}deny = \"192.0.2.9\""), false, false),
            (format!("{limits}trusted_proxies = \"10.0.0.0/8\""), false, false),
            (format!("{limits}limit_burst = 2"), true, false),
            (limits.replace("connections = 1", "connections = 2"), false, true),
            (format!("{limits}limit_ipv4_prefix = 24"), true, true),
        ] {
            let after = following(Some(&before), &text).unwrap();
            assert_eq!(after.admit(address, Time::ZERO).is_ok(), may_ask, "{text}");
            assert_eq!(after.enter(client).is_ok(), may_connect, "{text}");
        }
    }
}
