//! The reverse proxy: which route a request takes, admission by the backend's gate, the call, and the
//! response for the client. Used by the client's connection, by the workers, which sweep idle
//! connections, and by the admin address, which shows the backends.

mod attempt;
mod backend;
mod backends;
mod call;
mod client_watch;
mod compression;
mod connection;
mod error;
mod health_checks;
mod interim;
mod normal_path;
mod pool;
mod proxy_request;
mod relay;
mod request_body;
mod request_head;
mod respond;
mod response;
mod response_wait;
mod rewrite;
mod route;
mod routing_table;
mod stream;
mod timeouts;
mod tls;
mod tls_stream;
mod tunnel;

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;
use weir_http::message::Request;

use super::destination::{Destination, Guarded};
use crate::access::Guards;
use crate::body::{Space, open_space};
use crate::compress::Compressor;
use crate::config::{Action, Config, RouteConfig};
use crate::error::ServeError;
use crate::metrics::Reading;
use backend::Backend;
use route::{BackendRegistry, SharedRoute};
use routing_table::Routes;
use tls::TlsBuilder;

pub(crate) use proxy_request::{ProxyOutcome, ProxyRequest, UnreadBody};
pub(crate) use request_body::{BodyError, IncomingBody, IncompleteBody, Pipe};
pub(crate) use respond::respond;
pub(crate) use route::Route;
pub(crate) use tls::check as check_tls;
pub(crate) use tunnel::Upstream;

/// The routes of the configuration, as all workers share them.
#[derive(Debug)]
pub(crate) struct Shared {
    table: Routes,
    routes: Vec<(String, SharedAction)>,
    /// What stands before routes.
    pub(crate) guards: Guards,
    pub(crate) space: Arc<Space>,
}

#[derive(Debug)]
enum SharedAction {
    /// Those of the site with this number: 0 is that of the server.
    Files(usize),
    Redirect { to: String, status: StatusCode },
    Proxy(Arc<SharedRoute>),
}

impl Shared {
    /// The routes of `config`; `None` if it has none. `compressor`: if there is one.
    ///
    /// # Errors
    ///
    /// If the directory for temporary files or a file of passwords cannot be used, or TLS to a backend
    /// cannot be set up.
    pub(crate) fn open(
        config: &Config,
        compressor: Option<&Arc<Compressor>>,
    ) -> Result<Option<Arc<Shared>>, ServeError> {
        match config.routes.as_slice() {
            [] => Ok(None),
            routes => Shared::compressing(routes, open_space(config)?, compressor).map(Some),
        }
    }

    /// The same where nothing is compressed.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn new(
        routes: &[RouteConfig],
        space: Arc<Space>,
    ) -> Result<Arc<Shared>, ServeError> {
        Shared::compressing(routes, space, None)
    }

    /// `space` limits the bodies that are buffered on their way between clients and backends.
    ///
    /// # Errors
    ///
    /// If a file of passwords cannot be used, or TLS to a backend cannot be set up.
    fn compressing(
        routes: &[RouteConfig],
        space: Arc<Space>,
        compressor: Option<&Arc<Compressor>>,
    ) -> Result<Arc<Shared>, ServeError> {
        let guards = Guards::open(routes)?;
        let mut registry = BackendRegistry::default();
        let table = Routes::new(routes);
        let mut sites = 0;
        let action = |(number, route): (usize, &RouteConfig)| {
            let action = match &route.action {
                Action::Files => SharedAction::Files(0),
                Action::Directory(_) => {
                    sites += 1;
                    SharedAction::Files(sites)
                }
                Action::Redirect { to, status } => {
                    SharedAction::Redirect { to: to.clone(), status: *status }
                }
                Action::Proxy(config) => {
                    let (number, priority) = (number as u32, route.priority);
                    let registry = &mut registry;
                    let shared =
                        SharedRoute::new(number, priority, &route.path, config, &space, registry)?;
                    SharedAction::Proxy(Arc::new(shared.compressing_by(compressor)))
                }
            };
            Ok((route.path.clone(), action))
        };
        let routes: Result<Vec<_>, ServeError> = routes.iter().enumerate().map(action).collect();
        Ok(Arc::new(Shared { table, routes: routes?, guards, space }))
    }

    /// The address and the metrics of each backend.
    pub(crate) fn backends(&self) -> impl Iterator<Item = (String, Reading)> + '_ {
        self.unique().map(|backend| (backend.address.to_string(), backend.reading()))
    }

    /// Reads the files for TLS to backends anew, for new connections. If one cannot be used, all stays
    /// as it was. False if no backend speaks TLS.
    pub(crate) fn reload_tls(&self) -> bool {
        let mut builder = TlsBuilder::default();
        let routes = self.routes.iter().filter_map(|(_, action)| match action {
            SharedAction::Proxy(route) => Some(route),
            SharedAction::Files(_) | SharedAction::Redirect { .. } => None,
        });
        let backends = routes
            .flat_map(|route| route.backends.all.iter().map(|backend| (backend, &route.config)));
        let read: Result<Vec<_>, ServeError> = backends
            .map(|(backend, config)| Ok((backend, builder.build(&backend.address, config)?)))
            .collect();
        match read {
            Err(why) => tracing::error!("TLS to backends stays as it was: {why}"),
            Ok(read) => {
                let read = read.into_iter().filter_map(|(backend, tls)| Some((backend, tls?)));
                let count = read.map(|(backend, tls)| backend.set_tls(tls)).count();
                if count == 0 {
                    return false;
                }
                tracing::info!("the files for TLS to backends were read anew, for new connections");
            }
        }
        true
    }

    /// Each backend once, however many routes name it.
    fn unique(&self) -> impl Iterator<Item = &Arc<Backend>> + '_ {
        let routes = self.routes.iter().filter_map(|(_, action)| match action {
            SharedAction::Proxy(route) => Some(route),
            SharedAction::Files(_) | SharedAction::Redirect { .. } => None,
        });
        let mut seen = HashSet::new();
        let backends = routes.flat_map(|route| route.backends.all.iter());
        backends.filter(move |backend| seen.insert(Arc::as_ptr(backend)))
    }
}

