//! `weir serve --check`: whether the server could start, beyond the text of the configuration. It looks
//! at the directories, the access log, the certificates, the files of passwords, the addresses to listen
//! on, the names of backends, the files for TLS to them and the kernel's bands, and changes nothing.

use std::collections::HashSet;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use super::certificates;
use crate::access::Guards;
use crate::body::open_space;
use crate::config::{Action, BackendAddress, Config, ListenAddress, RouteConfig};
use crate::content::{missing_pages, open_root, served};
use crate::error::ServeError;
use crate::listen;
use crate::listen::cannot_listen;
use crate::logs::access_log;
use crate::service::proxy;
use crate::uplink::{self, Sight};

/// Looks at what the server would need to start, and returns what might go wrong all the same.
///
/// An address that is in use is no error: perhaps by the server that is about to be started anew. Nor
/// is a backend that cannot be found: the server would start, and look again with each request.
///
/// # Errors
///
/// What the server could not start with.
pub fn check(config: &Config) -> Result<Vec<String>, ServeError> {
    for root in served(config).filter_map(|(root, _)| root) {
        open_root(root)?;
    }
    open_space(config)?;
    access_log::check(&config.logs.access_log)?;
    certificates::check(config)?;
    Guards::open(&config.routes, None)?;
    proxy::check_tls(&config.routes)?;
    let mut warnings = missing_pages(config);
    let mut seen = HashSet::new();
    let addresses = config.ports().map(|(address, _)| address);
    for address in addresses.chain(&config.admin) {
        if !seen.insert(address) && !address.is_any_port() {
            warnings.push(format!("{address} is listed twice"));
        }
        warnings.extend(look_at(address, config.reuse_port)?);
    }
    let mut seen = HashSet::new();
    for backend in config.routes.iter().flat_map(backends).filter(|at| seen.insert(*at)) {
        if let Err(error) = find(backend) {
            warnings.push(format!("backend {backend} cannot be found at present: {error}"));
        }
    }
    if let Some(kernel) = config.kernel_config() {
        match uplink::look(kernel.device.as_deref()) {
            Sight::Bands(_) => {}
            missing => warnings.push(missing.to_string()),
        }
    }
    Ok(warnings)
}

fn look_at(address: &ListenAddress, shared: bool) -> Result<Option<String>, ServeError> {
    match address {
        _ if address.is_any_port() => Ok(None),
        ListenAddress::Tcp(address) => look_at_port(*address, shared),
        // An abstract name is free or not, and that passes.
        ListenAddress::Abstract(_) => Ok(None),
        ListenAddress::Unix(path) => match listen::check_unix(path) {
            Ok(false) => Ok(None),
            Ok(true) => Ok(Some(format!(
                "{address} is a socket already, perhaps of the server that is to be restarted; it is \
                 replaced if nobody answers there"
            ))),
            Err(error) => Err(cannot_listen(address, &error)),
        },
    }
}

fn look_at_port(address: SocketAddr, shared: bool) -> Result<Option<String>, ServeError> {
    match listen::bind(address, shared) {
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            Ok(Some(format!("{address} is in use, perhaps by the server that is to be restarted")))
        }
        Err(error) => Err(cannot_listen(address, &error)),
    }
}

fn backends(route: &RouteConfig) -> &[BackendAddress] {
    match &route.action {
        Action::Proxy(proxy) => &proxy.backends,
        Action::Files | Action::Directory(_) | Action::Redirect { .. } => &[],
    }
}

/// Looks whether there is such a name; nothing is connected to.
fn find(backend: &BackendAddress) -> io::Result<()> {
    match backend {
        BackendAddress::Tcp { host, port, .. } => {
            (host.as_str(), *port).to_socket_addrs().map(drop)
        }
        BackendAddress::Unix(path) => std::fs::metadata(path).map(drop),
    }
}
