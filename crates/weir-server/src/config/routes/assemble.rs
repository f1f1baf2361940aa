//! Puts the routes of flags and of the file into one list. Used where the configuration is resolved and
//! where the file is read.

use weir_sched::{BackendOrder, CallLimit};

use super::access::RouteAccess;
use super::backend_tls::check_agreement;
use super::build::FileRoute;
use super::config::{Action, PRIORITY, RouteConfig};
use super::flag::ProxyFlag;
use super::table::ProxyConfig;
use crate::config::client_width::ClientWidth;
use crate::config::error::ConfigError;
use crate::config::keys::at_line;
use crate::config::site::FileKeys;

/// What the keys of the server say about routes.
#[derive(Clone, Copy, Debug)]
pub(in crate::config) struct Server {
    /// There is a directory to serve.
    pub(in crate::config) has_root: bool,
    /// `backend_limit`, for routes that name none.
    pub(in crate::config) limit: Option<CallLimit>,
    /// `backend_order`, for routes that name none.
    pub(in crate::config) order: Option<BackendOrder>,
    /// How much of an address tells clients apart for the limits of routes.
    pub(in crate::config) client_width: ClientWidth,
}

/// All routes: those of `proxy`, then those of tables; if there are any and there is a root, the
/// root for what is left. [`Settings::over`](crate::config::Settings::over) has seen to it that flags
/// win. `files`: what the keys of the server say about files, for routes that do not.
pub(in crate::config) fn assemble(
    proxies: &[ProxyFlag],
    tables: Vec<FileRoute>,
    server: Server,
    files: &FileKeys,
) -> Result<Vec<RouteConfig>, ConfigError> {
    if let Some(path) = named_twice(proxies) {
        return Err(ConfigError::new(several_backends(path)));
    }
    let of_root = tables.iter().find(|route| route.needs_root());
    if let Some(FileRoute { line, .. }) = of_root.filter(|_| !server.has_root) {
        return Err(ConfigError::new(format!(
            "the [[route]] in line {line} is one of files, but there is no `root`; say which \
             directory to serve"
        )));
    }
    let Server { has_root, limit, order, client_width } = server;
    let of_flags = proxies.iter().map(|flag| Ok(with_gate(route(flag), limit, order)));
    let of_tables = tables.into_iter().map(|route| {
        let (limit, order) = (route.limit.or(limit), route.order.or(order));
        Ok(with_gate(route.with_files(files)?, limit, order))
    });
    let mut routes: Vec<RouteConfig> = of_flags.chain(of_tables).collect::<Result<_, _>>()?;
    routes.iter_mut().for_each(|route| route.access.client_width = client_width);
    for route in &routes {
        if let Action::Proxy(proxy) = &route.action {
            let mut backends = proxy.backends.iter();
            backends.try_for_each(|backend| backend.check()).map_err(ConfigError::new)?;
        }
    }
    check_agreement(&routes)?;
    if has_root && !routes.is_empty() && !routes.iter().any(is_of_everything) {
        let (path, access) = ("/".to_owned(), RouteAccess::default());
        let action = Action::Files;
        routes.push(RouteConfig { host: None, path, priority: PRIORITY, access, action });
    }
    Ok(routes)
}

/// The route of a flag, with the defaults.
fn route(flag: &ProxyFlag) -> RouteConfig {
    RouteConfig {
        host: None,
        path: flag.path.clone(),
        priority: PRIORITY,
        access: RouteAccess::default(),
        action: Action::Proxy(Box::new(ProxyConfig::to(flag.backends.clone()))),
    }
}

/// Refuses two routes for the same requests in one file; `proxy_line` is where its `proxy` is.
pub(in crate::config) fn check_once(
    proxies: &[ProxyFlag],
    tables: &[FileRoute],
    proxy_line: Option<usize>,
) -> Result<(), ConfigError> {
    if let Some(path) = named_twice(proxies) {
        return Err(at_line(proxy_line.unwrap_or(1), several_backends(path)));
    }
    for (place, route) in tables.iter().enumerate() {
        let (host, path) = (route.config.host.as_deref(), route.config.path.as_str());
        let mut before = tables.iter().take(place);
        let of_tables = before.find(|other| other.is_for(host, path)).map(|other| other.line);
        let of_proxy = host.is_none() && proxies.iter().any(|proxy| proxy.path == path);
        if let Some(first) = of_tables.or(proxy_line.filter(|_| of_proxy)) {
            let host = host.unwrap_or("every host");
            let what = format!(
                "the second route for \"{path}\" on {host}, after that in line {first}; remove one"
            );
            return Err(at_line(route.line, what));
        }
    }
    Ok(())
}

/// Whether a route takes every request that no other takes.
pub(in crate::config) fn is_of_everything(route: &RouteConfig) -> bool {
    route.host.is_none() && route.path == "/"
}

fn with_gate(
    mut route: RouteConfig,
    limit: Option<CallLimit>,
    order: Option<BackendOrder>,
) -> RouteConfig {
    if let Action::Proxy(proxy) = &mut route.action {
        proxy.backend_limit = limit.unwrap_or_default();
        proxy.backend_order = order.unwrap_or_default();
    }
    route
}

fn named_twice(proxies: &[ProxyFlag]) -> Option<&str> {
    let paths = proxies.iter().map(|proxy| proxy.path.as_str());
    paths
        .clone()
        .enumerate()
        .find(|(n, path)| paths.clone().take(*n).any(|p| p == *path))
        .map(|(_, path)| path)
}

fn several_backends(path: &str) -> String {
    format!("`proxy` names \"{path}\" twice; write its backends after it, with commas between them")
}
