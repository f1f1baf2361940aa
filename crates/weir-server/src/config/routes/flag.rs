//! `--proxy PATH=URL[,URL]`: a route with nothing but backends. It reads no file.

use std::str::FromStr;

use super::path::RoutePath;
use super::{Action, BackendAddress, ProxyConfig, RouteConfig};

/// The default of [`RouteConfig::priority`].
pub(super) const PRIORITY: u8 = 100;

/// A route of every host to backends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyFlag {
    /// As in [`RouteConfig::path`].
    pub path: String,
    /// At least one.
    pub backends: Vec<BackendAddress>,
}

impl ProxyFlag {
    /// The route with the defaults.
    pub(super) fn route(&self) -> RouteConfig {
        RouteConfig {
            host: None,
            path: self.path.clone(),
            priority: PRIORITY,
            action: Action::Proxy(Box::new(ProxyConfig::to(self.backends.clone()))),
        }
    }
}

impl FromStr for ProxyFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((path, backends)) = text.split_once('=') else {
            return Err(format!(
                "\"{text}\" is not a path and its backends; write it such as \
                 /=http://127.0.0.1:9000"
            ));
        };
        let RoutePath(path) = path.trim().parse()?;
        let backends = backends.split(',').map(str::parse).collect::<Result<Vec<_>, _>>()?;
        check_backends(&backends)?;
        Ok(ProxyFlag { path, backends })
    }
}

/// Refuses a list of backends that is empty, or names one twice.
pub(super) fn check_backends(backends: &[BackendAddress]) -> Result<(), String> {
    if backends.is_empty() {
        return Err("a route to backends needs one at least, such as http://127.0.0.1:9000".into());
    }
    for (place, backend) in backends.iter().enumerate() {
        if backends.iter().take(place).any(|other| other == backend) {
            return Err(format!("the backend {backend} is named twice"));
        }
    }
    Ok(())
}
