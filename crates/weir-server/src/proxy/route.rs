//! A route to backends as a worker sees it: what all workers share, and its own connections.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use weir_http::forward::{FieldEdits, ForwardedStyle};

use super::backend::Backend;
use super::buffer::Limits;
use super::pick::Backends;
use super::pool::Pool;
use super::space::Space;
use super::spare::Spare;
use crate::config::{BackendAddress, Forwarded, HostHeader, Overflow, ProxyConfig};

/// How long an unused connection is kept while descriptors are short.
const SHORT_OF_DESCRIPTORS: Duration = Duration::from_secs(1);

/// The backends of all routes so far: routes to one backend share its gate.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<BackendAddress, (Arc<Backend>, ProxyConfig)>);

impl Known {
    /// The backend at `address`; the first route that names it says how its gate works.
    fn get(&mut self, address: &BackendAddress, config: &ProxyConfig) -> Arc<Backend> {
        if let Some((backend, first)) = self.0.get(address) {
            let same = first.gate() == config.gate()
                && first.passive() == config.passive()
                && (config.health.is_none() || first.health == config.health);
            if !same {
                tracing::warn!("{address}: its gate and checks are as the first route to it says");
            }
            return backend.clone();
        }
        let (gate, check) = (config.gate(), config.health.clone());
        let backend = Backend::new(address.clone(), gate, config.passive(), check);
        self.0.insert(address.clone(), (backend.clone(), config.clone()));
        backend
    }
}

/// What all workers share of a route.
#[derive(Debug)]
pub(super) struct SharedRoute {
    pub(super) number: u32,
    pub(super) priority: u8,
    pub(super) config: ProxyConfig,
    /// What the paths of its requests begin with.
    pub(super) prefix: String,
    pub(super) backends: Backends,
    pub(super) space: Arc<Space>,
}

impl SharedRoute {
    pub(super) fn new(
        number: u32,
        priority: u8,
        prefix: &str,
        config: &ProxyConfig,
        space: &Arc<Space>,
        known: &mut Known,
    ) -> SharedRoute {
        let backends: Vec<_> =
            config.backends.iter().map(|address| known.get(address, config)).collect();
        SharedRoute {
            number,
            priority,
            config: config.clone(),
            prefix: prefix.to_owned(),
            backends: Backends::new(backends, config.balance, u64::from(number)),
            space: space.clone(),
        }
    }
}

/// A route of one worker.
pub(crate) struct Route {
    pub(super) shared: Arc<SharedRoute>,
    pub(super) pools: Vec<Rc<Pool>>,
    /// Maps for the fields of requests and answers.
    pub(super) spare: Spare,
}

impl Route {
    pub(super) fn new(shared: Arc<SharedRoute>) -> Route {
        let pools = shared.backends.all.iter().map(|_| Rc::default()).collect();
        Route { shared, pools, spare: Spare::default() }
    }

    /// Closes connections to backends that were not used lately.
    pub(super) fn sweep(&self) {
        let longest: Duration = self.shared.config.keep_alive;
        self.pools.iter().for_each(|pool| pool.sweep(longest));
    }

    /// Closes those that descriptors are too short to keep.
    pub(super) fn close_idle(&self) {
        self.pools.iter().for_each(|pool| pool.sweep(SHORT_OF_DESCRIPTORS));
    }

    /// What `backend` is told to be called; `None`: what the client called it.
    pub(super) fn host<'a>(&'a self, backend: &'a Backend) -> Option<&'a HeaderValue> {
        match &self.shared.config.host_header {
            HostHeader::Client => None,
            HostHeader::Backend => Some(&backend.authority),
            HostHeader::Fixed(name) => Some(name),
        }
    }

    pub(super) fn forwarded(&self) -> ForwardedStyle {
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

    /// The largest body of a request; `None`: any.
    pub(crate) fn most_body(&self) -> Option<u64> {
        self.shared.config.max_body
    }

    /// Bytes of one body that may wait.
    pub(super) fn limits(&self) -> Limits {
        let config = &self.shared.config;
        let file = if config.overflow == Overflow::Spill { config.max_spill } else { 0 };
        Limits { memory: config.buffer, file }
    }
}
