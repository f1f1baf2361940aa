//! A route to backends: its configuration and backends, which all workers share, and the idle
//! connections of one worker. Used by everything in the proxy that answers requests.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use weir_http::forward::{FieldEdits, ForwardedStyle, Mount};
use weir_tls::client::ClientTls;

use super::backend::Backend;
use super::backends::Backends;
use super::pool::Pool;
use super::tls::TlsBuilder;
use crate::answer::{AnswerFields, HeaderMapPool, Relayed};
use crate::body::Limits;
use crate::body::Space;
use crate::compress::Compressor;
use crate::config::{BackendAddress, Forwarded, HostHeader, Overflow, ProxyConfig};
use crate::error::ServeError;
use crate::metrics::{BackendAnswers, Metrics};

/// How long an idle connection is kept while descriptors are short.
const SHORT_OF_DESCRIPTORS: Duration = Duration::from_secs(1);

/// Bytes of an answer between a backend and its client where answers are not buffered: what one task hands
/// to the other at a time.
const UNBUFFERED: u64 = 16 * 1024;

/// Backends by address, each with the keys of the first route that names it: they configure its gate and
/// its checks.
pub(super) type KnownBackends = HashMap<BackendAddress, (Arc<Backend>, ProxyConfig)>;

/// Backends that go on, and how they are spoken to from now on.
pub(super) type Renewed = Vec<(Arc<Backend>, ClientTls)>;

/// The backends of all routes, by address: routes to one backend share its gate.
#[derive(Debug)]
pub(super) struct BackendRegistry {
    backends: KnownBackends,
    tls: TlsBuilder,
    /// What the answers of all are counted by.
    answers: BackendAnswers,
    /// Backends of the configuration before, which go on where they are the same.
    before: KnownBackends,
    /// How to speak TLS to those that go on from now on.
    renewed: Renewed,
}

impl BackendRegistry {
    /// One that knows the backends of the configuration `before`.
    pub(super) fn new(metrics: &Metrics, before: KnownBackends) -> BackendRegistry {
        let (backends, tls, renewed) = Default::default();
        BackendRegistry { backends, tls, answers: metrics.answers.clone(), before, renewed }
    }

    /// All that were asked for, and how to speak TLS to those of them that go on.
    pub(super) fn into_parts(self) -> (KnownBackends, Renewed) {
        (self.backends, self.renewed)
    }

    /// The backend at `address`; the first route that names it configures its gate and checks. One that was
    /// there before goes on with its queue, its health and what was learned of it.
    ///
    /// # Errors
    ///
    /// If TLS to it cannot be set up.
    fn get(
        &mut self,
        address: &BackendAddress,
        config: &ProxyConfig,
    ) -> Result<Arc<Backend>, ServeError> {
        if let Some((backend, first)) = self.backends.get(address) {
            let same = first.gate() == config.gate()
                && first.passive() == config.passive()
                && (config.health.is_none() || first.health == config.health);
            if !same {
                tracing::warn!(
                    "backend {address}: its routes configure different gates or checks; those of \
                     the first route apply"
                );
            }
            return Ok(backend.clone());
        }
        let tls = self.tls.build(address, config)?;
        let before = self.before.get(address).filter(|(_, first)| makes_the_same(first, config));
        let backend = match before {
            Some((backend, _)) => {
                self.renewed.extend(tls.map(|tls| (backend.clone(), tls)));
                backend.clone()
            }
            None => {
                let (gate, check) = (config.gate(), config.health.clone());
                let answers = self.answers.of(&address.to_string());
                Backend::new(address.clone(), tls, gate, config.passive(), check, answers)
            }
        };
        self.backends.insert(address.clone(), (backend.clone(), config.clone()));
        Ok(backend)
    }
}

/// Whether a backend is the same by both: kept connections were opened as either says, and what was learned
/// holds for either.
fn makes_the_same(one: &ProxyConfig, other: &ProxyConfig) -> bool {
    one.gate() == other.gate()
        && one.passive() == other.passive()
        && one.health == other.health
        && one.tls() == other.tls()
}

/// What all workers share of a route.
#[derive(Debug)]
pub(super) struct SharedRoute {
    pub(super) number: u32,
    pub(super) priority: u8,
    pub(super) config: ProxyConfig,
    /// The path prefix of the route.
    pub(super) prefix: String,
    /// The same, if it is taken off requests and put before the paths of answers.
    pub(super) mount: Option<Mount>,
    pub(super) backends: Backends,
    pub(super) space: Arc<Space>,
    /// What compresses answers, if they are compressed.
    pub(super) compressor: Option<Arc<Compressor>>,
}

