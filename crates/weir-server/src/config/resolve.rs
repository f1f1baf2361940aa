//! Makes the configuration of the server of what was given: fills in the defaults, and refuses what is
//! invalid together. Used by the program once flags and file are read.

use std::collections::HashSet;

use weir_sched::policy::{self, PROTECTIVE, ProtectiveOrder};
use weir_sched::{BitRate, PolicyKind, WireOverhead};

use super::address::ListenAddress;
use super::error::ConfigError;
use super::given::Settings;
use super::in_vain::{self, Has};
use super::routes::{self, Action, RouteConfig};
use super::settings::Config;
use super::uplink::{BandCutoffs, KernelCap, UplinkMode};
use super::values::SwiftRoundTrip;

/// An uplink whose queue is in weir, and how it is shared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UplinkConfig {
    /// The rate of the link as it was given.
    pub rate: BitRate,
    /// The share of it that is used.
    pub pace: f64,
    /// Which response is sent next.
    pub policy: PolicyKind,
    /// Where the round trip to a client comes from.
    pub round_trip: SwiftRoundTrip,
    /// What a packet costs.
    pub framing: WireOverhead,
    /// Bytes that may be sent and not acknowledged, over all connections, instead of a pace.
    pub in_kernel: Option<u64>,
}

/// An uplink whose queue is in the kernel, and how its bands are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelConfig {
    /// The one device that must have weir's bands; `None`: whichever have.
    pub device: Option<String>,
    /// What bands go by.
    pub order: KernelOrder,
    /// How much of large responses may be queued in this host.
    pub cap: KernelCap,
}

/// What the kernel's bands of responses go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelOrder {
    /// What is left, with these cutoffs.
    Size(BandCutoffs),
    /// The priorities of SWIFT, with the round trip from here.
    Swift(SwiftRoundTrip),
}

impl Config {
    /// Fills in the defaults.
    ///
    /// # Errors
    ///
    /// What is invalid together, such as two routes for the same path.
    pub fn from_settings(mut settings: Settings) -> Result<Config, ConfigError> {
        let server = routes::Server {
            has_root: settings.keys.root.is_some(),
            limit: settings.keys.backend_limit,
            order: settings.keys.backend_order,
            client_width: settings.access.client_width(),
        };
        let routes = std::mem::take(&mut settings.routes);
        let proxies = settings.keys.proxies();
        let routes = routes::assemble(proxies, routes, server, &settings.files)?;
        let is_proxied = |route: &RouteConfig| matches!(route.action, Action::Proxy(_));
        let has = Has {
            backends: routes.iter().any(is_proxied),
            files: server.has_root || routes.iter().any(RouteConfig::has_site),
            compression: settings.compression.is_on() || routes.iter().any(RouteConfig::compresses),
        };
        let without_effect = in_vain::without_effect(&settings, has);
        let Settings { keys, acme, access, files, compression, logs, operation, .. } = settings;
        let given_order = keys.protective_order;
        let (acme, access) = (acme.resolve(), access.resolve());
        let (files, compression) = (files.site(None, None), compression.resolve());
        let (logs, operation) = (logs.resolve(), operation.resolve());
        let mut config =
            keys.resolve(routes, acme, access, files, compression, logs, operation, without_effect);
        config.without_effect.extend(in_vain::round_trip(&config, keys.swift_round_trip));
        check_policy(&config, given_order)?;
        check_order(&config)?;
        if config.listen.is_empty() {
            return Err(ConfigError::new("`listen` names no address; give at least one"));
        }
        if config.uplink_device.as_deref().is_some_and(|device| device.trim().is_empty()) {
            let wrong = "`uplink_device` names no device; write such as eth0, or another that `ip link` \
                         lists, or leave it out for every device with weir's bands";
            return Err(ConfigError::new(wrong));
        }
        config.check_keys().map_err(ConfigError::new)?;
        config.check_ready_routes().map_err(ConfigError::new)?;
        config.check_control().map_err(ConfigError::new)?;
        config.acme_settings().map_err(ConfigError::new)?;
        let all = || config.listen.iter().chain(&config.listen_clear).chain(&config.admin);
        let mut addresses = all();
        addresses.try_for_each(|address| address.check()).map_err(ConfigError::new)?;
        if let Some(twice) = listed_twice(all()) {
            return Err(ConfigError::new(format!("the Unix socket {twice} is named twice")));
        }
        Ok(config)
    }