/// The routes of one worker, with its own connections to backends.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    /// By the number of the route; `None` for those without backends.
    routes: Vec<Option<Rc<Route>>>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Proxy {
    pub(crate) fn new(shared: Arc<Shared>) -> Proxy {
        let routes = shared.routes.iter().map(|(_, action)| match action {
            SharedAction::Proxy(route) => Some(Rc::new(Route::new(route.clone()))),
            SharedAction::Files(_) | SharedAction::Redirect { .. } => None,
        });
        Proxy { routes: routes.collect(), shared }
    }

    /// What answers `request`, by its host and path.
    pub(crate) fn destination(&self, request: &Request<'_>) -> Destination {
        let found = match self.shared.table.find(request.host, request.path) {
            Ok(found) => found,
            Err(_) => return Destination::Nowhere(StatusCode::BAD_REQUEST),
        };
        let Some(number) = found else { return Destination::Nowhere(StatusCode::NOT_FOUND) };
        let to = match (&self.shared.routes[number], &self.routes[number]) {
            (_, Some(route)) => Destination::Backends(route.clone()),
            ((prefix, SharedAction::Redirect { to, status }), None) => {
                match rewrite::redirect_location(to, prefix, request.path, request.query) {
                    Ok(location) => Destination::Redirect { location, status: *status },
                    Err(_) => Destination::Nowhere(StatusCode::BAD_REQUEST),
                }
            }
            ((_, SharedAction::Files(site)), None) => Destination::Files(*site),
            // Its route is there.
            ((_, SharedAction::Proxy(_)), None) => Destination::Nowhere(StatusCode::NOT_FOUND),
        };
        match self.shared.guards.of(number) {
            Some(guard) => Destination::Guarded(Box::new(Guarded { guard: guard.clone(), to })),
            None => to,
        }
    }

    /// Closes idle connections to backends, because descriptors are short.
    pub(crate) fn close_idle(&self) {
        self.routes.iter().flatten().for_each(|route| route.close_idle());
    }

    /// Checks the health of all backends from now on.
    pub(crate) fn check_health(&self) {
        for backend in self.shared.unique() {
            if let Some(check) = backend.check.clone() {
                tokio::task::spawn_local(health_checks::run(backend.clone(), check));
            }
        }
    }

    /// Closes idle connections to backends and refuses requests that have waited too long at a gate.
    pub(crate) fn sweep(&self) {
        for route in self.routes.iter().flatten() {
            route.sweep();
            route.shared.backends.all.iter().for_each(|backend| backend.poll_gate());
        }
    }
}

/// How often a worker calls [`Proxy::sweep`].
pub(crate) const SWEEP_INTERVAL: std::time::Duration = std::time::Duration::from_millis(50);