impl SharedRoute {
    /// The same, whose answers are compressed by `compressor` if the route says so.
    pub(super) fn compressing_by(self, compressor: Option<&Arc<Compressor>>) -> SharedRoute {
        let compressor = compressor.filter(|_| self.config.compress).cloned();
        SharedRoute { compressor, ..self }
    }

    /// # Errors
    ///
    /// If TLS to a backend cannot be set up.
    pub(super) fn new(
        number: u32,
        priority: u8,
        prefix: &str,
        config: &ProxyConfig,
        space: &Arc<Space>,
        registry: &mut BackendRegistry,
    ) -> Result<SharedRoute, ServeError> {
        let backends: Result<Vec<_>, _> =
            config.backends.iter().map(|address| registry.get(address, config)).collect();
        let (weights, seed) = (config.weights.as_deref(), u64::from(number));
        Ok(SharedRoute {
            number,
            priority,
            config: config.clone(),
            prefix: prefix.to_owned(),
            mount: if config.strip_prefix { Mount::new(prefix) } else { None },
            backends: Backends::new(backends?, config.balance, weights, seed),
            space: space.clone(),
            compressor: None,
        })
    }
}

/// A route of one worker.
pub(crate) struct Route {
    pub(super) shared: Arc<SharedRoute>,
    pub(super) pools: Vec<Rc<Pool>>,
    /// Maps for the fields of requests and responses.
    pub(super) header_maps: Rc<HeaderMapPool>,
}

impl Route {
    /// `pool`: where the idle connections of a backend are.
    pub(super) fn new(
        shared: Arc<SharedRoute>,
        pool: impl FnMut(&Arc<Backend>) -> Rc<Pool>,
    ) -> Route {
        let pools = shared.backends.all.iter().map(pool).collect();
        Route { shared, pools, header_maps: Rc::default() }
    }

    /// Closes connections that were idle for longer than `keep_alive`.
    pub(super) fn sweep(&self) {
        let max_idle: Duration = self.shared.config.keep_alive;
        self.pools.iter().for_each(|pool| pool.sweep(max_idle));
    }

    /// Closes all but the most recently used connections, because descriptors are short.
    pub(super) fn close_idle(&self) {
        self.pools.iter().for_each(|pool| pool.sweep(SHORT_OF_DESCRIPTORS));
    }

    /// The `Host` for `backend`; `None`: that of the client.
    pub(super) fn host<'a>(&'a self, backend: &'a Backend) -> Option<&'a HeaderValue> {
        match &self.shared.config.host_header {
            HostHeader::Client => None,
            HostHeader::Backend => Some(&backend.authority),
            HostHeader::Fixed(name) => Some(name),
        }
    }

    pub(super) fn forwarded_style(&self) -> ForwardedStyle {
        match self.shared.config.forwarded {
            Forwarded::XForwarded => ForwardedStyle::XForwarded,
            Forwarded::Standard => ForwardedStyle::Forwarded,
            Forwarded::Both => ForwardedStyle::Both,
            Forwarded::Off => ForwardedStyle::Off,
        }
    }

    pub(super) fn request_edits(&self) -> &Arc<FieldEdits> {
        &self.shared.config.request_headers
    }

    pub(super) fn response_edits(&self) -> &Arc<FieldEdits> {
        &self.shared.config.response_headers
    }

    /// What of a backend's fields is passed on to clients.
    pub(super) fn relayed(&self, received: HeaderMap) -> AnswerFields {
        let (edits, maps) = (self.response_edits().clone(), self.header_maps.clone());
        AnswerFields::Relayed(Box::new(Relayed { received, edits, maps }))
    }

    /// The largest request body, in bytes; `None`: unlimited.
    pub(crate) fn max_body(&self) -> Option<u64> {
        self.shared.config.max_body
    }

    /// How much of one body may be buffered.
    pub(super) fn limits(&self) -> Limits {
        let config = &self.shared.config;
        let file = if config.overflow == Overflow::Spill { config.max_spill } else { 0 };
        Limits { memory: config.buffer, file }
    }

    /// How much of an answer may be buffered.
    pub(super) fn answer_limits(&self) -> Limits {
        match self.shared.config.buffering {
            true => self.limits(),
            false => Limits { memory: UNBUFFERED.min(self.shared.config.buffer), file: 0 },
        }
    }
}
