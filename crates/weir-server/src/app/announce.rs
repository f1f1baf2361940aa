//! The first messages of a server: what it serves, and where. Used when it has started, and for addresses
//! that a new configuration brings.

use crate::config::{Action, Config, ListenAddress, PortKind, RouteConfig};
use crate::listen::Served;

/// Says what is served on which addresses.
pub(super) fn announce(config: &Config, addresses: &[Served], admin: Option<&ListenAddress>) {
    let what = described(config);
    let how = match config.uplink_config() {
        Some(link) => format!(", uplink {} with policy {}", link.rate, link.policy),
        None if config.kernel_config().is_some() => {
            format!(", uplink in the kernel with policy {}", config.policy)
        }
        None => String::new(),
    };
    for Served { address, port: kind, .. } in addresses {
        let (scheme, with) = match kind {
            PortKind::Tls => ("https", " with TLS"),
            PortKind::Clear | PortKind::Redirecting => ("http", ""),
        };
        match (address, kind) {
            (ListenAddress::Tcp(address), PortKind::Redirecting) => {
                tracing::info!("redirecting to TLS on {scheme}://{address}");
            }
            (unix, PortKind::Redirecting) => tracing::info!("redirecting to TLS on {unix}"),
            (ListenAddress::Tcp(address), _) => {
                tracing::info!("serving {what} on {scheme}://{address}{how}");
            }
            (unix, _) => tracing::info!("serving {what} on {unix}{with}{how}"),
        }
    }
    match admin {
        Some(ListenAddress::Tcp(address)) => {
            tracing::info!("admin page on http://{address}/, metrics on http://{address}/metrics");
        }
        Some(unix) => tracing::info!("admin page and /metrics on {unix}"),
        None => {}
    }
}

/// What is served, in words.
fn described(config: &Config) -> String {
    let of_root = |route: &&RouteConfig| matches!(route.action, Action::Files);
    let others = config.routes.len() - config.routes.iter().filter(of_root).count();
    let routes = match others {
        0 => None,
        1 => Some("1 route".to_owned()),
        number => Some(format!("{number} routes")),
    };
    match (&config.root, routes) {
        (Some(root), Some(routes)) => format!("{} and {routes}", root.display()),
        (Some(root), None) => root.display().to_string(),
        (None, Some(routes)) => routes,
        (None, None) => "the built-in site".to_owned(),
    }
}