    /// The uplink that weir paces, if it does.
    pub fn uplink_config(&self) -> Option<UplinkConfig> {
        self.uplink.rate().map(|rate| UplinkConfig {
            rate,
            pace: self.uplink_pace,
            policy: self.policy_with_order(),
            round_trip: self.swift_round_trip,
            framing: self.uplink_overhead,
            in_kernel: self.uplink_in_kernel,
        })
    }

    /// The policy with the order inside it.
    pub(super) fn policy_with_order(&self) -> PolicyKind {
        if self.policy == PROTECTIVE { self.protective_order.policy() } else { self.policy }
    }

    /// The uplink whose queue the kernel keeps, if it does.
    pub fn kernel_config(&self) -> Option<KernelConfig> {
        (self.uplink == UplinkMode::Kernel).then(|| KernelConfig {
            device: self.uplink_device.clone(),
            order: match self.policy == policy::SWIFT {
                true => KernelOrder::Swift(self.swift_round_trip),
                false => KernelOrder::Size(self.uplink_bands),
            },
            cap: self.uplink_kernel_cap,
        })
    }

    /// Whether files are served, from the directory of the server or from that of a route.
    pub(crate) fn serves_files(&self) -> bool {
        self.root.is_some() || self.routes.iter().any(RouteConfig::has_site)
    }

    /// What is allowed and yet probably not meant.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.without_effect.clone();
        if !self.routes.is_empty() && !self.routes.iter().any(routes::is_of_everything) {
            warnings.push(
                "requests that no route matches are answered with 404, as there is neither a root \
                 nor a route for \"/\" on every host"
                    .to_owned(),
            );
        }
        warnings.extend(self.ways_around());
        warnings
    }
}

/// The policy is one of the server's, and has the order inside it that was given.
fn check_policy(config: &Config, given: Option<ProtectiveOrder>) -> Result<(), ConfigError> {
    let policy = config.policy;
    let orders = ProtectiveOrder::ALL.iter();
    if let Some(order) = orders.copied().find(|order| order.policy() == policy)
        && policy != PROTECTIVE
    {
        let wrong = format!(
            "`policy`: for {policy} write policy {PROTECTIVE} and, as `protective_order`, {order}"
        );
        return Err(ConfigError::new(wrong));
    }
    if PolicyKind::VARIANTS.contains(&policy) {
        let all = PolicyKind::names();
        let wrong =
            format!("`policy`: {policy} is for the simulator and the lab only; a server has {all}");
        return Err(ConfigError::new(wrong));
    }
    match given {
        Some(order) if policy != PROTECTIVE => Err(ConfigError::new(format!(
            "`protective_order` is {order}, but the policy is {policy}; it is the order inside \
             policy {PROTECTIVE}: leave out one of the two"
        ))),
        _ => Ok(()),
    }
}

/// A Unix socket that stands there more than once; it can be listened on only once.
fn listed_twice<'a>(
    addresses: impl Iterator<Item = &'a ListenAddress>,
) -> Option<&'a ListenAddress> {
    let mut seen = HashSet::new();
    let mut sockets = addresses.filter(|address| !matches!(address, ListenAddress::Tcp(_)));
    sockets.find(|address| !seen.insert(*address))
}

