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
mod lookup;
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

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;
use weir_http::message::Request;

use super::destination::{Destination, Guarded};
use crate::access::Guards;
use crate::body::{Resizing, Space, open_space};
use crate::compress::Compressor;
use crate::config::{Action, Config, RouteConfig};
use crate::error::ServeError;
use crate::metrics::{Metrics, Reading};
use backend::Backend;
use pool::Pool;
use route::{BackendRegistry, KnownBackends, Renewed, SharedRoute};
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
    /// What logs call them.
    names: Vec<Arc<str>>,
    /// What stands before them.
    pub(crate) guards: Guards,
    known: KnownBackends,
    pub(crate) space: Arc<Space>,
}

/// The routes of a new configuration, before it is taken.
#[derive(Debug)]
pub(crate) struct Following {
    shared: Option<Arc<Shared>>,
    renewed: Renewed,
    resizing: Option<Resizing>,
}

impl Following {
    /// The configuration is taken: returns its routes, if it has any.
    pub(crate) fn commit(self) -> Option<Arc<Shared>> {
        let speak_tls = !self.renewed.is_empty();
        self.renewed.into_iter().for_each(|(backend, tls)| backend.set_tls(tls));
        if speak_tls {
            tracing::info!("the files for TLS to backends were read anew, for new connections");
        }
        if let Some(resizing) = self.resizing {
            resizing.commit();
        }
        self.shared
    }
}

#[derive(Debug)]
enum SharedAction {
    /// Those of the site with this number: 0 is that of the server.
    Files(usize),
    Redirect {
        to: String,
        status: StatusCode,
    },
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
        metrics: &Metrics,
    ) -> Result<Option<Arc<Shared>>, ServeError> {
        Shared::follow(config, None, compressor, metrics).map(Following::commit)
    }

    /// The same where nothing is compressed. `space` limits the bodies that are buffered on their way
    /// between clients and backends; `metrics` count the answers of backends.
    ///
    /// # Errors
    ///
    /// If a file of passwords cannot be used, or TLS to a backend cannot be set up.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn new(
        routes: &[RouteConfig],
        space: Arc<Space>,
        metrics: &Metrics,
    ) -> Result<Arc<Shared>, ServeError> {
        let registry = BackendRegistry::new(metrics, KnownBackends::new());
        Shared::build(routes, None, space, registry, None).map(|(shared, _)| shared)
    }

    /// The routes of `config`, which follow on those of the configuration `before`. Backends that are the
    /// same go on with their queues, their health and what was learned of them, and limits with what they
    /// have counted. Nothing has changed yet.
    ///
    /// # Errors
    ///
    /// As [`Shared::open`].
    pub(crate) fn follow(
        config: &Config,
        before: Option<&Arc<Shared>>,
        compressor: Option<&Arc<Compressor>>,
        metrics: &Metrics,
    ) -> Result<Following, ServeError> {
        if config.routes.is_empty() {
            return Ok(Following { shared: None, renewed: Vec::new(), resizing: None });
        }
        let resizing = before.map(|before| Resizing::prepare(&before.space, config)).transpose()?;
        let space = match before {
            Some(before) => before.space.clone(),
            None => open_space(config)?,
        };
        let known = before.map(|before| before.known.clone()).unwrap_or_default();
        let registry = BackendRegistry::new(metrics, known);
        let guards = before.map(|before| &before.guards);
        let (shared, renewed) = Shared::build(&config.routes, guards, space, registry, compressor)?;
        Ok(Following { shared: Some(shared), renewed, resizing })
    }

    /// The routes, and how to speak TLS to the backends that go on. `before`: the guards of the configuration
    /// before.
    fn build(
        routes: &[RouteConfig],
        before: Option<&Guards>,
        space: Arc<Space>,
        mut registry: BackendRegistry,
        compressor: Option<&Arc<Compressor>>,
    ) -> Result<(Arc<Shared>, Renewed), ServeError> {
        let guards = Guards::open(routes, before)?;
        let table = Routes::new(routes);
        let names = routes.iter().map(|route| route.name().into()).collect();
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
        let routes = routes?;
        let (known, renewed) = registry.into_parts();
        Ok((Arc::new(Shared { table, routes, names, guards, known, space }), renewed))
    }

    /// The name of the first of these routes, by their numbers, none of whose backends is healthy, or known
    /// to be where they are checked.
    pub(crate) fn without_healthy_backend(&self, numbers: &[usize]) -> Option<&str> {
        let is_down = |number: &&usize| match self.routes.get(**number) {
            Some((_, SharedAction::Proxy(route))) => {
                !route.backends.all.iter().any(|backend| backend.is_proven())
            }
            _ => false,
        };
        let number = numbers.iter().find(is_down)?;
        self.names.get(*number).map(|name| &**name)
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
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn new(shared: Arc<Shared>) -> Proxy {
        Proxy::following(shared, None)
    }

    /// The same, with the idle connections that the one `before` has to backends that go on.
    pub(crate) fn following(shared: Arc<Shared>, before: Option<&Proxy>) -> Proxy {
        let mut pools: HashMap<*const Backend, Vec<Rc<Pool>>> = HashMap::new();
        for route in before.iter().flat_map(|before| before.routes.iter().flatten()) {
            for (backend, pool) in route.shared.backends.all.iter().zip(&route.pools) {
                pools.entry(Arc::as_ptr(backend)).or_default().push(pool.clone());
            }
        }
        let mut pool = |backend: &Arc<Backend>| {
            pools.get_mut(&Arc::as_ptr(backend)).and_then(Vec::pop).unwrap_or_default()
        };
        let routes = shared.routes.iter().map(|(_, action)| match action {
            SharedAction::Proxy(route) => Some(Rc::new(Route::new(route.clone(), &mut pool))),
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

    /// What logs call the route that `request` takes, if it takes one.
    pub(crate) fn route_name(&self, request: &Request<'_>) -> Option<Arc<str>> {
        let number = self.shared.table.find(request.host, request.path).ok()??;
        self.shared.names.get(number).cloned()
    }

    /// Closes idle connections to backends, because descriptors are short.
    pub(crate) fn close_idle(&self) {
        self.routes.iter().flatten().for_each(|route| route.close_idle());
    }

    /// Checks the health of all backends from now on, of those that are not checked yet.
    pub(crate) fn check_health(&self) {
        for backend in self.shared.unique() {
            if let Some(check) = backend.take_check() {
                tokio::task::spawn_local(health_checks::run(Arc::downgrade(backend), check));
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
