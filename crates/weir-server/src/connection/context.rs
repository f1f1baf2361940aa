//! What the connections of a worker share. Made by the worker, and by the admin address for its own
//! connections.

use std::rc::Rc;
use std::sync::Arc;

use super::journal::Journal;
use super::open::OpenConnections;
use super::origin::ProxyHeaders;
use crate::client::Times;
use crate::client::input::Buffers;
use crate::metrics::Metrics;
use crate::runtime::stop::Stop;
use crate::send::Sender;
use crate::service::Service;
use crate::sys::clock::DateLine;
use crate::uplink::LocalUplink;

/// See the module.
#[derive(Debug)]
pub(crate) struct Context {
    /// Who answers requests.
    pub(crate) service: Service,
    /// Who responses are sent by.
    pub(crate) sender: Sender,
    /// Where responses are counted and logged.
    pub(crate) journal: Journal,
    /// Whether connections begin with a PROXY header.
    pub(crate) proxy_headers: ProxyHeaders,
    /// The way to clients that are behind the uplink, if there is one.
    pub(crate) uplink: Option<LocalUplink>,
    pub(crate) open: OpenConnections,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) times: Times,
    pub(crate) stop: Stop,
    pub(crate) date: DateLine,
    pub(crate) buffers: Rc<Buffers>,
}

impl Context {
    /// `service`: who answers; `journal`: where that is written down.
    pub(crate) fn new(
        service: Service,
        journal: Journal,
        open: OpenConnections,
        metrics: Arc<Metrics>,
        times: Times,
        stop: Stop,
    ) -> Context {
        let sender = Sender::new(metrics.clone(), times, service.site().cloned());
        Context {
            service,
            sender,
            journal,
            proxy_headers: ProxyHeaders::default(),
            uplink: None,
            open,
            metrics,
            times,
            stop,
            date: DateLine::new(),
            buffers: Rc::default(),
        }
    }
}
