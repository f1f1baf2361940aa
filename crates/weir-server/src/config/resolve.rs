//! Makes the configuration of the server of what was given: fills in the defaults, and says what has
//! no effect. Used by the program once flags and file are read.

use weir_sched::{BitRate, PolicyKind, WireOverhead};

use super::error::ConfigError;
use super::routes::{self, Action};
use super::settings::{Config, ServerKeys, Settings};

/// The uplink and how it is shared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UplinkConfig {
    /// The rate of the link as it was given.
    pub rate: BitRate,
    /// The share of it that is used.
    pub pace: f64,
    /// Which response is sent next.
    pub policy: PolicyKind,
    /// What a packet costs.
    pub framing: WireOverhead,
    /// Bytes that may be sent and not acknowledged, over all connections, instead of a pace.
    pub in_kernel: Option<u64>,
}

impl Config {
    /// Fills in the defaults.
    ///
    /// # Errors
    ///
    /// What is invalid together, such as two routes for the same path.
    pub fn from_settings(settings: Settings) -> Result<Config, ConfigError> {
        let Settings { keys, routes } = settings;
        let server = routes::Server {
            has_root: keys.root.is_some(),
            limit: keys.backend_limit,
            order: keys.backend_order,
        };
        let routes = routes::assemble(keys.proxies(), routes, server)?;
        let has_backends = routes.iter().any(|route| matches!(route.action, Action::Proxy(_)));
        let without_effect = without_effect(&keys, has_backends);
        let config = keys.resolve(routes, without_effect);
        if config.listen.is_empty() {
            return Err(ConfigError::new("`listen` names no address; give at least one"));
        }
        Ok(config)
    }

    /// The uplink; `None`: nothing is paced.
    pub fn uplink_config(&self) -> Option<UplinkConfig> {
        self.uplink.map(|rate| UplinkConfig {
            rate,
            pace: self.uplink_pace,
            policy: self.policy,
            framing: self.uplink_overhead,
            in_kernel: self.uplink_in_kernel,
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

/// The keys that were given and change nothing, with what they would need.
fn without_effect(keys: &ServerKeys, has_backends: bool) -> Vec<String> {
    let given = keys.given();
    let missing = |needs: &str| match needs {
        // Who turned the uplink off knows.
        "uplink" if !given.contains(&"uplink") => {
            Some("there is no `uplink`, so everything is sent as fast as the kernel takes it")
        }
        "backends" if !has_backends => Some("no route has backends"),
        _ => None,
    };
    let all = ServerKeys::keys();
    let in_vain = all.iter().filter(|key| given.contains(&key.name)).filter_map(|key| {
        let why = missing(key.needs?)?;
        Some(format!("`{}` has no effect: {why}", key.name))
    });
    in_vain.collect()
}
