//! The keys of a route about TLS, together: which of them are invalid, and whether routes to one backend
//! agree. Used where routes are built and put into one list; the proxy makes its TLS of them.

use std::collections::HashMap;
use std::path::Path;

use super::address::BackendAddress;
use super::config::{Action, RouteConfig};
use super::table::ProxyConfig;
use crate::config::error::ConfigError;

/// What a route says about TLS to its backends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackendTls<'a> {
    /// The file with the authorities; `None`: those of the system.
    pub ca: Option<&'a Path>,
    /// What certificates must be for; `None`: the host of the backend's address.
    pub name: Option<&'a str>,
    /// The files with weir's own certificate and its key, which may be one.
    pub identity: Option<(&'a Path, &'a Path)>,
}

impl ProxyConfig {
    /// How to speak TLS to backends that do.
    pub fn tls(&self) -> BackendTls<'_> {
        let key = |certificate| self.backend_key.as_deref().unwrap_or(certificate);
        BackendTls {
            ca: self.backend_ca.as_deref(),
            name: self.backend_name.as_deref(),
            identity: self.backend_certificate.as_deref().map(|file| (file, key(file))),
        }
    }
}

/// The first key that makes no sense, and why.
pub(super) fn check(proxy: &ProxyConfig) -> Result<(), (&'static str, String)> {
    let given = [
        ("backend_ca", proxy.backend_ca.is_some()),
        ("backend_name", proxy.backend_name.is_some()),
        ("backend_certificate", proxy.backend_certificate.is_some()),
        ("backend_key", proxy.backend_key.is_some()),
    ];
    if let Some((key, _)) = given.into_iter().find(|(_, given)| *given)
        && !proxy.backends.iter().any(BackendAddress::is_tls)
    {
        let why = format!("`{key}` has no effect: no backend of the route begins with https://");
        return Err((key, why));
    }
    if proxy.backend_key.is_some() && proxy.backend_certificate.is_none() {
        let why = "`backend_key` is the key of a certificate; name that as `backend_certificate`";
        return Err(("backend_key", why.to_owned()));
    }
    Ok(())
}

/// Refuses routes that would speak TLS to one backend in different ways: they share its health and its
/// checks.
pub(super) fn check_agreement(routes: &[RouteConfig]) -> Result<(), ConfigError> {
    let mut seen = HashMap::new();
    for route in routes {
        let Action::Proxy(proxy) = &route.action else { continue };
        for backend in proxy.backends.iter().filter(|backend| backend.is_tls()) {
            if *seen.entry(backend).or_insert(proxy.tls()) != proxy.tls() {
                return Err(ConfigError::new(format!(
                    "routes to the backend {backend} differ in `backend_ca`, `backend_name`, \
                     `backend_certificate` or `backend_key`; write the same in all of them"
                )));
            }
        }
    }
    Ok(())
}
