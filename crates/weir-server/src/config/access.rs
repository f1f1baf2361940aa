//! The table of the server's keys about who may ask and how often, beside that of its other keys; routes
//! have some of the same names for themselves. Read by everything that reads those; `access` goes by it.

use weir_units::{Count, RequestRate, choice};

use super::client_width::ClientWidth;
use super::table::settings;
use super::value::{choice_value, value};
use super::values::Prefix;

value!(RequestRate, "REQUESTS", |rate| -> RequestRate { rate });

choice! {
    /// The field in which trusted proxies say who asks.
    pub enum ClientAddressField, "a field with the client's address", default XForwardedFor {
        /// `X-Forwarded-For`, with scheme, host and prefix in `X-Forwarded-Proto`, `-Host` and `-Prefix`.
        XForwardedFor = "x-forwarded-for",
        /// `Forwarded` (RFC 7239), with scheme and host in `proto` and `host`.
        Forwarded = "forwarded",
    }
}

choice_value!(ClientAddressField);

/// The most requests at once that a limit can be told to let through.
pub(super) type Burst = Count<1, 1_000_000>;

settings! {
    /// Flags and keys about who may ask, as far as they were given.
    #[derive(clap::Args)]
    pub(super) struct AccessKeys;

    /// What the configuration says about who may ask, with the defaults filled in.
    pub struct AccessConfig {}

    "Access" {
        /// Network of proxies that are believed who asks through them; may be given several times
        ///
        /// The field of `client_address_field` is read from the right past trusted hops, and the first
        /// address that is not trusted is the client: in the access log, for `allow`, `deny` and limits, for
        /// shares of the uplink and of backends, and for what backends are told, with the scheme, the host
        /// and the prefix that the proxies tell. What is no address ends the walk at the last good hop.
        /// `uplink_exempt` and timeouts go by the proxy. Name the proxies in front of weir and nobody else.
        #[arg(long)]
        trusted_proxies: Vec<Prefix> = Vec::new(),
        else "none",
        example ["10.0.0.0/8"];

        /// The field in which trusted proxies say who asks
        ///
        /// It must be the one that each of them adds to or sets; the other one is the client's own word.
        #[arg(long)]
        client_address_field: ClientAddressField = ClientAddressField::default(),
        needs "trusted_proxies",
        example "forwarded";

        /// Network of clients that may ask; may be given several times
        ///
        /// If there is one, all others are answered with 403, unless the route's own keys refuse them
        /// anyway.
        #[arg(long)]
        allow: Vec<Prefix> = Vec::new(),
        else "everybody",
        example ["192.168.0.0/16", "2001:db8::/32"];

        /// Network of clients that may not ask; may be given several times
        ///
        /// They are answered with 403. Of `deny` and `allow` the smaller network wins, and of equal ones
        /// `deny`.
        #[arg(long)]
        deny: Vec<Prefix> = Vec::new(),
        else "nobody",
        example ["192.0.2.0/24"];

        /// Most requests of each client
        ///
        /// More are answered with 429 and `Retry-After`.
        #[arg(long)]
        limit_requests: RequestRate,
        else "no limit",
        example "100/s";

        /// Most requests at once of a client that has not asked for a while
        #[arg(long)]
        limit_burst: Burst,
        else "as many as `limit_requests` lets through in a second, and 1 at least",
        needs "limit_requests",
        example 200;

        /// Most connections of each client
        ///
        /// More are answered with 429 and closed, with TLS closed before the handshake. Those of trusted
        /// proxies are not counted.
        #[arg(long)]
        limit_connections: Count<1, 1_000_000>,
        else "no limit",
        example 100;

        /// Bits of an IPv4 address that tell clients apart for limits
        #[arg(long)]
        limit_ipv4_prefix: Count<1, 32> = Count::clamped(32),
        example 24;

        /// Bits of an IPv6 address that tell clients apart for limits
        #[arg(long)]
        limit_ipv6_prefix: Count<1, 128> = Count::clamped(64),
        example 56;
    }
}

