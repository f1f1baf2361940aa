//! What the connections of a worker share. Made by the worker, and by the admin address for its own
//! connections.

use std::rc::Rc;
use std::sync::Arc;

use super::open::OpenConnections;
use super::serving::{CurrentServing, Serving};
use crate::client::input::Buffers;
use crate::metrics::Metrics;
use crate::runtime::stop::Stop;
use crate::runtime::turnstile::Turnstile;
use crate::sys::clock::DateLine;
use crate::uplink::LocalUplink;

/// Handshakes that are computed between two looks at the sockets. Each takes a worker many times as long
/// as a request for what is in memory.
const HANDSHAKES: usize = 4;

/// See the module.
#[derive(Debug)]
pub(crate) struct Context {
    /// What can change while the server runs.
    pub(crate) serving: CurrentServing,
    /// The way to clients that are behind the uplink, if there is one.
    pub(crate) uplink: Option<LocalUplink>,
    /// Handshakes pass here before they are computed.
    pub(crate) handshakes: Turnstile,
    pub(crate) open: OpenConnections,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) stop: Stop,
    pub(crate) date: DateLine,
    pub(crate) buffers: Rc<Buffers>,
}

impl Context {
    /// Connections of clients that are not behind an uplink.
    pub(crate) fn new(
        serving: Serving,
        open: OpenConnections,
        metrics: Arc<Metrics>,
        stop: Stop,
    ) -> Context {
        Context {
            serving: CurrentServing::new(serving),
            uplink: None,
            handshakes: Turnstile::new(HANDSHAKES),
            open,
            metrics,
            stop,
            date: DateLine::new(),
            buffers: Rc::default(),
        }
    }
}
