//! Makes the configuration of the server of what was given: fills in the defaults, and says what has
//! no effect. Used by the program once flags and file are read.

use std::collections::HashSet;

use weir_sched::policy::{self, PROTECTIVE, ProtectiveOrder};
use weir_sched::{BitRate, PolicyKind, WireOverhead};

use super::acme::AcmeKeys;
use super::address::ListenAddress;
use super::error::ConfigError;
use super::given::Settings;
use super::key::Table as _;
use super::routes::{self, Action};
use super::settings::{Config, ServerKeys};
use super::site::FileKeys;
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
    pub fn from_settings(settings: Settings) -> Result<Config, ConfigError> {
        let Settings { keys, acme, files, routes } = settings;
        let server = routes::Server {
            has_root: keys.root.is_some(),
            limit: keys.backend_limit,
            order: keys.backend_order,
        };
        let routes = routes::assemble(keys.proxies(), routes, server, &files)?;
        let mut actions = routes.iter().map(|route| &route.action);
        let has = Has {
            backends: actions.clone().any(|action| matches!(action, Action::Proxy(_))),
            files: server.has_root || actions.any(|action| matches!(action, Action::Directory(_))),
        };
        let without_effect = without_effect(&keys, &acme, &files, has);
        let given_order = keys.protective_order;
        let site = files.site(None, None);
        let mut config = keys.resolve(routes, acme.resolve(), site, without_effect);
        config.without_effect.extend(round_trip_in_vain(&config, keys.swift_round_trip));
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

    fn policy_with_order(&self) -> PolicyKind {
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

/// What keys need that no key of the server stands for alone: some route to backends, a directory to serve,
/// an uplink that weir paces, an uplink in the kernel, certificates that weir obtains.
const BACKENDS: &str = "backends";
const FILES: &str = "a directory to serve";
const PACED: &str = "a rate as uplink";
const IN_KERNEL: &str = "kernel as uplink";
const AUTO: &str = "auto among `tls`";

/// What there is to serve.
#[derive(Clone, Copy, Debug, Default)]
struct Has {
    /// Some route has backends.
    backends: bool,
    /// There is a directory, of the server or of a route.
    files: bool,
}

/// The keys that were given and change nothing, with what they would need.
fn without_effect(keys: &ServerKeys, acme: &AcmeKeys, files: &FileKeys, has: Has) -> Vec<String> {
    let given = [keys.given(), acme.given(), files.given()].concat();
    let is_auto = keys.tls.iter().flatten().any(|source| source.file().is_none());
    let missing = |needs: &str| match needs {
        BACKENDS if has.backends => None,
        BACKENDS => Some("no route has backends".to_owned()),
        FILES if has.files => None,
        FILES => Some("no directory is served".to_owned()),
        PACED if keys.is_in_kernel() => {
            Some("with `uplink = \"kernel\"` the kernel keeps the queue".to_owned())
        }
        IN_KERNEL if keys.is_in_kernel() => None,
        IN_KERNEL => Some("`uplink` is not `kernel`".to_owned()),
        AUTO if is_auto => None,
        AUTO => Some("`tls` does not say auto".to_owned()),
        PACED if given.contains(&"uplink") => None,
        key if given.contains(&key) => None,
        // Who turned the uplink off knows.
        "uplink" | PACED => Some(
            "there is no `uplink`, so everything is sent as fast as the kernel takes it".to_owned(),
        ),
        key => Some(format!("there is no `{key}`")),
    };
    let all = [ServerKeys::keys(), AcmeKeys::keys(), FileKeys::keys()].concat();
    let in_vain = all.iter().filter(|key| given.contains(&key.name)).filter_map(|key| {
        let why = missing(key.needs?)?;
        Some(format!("`{}` has no effect: {why}", key.name))
    });
    let mut in_vain: Vec<String> = in_vain.collect();
    if keys.is_in_kernel() && keys.policy == Some(policy::SWIFT) && keys.uplink_bands.is_some() {
        in_vain
            .push("`uplink_bands` has no effect: policy swift has cutoffs of its own".to_owned());
    }
    in_vain
}

/// Where the round trip comes from was given, and the policy does not look at it: neither its rule
/// does, nor where fair sharing stands, which opens windows once a round trip.
fn round_trip_in_vain(config: &Config, given: Option<SwiftRoundTrip>) -> Option<String> {
    let policy = config.policy_with_order();
    let needs = policy.needs();
    let looks = needs.fair_server || needs.path_updates || policy == policy::SWIFT;
    let in_vain = given.is_some() && config.uplink != UplinkMode::Off && !looks;
    in_vain.then(|| {
        format!(
            "`swift_round_trip` has no effect: the policy {policy} does not look at the round trip"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_key_needs_is_a_key_or_a_route_to_backends() {
        let names = [ServerKeys::NAMES, &FileKeys::names()[..]].concat();
        for key in [ServerKeys::keys(), AcmeKeys::keys(), FileKeys::keys()].concat() {
            let others = [BACKENDS, FILES, PACED, IN_KERNEL, AUTO];
            let known = |needs| others.contains(&needs) || names.contains(&needs);
            assert!(key.needs.is_none_or(known), "{}: {:?}", key.name, key.needs);
        }
    }

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
    fn where_the_round_trip_comes_from_is_for_policies_that_look_at_it() {
        let told = |text: &str| {
            let text = format!("{text}\nswift_round_trip = \"request\"");
            Config::from_settings(crate::config::parse(&text).unwrap()).unwrap().without_effect
        };
        for policy in ["swift", "srrt", "burst", "protective", "fsp"] {
            let text = format!("uplink = \"1mbit\"\npolicy = \"{policy}\"");
            assert_eq!(told(&text), [""; 0], "{policy}");
        }
        for (text, why) in [
            ("uplink = \"1mbit\"\npolicy = \"srpt\"", "the policy srpt does not look at"),
            ("uplink = \"kernel\"", "the policy bands does not look at the round trip"),
            ("", "there is no `uplink`"),
        ] {
            let told = told(text);
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

    #[test]
    fn a_key_without_what_it_needs_is_told() {
        let keys = ServerKeys { policy: Some(PolicyKind::default()), ..ServerKeys::default() };
        let told = |keys: &ServerKeys| {
            without_effect(keys, &AcmeKeys::default(), &FileKeys::default(), Has::default())
        };
        let of_policy = told(&keys);
        assert!(
            of_policy.len() == 1 && of_policy[0].starts_with("`policy` has no effect: "),
            "{of_policy:?}"
        );
        assert!(told(&ServerKeys::default()).is_empty());
    }
}