impl AccessKeys {
    /// How much of an address tells clients apart.
    pub(super) fn client_width(&self) -> ClientWidth {
        self.resolve().client_width()
    }
}

impl AccessConfig {
    /// How much of an address tells clients apart.
    pub fn client_width(&self) -> ClientWidth {
        ClientWidth { ipv4: self.limit_ipv4_prefix, ipv6: self.limit_ipv6_prefix }
    }
}

/// How many requests may come at once, by a rate and what is said of that.
pub(crate) fn burst(rate: RequestRate, burst: Option<u32>) -> u32 {
    // A float becomes the nearest number that fits.
    burst.unwrap_or((rate.per_second().ceil() as u32).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, parse};

    fn read(text: &str) -> Result<Config, String> {
        let settings = parse(text).map_err(|wrong| wrong.to_string())?;
        Config::from_settings(settings).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn every_key_is_read() {
        let text = "trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\nclient_address_field = \"forwarded\"\n\
                    allow = \"192.168.0.0/16\"\ndeny = [\"192.168.7.0/24\"]\nlimit_requests = \"30/m\"\n\
                    limit_burst = 9\nlimit-connections = 7\nlimit_ipv4_prefix = 24\n\
                    limit_ipv6_prefix = 48\n";
        let config = read(text).unwrap();
        assert!(config.without_effect.is_empty(), "{:?}", config.without_effect);
        let access = config.access;
        let networks = |networks: &[Prefix]| {
            networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(networks(&access.trusted_proxies), "10.0.0.0/8 ::1/128");
        assert_eq!(access.client_address_field, ClientAddressField::Forwarded);
        assert_eq!(networks(&access.allow), "192.168.0.0/16");
        assert_eq!(networks(&access.deny), "192.168.7.0/24");
        assert_eq!(access.limit_requests.map(RequestRate::per_second), Some(0.5));
        assert_eq!((access.limit_burst, access.limit_connections), (Some(9), Some(7)));
        assert_eq!(access.client_width(), ClientWidth { ipv4: 24, ipv6: 48 });
        let defaults = read("").unwrap().access;
        assert_eq!(defaults.client_width(), ClientWidth::default());
        assert_eq!(defaults.limit_requests, None);
    }

    #[test]
    fn a_burst_is_what_comes_in_a_second() {
        let of = |rate: &str, given| burst(rate.parse().unwrap(), given);
        assert_eq!(of("100/s", None), 100);
        assert_eq!(of("5/m", None), 1);
        assert_eq!(of("1.5/s", None), 2);
        assert_eq!(of("5/m", Some(10)), 10);
    }

    #[test]
    fn what_is_wrong_or_in_vain_is_told() {
        for (text, message) in [
            ("\nallow = \"10.0.0.0/33\"", "2: \"10.0.0.0/33\" is not an address or a network"),
            ("limit_requests = \"fast\"", "1: \"fast\" is not a rate of requests; write such as"),
            ("limit_burst = 0", "1: \"0\" is not a whole number from 1"),
            ("limit_ipv4_prefix = 33", "1: \"33\" is not a whole number from 1 to 32"),
            ("client_address_field = \"x-real-ip\"", "1: \"x-real-ip\" is not a field with the"),
            ("basic_auth = \"f\"", "1: `basic_auth` is not a key; it belongs to a [[route]]"),
            ("limit_conections = 1", "1: unknown key `limit_conections`; did you mean"),
        ] {
            let wrong = read(text).unwrap_err();
            assert!(wrong.starts_with(message), "{text}: {wrong}");
        }
        for (text, key, why) in [
            ("limit_burst = 5", "limit_burst", "there is no `limit_requests`"),
            ("client_address_field = \"forwarded\"", "client_address_field", "`trusted_proxies`"),
        ] {
            let told = read(text).unwrap().without_effect;
            assert!(told.len() == 1 && told[0].contains(key) && told[0].contains(why), "{told:?}");
        }
    }
}
