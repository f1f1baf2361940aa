//! What the connections of a worker share: content, counts, limits, the way to the uplink.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::Notify;
use weir_http::message::Request;
use weir_sched::Time;

use crate::client::deadlines::Deadlines;
use crate::client::input::Buffers;
use crate::client::{Client, Times};
use crate::config::{Prefix, ProxyProtocol};
use crate::content::{Builtin, Content, Site, SiteConfig};
use crate::logs::access_log::{Entry, LogHandle};
use crate::logs::refusals::Refusals;
use crate::metrics::Metrics;
use crate::response::{self, Framing, Response};
use crate::runtime::stop::Stop;
use crate::service::admin::Admin;
use crate::service::proxy::{Destination, Proxy};
use crate::sys::clock::{self, DateLine};
use crate::sys::socket::Socket;
use crate::uplink::{Flow, LocalFlows, Uplink};

/// Connections whose client has not closed yet that are kept at most.
const LINGERING: usize = 16_384;

/// The status of a request whose client left before it was answered, as others write it.
const LEFT_EARLY: u16 = 499;

/// The status of a request that the end of the server left without an answer.
const CUT: u16 = 503;

/// What requests are answered from.
#[derive(Debug)]
pub(crate) enum Service {
    Site(Content),
    Admin(Admin),
}

/// What a worker makes its service of.
#[derive(Debug)]
pub(crate) enum Origin {
    Files(SiteConfig),
    Builtin,
    Admin(Admin),
}

impl Service {
    pub(crate) fn new(origin: Origin) -> Service {
        match origin {
            Origin::Files(config) => Service::Site(Content::Files(Site::new(config))),
            Origin::Builtin => Service::Site(Content::Builtin(Box::new(Builtin::new()))),
            Origin::Admin(admin) => Service::Admin(admin),
        }
    }

    /// The files of the site, if it has any.
    pub(crate) fn site(&self) -> Option<&Site> {
        match self {
            Service::Site(Content::Files(site)) => Some(site),
            Service::Site(Content::Builtin(_)) | Service::Admin(_) => None,
        }
    }

    /// `head`: of the request, as it came.
    pub(crate) async fn respond(
        &self,
        request: &Request<'_>,
        head: &[u8],
        framing: Framing,
    ) -> Response {
        match self {
            Service::Site(content) => response::respond(content, request, framing).await,
            Service::Admin(admin) => admin.respond(request, head, framing).await,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Context {
    /// The worker's number.
    pub(crate) index: usize,
    pub(crate) service: Service,
    /// Routes, if there are any; then they say what is a request for files.
    pub(crate) proxy: Option<Proxy>,
    /// Whether every connection begins with a PROXY header, and who may open one.
    pub(crate) proxy_protocol: ProxyProtocol,
    /// Connections that came with no such header, or from somebody else.
    pub(crate) refusals: Refusals,
    pub(crate) uplink: Option<Arc<Uplink>>,
    /// Clients that do not use the uplink.
    pub(crate) exempt: Vec<Prefix>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) access_log: LogHandle,
    pub(crate) times: Times,
    pub(crate) stop: Stop,
    pub(crate) date: DateLine,
    /// The connections that use the uplink.
    pub(crate) flows: Rc<LocalFlows>,
    /// Where bytes on their way to a socket are put together.
    pub(crate) scratch: RefCell<Box<[u8]>>,
    pub(crate) buffers: Rc<Buffers>,
    pub(crate) deadlines: Rc<Deadlines>,
    pub(crate) open: Open,
}

impl Context {
    /// Where a request goes; without routes all are for the service.
    pub(crate) fn destination(&self, request: &Request<'_>) -> Destination {
        self.proxy.as_ref().map_or(Destination::Service, |proxy| proxy.destination(request))
    }

    /// `request` waits for its response from now on.
    pub(crate) fn waiting<'a>(
        &'a self,
        client: &'a Client,
        request: &'a Request<'a>,
        begun: Time,
    ) -> Waiting<'a> {
        Waiting { context: self, client, request, begun, is_over: false }
    }

    /// Has `count` connections that wait for a request end, and 1 in 128 of all more, so that it is not
    /// looked through them for each that comes; the longest idle first. Tells how many.
    pub(crate) fn give_up_idle(&self, count: usize) -> usize {
        self.deadlines.give_up(count + self.open.count() / 128)
    }

    /// The connection's place at the uplink; `None` if it does not use it.
    pub(crate) fn open_flow(&self, socket: &Rc<Socket>, peer: SocketAddr) -> Option<Flow> {
        let uplink = self.uplink.as_ref()?;
        let address = peer.ip().to_canonical();
        if self.exempt.iter().any(|Prefix(network)| network.contains(&address)) {
            return None;
        }
        Some(Flow::open(uplink.clone(), self.flows.clone(), self.index, socket, peer))
    }
}

/// A request without a response. Dropped before that is over, it was cut with the server: then it is
/// counted and logged.
pub(crate) struct Waiting<'a> {
    context: &'a Context,
    client: &'a Client,
    request: &'a Request<'a>,
    begun: Time,
    is_over: bool,
}

impl Waiting<'_> {
    /// There is a response.
    pub(crate) fn answered(mut self) {
        self.is_over = true;
    }

    /// The client left before there was one: that is counted and logged.
    pub(crate) fn left(mut self) {
        self.is_over = true;
        self.note(LEFT_EARLY);
    }

    fn note(&self, code: u16) {
        let took = clock::now().since(self.begun);
        self.context.metrics.responded(code, 0, took, false);
        self.context.access_log.write(|| Entry {
            peer: self.client.peer.ip(),
            unix_seconds: clock::unix_seconds(),
            request: Some(self.request),
            code,
            sent: 0,
            complete: false,
            took,
        });
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.note(CUT);
        }
    }
}

/// The connections that are open, and those that only wait for their client to close.
#[derive(Debug, Default)]
pub(crate) struct Open(Rc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    open: Cell<usize>,
    lingering: Cell<usize>,
    none_open: Notify,
}

impl Open {
    /// How many connections are open.
    pub(crate) fn count(&self) -> usize {
        self.0.open.get()
    }

    /// How many connections have a request that has begun, or a response that is under way.
    pub(crate) fn busy(&self) -> usize {
        self.count().saturating_sub(self.0.lingering.get())
    }

    /// Counts a connection until what is returned is dropped.
    pub(crate) fn enter(&self) -> impl Drop + use<> {
        self.0.open.set(self.0.open.get() + 1);
        Entered(self.0.clone())
    }

    /// A place among those that wait for their client to close, if there is one.
    pub(crate) fn linger(&self) -> Option<impl Drop + use<>> {
        let count = self.0.lingering.get();
        (count < LINGERING).then(|| {
            self.0.lingering.set(count + 1);
            Lingering(self.0.clone())
        })
    }

    /// Waits until no connection is open.
    pub(crate) async fn until_none(&self) {
        while self.count() > 0 {
            self.0.none_open.notified().await;
        }
    }
}

struct Entered(Rc<Counts>);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
        if self.0.open.get() == 0 {
            self.0.none_open.notify_one();
        }
    }
}

struct Lingering(Rc<Counts>);

impl Drop for Lingering {
    fn drop(&mut self) {
        self.0.lingering.set(self.0.lingering.get() - 1);
    }
}