/// The kernel cannot follow every policy: it has a few bands.
fn check_order(config: &Config) -> Result<(), ConfigError> {
    let policy = config.policy;
    if config.uplink == UplinkMode::Kernel && ![policy::BANDS, policy::SWIFT].contains(&policy) {
        return Err(ConfigError::new(format!(
            "the kernel's queue cannot follow the policy {policy}; with `uplink = \"kernel\"` say \
             `policy = \"bands\"` or `policy = \"swift\"`, or give `uplink` a rate"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_for_the_simulator_is_no_policy_of_a_server() {
        let read = |policy: &str| {
            let text = format!("uplink = \"10mbit\"\npolicy = \"{policy}\"");
            Config::from_settings(crate::config::parse(&text).unwrap())
        };
        assert!(read("swift").is_ok());
        let wrong = read("swift/zero").unwrap_err().to_string();
        assert!(wrong.contains("swift/zero is for the simulator and the lab only"), "{wrong}");
    }

    #[test]
    fn the_order_inside_protective_is_chosen_by_a_key_of_its_own() {
        let read = |text: &str| {
            let text = format!("uplink = \"10mbit\"\n{text}");
            Config::from_settings(crate::config::parse(&text).unwrap())
        };
        for order in ProtectiveOrder::ALL {
            let config = read(&format!("protective_order = \"{order}\"")).unwrap();
            assert_eq!(config.uplink_config().unwrap().policy, order.policy());
        }
        assert_eq!(read("").unwrap().uplink_config().unwrap().policy, PROTECTIVE);
        let wrong = read("policy = \"fair\"\nprotective_order = \"srrt\"").unwrap_err();
        assert!(wrong.to_string().contains("is srrt, but the policy is fair"), "{wrong}");
        let wrong = read("policy = \"protective/srrt\"").unwrap_err().to_string();
        assert!(
            wrong.contains("write policy protective and, as `protective_order`, srrt"),
            "{wrong}"
        );
    }

    #[test]
    fn in_the_kernel_there_are_bands_alone() {
        let read = |text: &str| Config::from_settings(crate::config::parse(text).unwrap());
        let kernel = read("uplink = \"kernel\"\nuplink_device = \"eth0\"").unwrap();
        assert_eq!((kernel.policy, kernel.uplink_config()), (policy::BANDS, None));
        assert_eq!(
            kernel.kernel_config().and_then(|config| config.device),
            Some("eth0".to_owned())
        );
        assert!(kernel.without_effect.is_empty(), "{:?}", kernel.without_effect);
        assert_eq!(read("uplink = \"1mbit\"").unwrap().kernel_config(), None);
        let wrong = read("uplink = \"kernel\"\npolicy = \"srpt\"").unwrap_err().to_string();
        assert!(wrong.contains("cannot follow the policy srpt"), "{wrong}");
        assert!(wrong.contains("\"bands\"") && wrong.contains("\"swift\""), "{wrong}");
        let swift = "uplink = \"kernel\"\npolicy = \"swift\"\n";
        let order = |text: &str| read(text).unwrap().kernel_config().unwrap().order;
        assert_eq!(order(swift), KernelOrder::Swift(SwiftRoundTrip::Measured));
        let asked = format!("{swift}swift_round_trip = \"request\"");
        assert_eq!(order(&asked), KernelOrder::Swift(SwiftRoundTrip::Request));
        for (text, why) in [
            ("uplink = \"kernel\"\nuplink_pace = 0.9", "the kernel keeps the queue"),
            (&format!("{swift}uplink_bands = \"paper\""), "swift has cutoffs of its own"),
            ("uplink = \"1mbit\"\nuplink_bands = \"paper\"", "`uplink` is not `kernel`"),
            ("uplink_in_kernel = \"1kb\"", "there is no `uplink`"),
        ] {
            let told = read(text).unwrap().without_effect;
            assert!(told.len() == 1 && told[0].contains(why), "{told:?}");
        }
    }

    #[test]
    fn a_device_has_a_name() {
        let read = |device: &str| {
            let text = format!("uplink = \"kernel\"\nuplink_device = \"{device}\"");
            crate::config::parse(&text).and_then(Config::from_settings)
        };
        assert_eq!(read("eth0.7").unwrap().uplink_device.as_deref(), Some("eth0.7"));
        for empty in ["", " "] {
            let wrong = read(empty).unwrap_err().to_string();
            assert!(wrong.starts_with("`uplink_device` names no device; write such as"), "{wrong}");
        }
    }

    #[test]
    fn a_unix_socket_is_listened_on_once() {
        let read = |text: &str| Config::from_settings(crate::config::parse(text).unwrap());
        assert!(read("listen = [\"unix:/a\", \"unix:/b\", \"[::1]:0\", \"[::1]:0\"]").is_ok());
        for text in
            ["listen = [\"unix:/a\", \"unix:///a\"]", "listen = \"unix:@a\"\nadmin = \"unix:@a\""]
        {
            let wrong = read(text).unwrap_err().to_string();
            assert!(wrong.contains("is named twice"), "{wrong}");
        }
        let long = format!("listen = \"unix:/{}\"", "a".repeat(107));
        assert!(read(&long).unwrap_err().to_string().contains("longer than 107 bytes"));
    }
}
