//! A worker: one thread, one runtime, its own connections. Workers share only the gate and counts.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::LocalSet;
use tokio::time::timeout;
use weir_http::request::Request;
use weir_sched::Gate;

use crate::access_log::LogHandle;
use crate::admin::Admin;
use crate::clock::DateLine;
use crate::config::Prefix;
use crate::content::Content;
use crate::listen;
use crate::metrics::{Metrics, take_events};
use crate::response::{self, Framing, Response};
use crate::stop::Stop;
use crate::uplink::{self, Flow, LocalFlows, Uplink};

/// Connections whose client has not closed yet that are kept at most.
const LINGERING: usize = 16_384;

/// What requests are answered from.
#[derive(Debug)]
pub(crate) enum Service {
    Site(Content),
    Admin(Admin),
}

impl Service {
    pub(crate) async fn respond(&self, request: &Request<'_>, framing: Framing) -> Response {
        match self {
            Service::Site(content) => response::respond(content, request, framing).await,
            Service::Admin(admin) => admin.respond(request, framing).await,
        }
    }
}

/// How long clients may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) head: Duration,
    pub(crate) idle: Duration,
    pub(crate) send: Duration,
    pub(crate) stop: Duration,
}

/// Asks a worker for the unacknowledged bytes of its connections.
pub(crate) type InFlightQuery = oneshot::Sender<u64>;

/// What a worker thread starts with.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) index: usize,
    pub(crate) service: Service,
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) uplink: Option<Arc<Uplink>>,
    /// The worker that owns the gate has it here.
    pub(crate) gate: Option<Gate>,
    pub(crate) exempt: Vec<Prefix>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) access_log: LogHandle,
    pub(crate) times: Times,
    pub(crate) stop: Stop,
    pub(crate) queries: mpsc::UnboundedReceiver<InFlightQuery>,
}

/// What the connections of a worker share.
#[derive(Debug)]
pub(crate) struct Worker {
    index: usize,
    pub(crate) service: Service,
    uplink: Option<Arc<Uplink>>,
    flows: Rc<LocalFlows>,
    exempt: Vec<Prefix>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) access_log: LogHandle,
    pub(crate) times: Times,
    pub(crate) stop: Stop,
    pub(crate) date: DateLine,
    /// Where bytes on their way to a socket are put together.
    pub(crate) scratch: RefCell<Vec<u8>>,
    lingering: Rc<Cell<usize>>,
    open: Rc<Open>,
}

#[derive(Debug, Default)]
struct Open {
    count: Cell<usize>,
    none_left: Notify,
}

/// Starts a worker's thread; it ends some time after the wish to stop.
pub(crate) fn start(plan: Plan) -> io::Result<JoinHandle<io::Result<()>>> {
    let runtime = runtime(&plan.metrics)?;
    thread::Builder::new()
        .name(format!("weir-{}", plan.index))
        .spawn(move || LocalSet::new().block_on(&runtime, run(plan)))
}

/// A runtime of one thread that counts socket events between two waits.
pub(crate) fn runtime(metrics: &Arc<Metrics>) -> io::Result<Runtime> {
    let metrics = metrics.clone();
    Builder::new_current_thread()
        .enable_all()
        .on_thread_park(move || {
            let events = take_events();
            if events > 0 {
                metrics.events_per_wake.observe(f64::from(events));
            }
        })
        .build()
}

/// Listens, serves, and after the wish to stop lets responses under way end.
pub(crate) async fn run(plan: Plan) -> io::Result<()> {
    let Plan { gate, listeners, mut queries, .. } = plan;
    let worker = Rc::new(Worker {
        index: plan.index,
        service: plan.service,
        uplink: plan.uplink,
        flows: Rc::default(),
        exempt: plan.exempt,
        metrics: plan.metrics,
        access_log: plan.access_log,
        times: plan.times,
        stop: plan.stop,
        date: DateLine::new(),
        scratch: RefCell::default(),
        lingering: Rc::default(),
        open: Rc::default(),
    });
    let owned = worker.uplink.clone().filter(|_| gate.is_some());
    if let Some(uplink) = &worker.uplink {
        let (flows, shared, index) = (worker.flows.clone(), uplink.clone(), worker.index);
        tokio::task::spawn_local(async move { flows.distribute(&shared, index).await });
        if let Some(gate) = gate {
            tokio::task::spawn_local(own_gate(uplink.clone(), gate));
        }
    }
    let flows = worker.flows.clone();
    tokio::task::spawn_local(async move {
        while let Some(answer) = queries.recv().await {
            let _ = answer.send(flows.bytes_in_flight());
        }
    });
    for listener in listeners {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::task::spawn_local(listen::accept(worker.clone(), listener));
    }
    worker.stop.requested().await;
    let ended = async {
        worker.until_no_connections().await;
        // Other workers' responses need the gate to the end.
        if let Some(uplink) = owned {
            uplink.until_unused().await;
        }
    };
    if timeout(worker.times.stop, ended).await.is_err() {
        let cut = worker.open.count.get();
        tracing::warn!("{cut} connections were cut: they took longer than stop_timeout");
    }
    Ok(())
}

async fn own_gate(uplink: Arc<Uplink>, gate: Gate) {
    if let Err(error) = uplink::own(uplink, gate).await {
        // Without its pacer the server cannot send: better to end than to hang.
        tracing::error!("the uplink's timer failed: {error}");
        std::process::abort();
    }
}

impl Worker {
    /// The connection's place at the uplink; `None` if it does not use it.
    pub(crate) fn open_flow(&self, stream: &Rc<TcpStream>, peer: SocketAddr) -> Option<Flow> {
        let uplink = self.uplink.as_ref()?;
        let address = peer.ip().to_canonical();
        if self.exempt.iter().any(|Prefix(network)| network.contains(&address)) {
            return None;
        }
        Some(Flow::open(uplink.clone(), self.flows.clone(), self.index, stream, peer))
    }

    /// Counts a connection until what is returned is dropped.
    pub(crate) fn count_connection(&self) -> impl Drop + use<> {
        self.open.count.set(self.open.count.get() + 1);
        Counted(self.open.clone())
    }

    /// A place among the connections whose client has not closed yet, if there is one.
    pub(crate) fn linger(&self) -> Option<impl Drop + use<>> {
        let count = self.lingering.get();
        (count < LINGERING).then(|| {
            self.lingering.set(count + 1);
            Lingering(self.lingering.clone())
        })
    }

    async fn until_no_connections(&self) {
        while self.open.count.get() > 0 {
            self.open.none_left.notified().await;
        }
    }
}

struct Counted(Rc<Open>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.count.set(self.0.count.get() - 1);
        if self.0.count.get() == 0 {
            self.0.none_left.notify_one();
        }
    }
}

struct Lingering(Rc<Cell<usize>>);

impl Drop for Lingering {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
