//! A worker: one thread, one runtime, its own connections. Workers share only the gate and counts.

use std::cell::RefCell;
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use weir_sched::Gate;

use crate::client::Times;
use crate::config::{Prefix, ProxyProtocol};
use crate::connection::context::{Context, Origin, Service};
use crate::listen;
use crate::logs::access_log::LogHandle;
use crate::logs::messages;
use crate::metrics::Metrics;
use crate::runtime;
use crate::runtime::stop::Stop;
use crate::send::SCRATCH;
use crate::service::proxy::{Proxy, Shared};
use crate::sys::clock::DateLine;
use crate::sys::descriptors::Shortages;
use crate::uplink::{self, InFlightQuery, Uplink};

/// How often a worker looks for files to close.
const SWEEP: Duration = Duration::from_secs(1);

/// How often a worker looks whether descriptors are short.
const LOOK: Duration = Duration::from_millis(100);

/// What a worker starts with.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) index: usize,
    pub(crate) origin: Origin,
    /// What the workers share of the routes, if there are any.
    pub(crate) routes: Option<Arc<Shared>>,
    /// Whether every connection begins with a PROXY header, and who may open one.
    pub(crate) proxy_protocol: ProxyProtocol,
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

/// A worker's thread; it tells how many connections it has cut.
pub(crate) type Worker = JoinHandle<io::Result<usize>>;

/// Starts a worker; it ends some time after the wish to stop.
pub(crate) fn start(plan: Plan) -> io::Result<Worker> {
    thread::Builder::new()
        .name(format!("weir-{}", plan.index))
        .spawn(move || runtime::build(&plan.metrics)?.block_on(run(plan)))
}

/// Listens, serves, and after the wish to stop lets responses under way end. Returns how many
/// connections had one that did not end in time.
pub(crate) async fn run(plan: Plan) -> io::Result<usize> {
    let context = Rc::new(Context {
        index: plan.index,
        service: Service::new(plan.origin),
        proxy: plan.routes.map(Proxy::new),
        proxy_protocol: plan.proxy_protocol,
        refusals: Default::default(),
        uplink: plan.uplink,
        exempt: plan.exempt,
        metrics: plan.metrics,
        access_log: plan.access_log,
        times: plan.times,
        stop: plan.stop,
        date: DateLine::new(),
        flows: Rc::default(),
        scratch: RefCell::new(vec![0; SCRATCH].into()),
        buffers: Rc::default(),
        deadlines: Rc::default(),
        open: Default::default(),
    });
    let owned = context.uplink.clone().filter(|_| plan.gate.is_some());
    if let Some(uplink) = &context.uplink {
        tokio::task::spawn_local(distribute(context.clone(), uplink.clone()));
        tokio::task::spawn_local(count_in_kernel(context.clone(), uplink.clone()));
    }
    if let Some((uplink, gate)) = owned.clone().zip(plan.gate) {
        tokio::task::spawn_local(own_gate(uplink, gate));
    }
    tokio::task::spawn_local(keep_deadlines(context.clone()));
    tokio::task::spawn_local(keep_routes(context.clone()));
    tokio::task::spawn_local(sweep(context.clone()));
    tokio::task::spawn_local(keep_descriptors(context.clone()));
    tokio::task::spawn_local(answer_queries(context.clone(), plan.queries));
    let accept = |listener| tokio::task::spawn_local(accept(context.clone(), listener));
    let accepting: Vec<_> = plan.listeners.into_iter().map(accept).collect();
    context.stop.requested().await;
    for accepting in accepting {
        // Those who have waited to be accepted are among the connections from then on.
        accepting.await.map_err(io::Error::other)?;
    }
    // Idle connections end now.
    context.deadlines.wake_all();
    let ended = async {
        context.open.until_none().await;
        // Other workers' responses need the gate to the end.
        if let Some(uplink) = owned {
            uplink.until_unused().await;
        }
    };
    context.refusals.flush();
    let is_cut = tokio::select! {
        ended = timeout(context.times.stop, ended) => ended.is_err(),
        () = context.stop.cut() => true,
    };
    Ok(if is_cut { context.open.busy() } else { 0 })
}

async fn accept(context: Rc<Context>, listener: TcpListener) {
    if let Err(error) = listen::accept(context, listener).await {
        // Nobody could reach the server: better to end than to hang.
        tracing::error!("a listening socket cannot be watched: {error}");
        messages::finish();
        std::process::abort();
    }
}

async fn distribute(context: Rc<Context>, uplink: Arc<Uplink>) {
    context.flows.distribute(&uplink, context.index).await;
}

async fn count_in_kernel(context: Rc<Context>, uplink: Arc<Uplink>) {
    context.flows.count(&uplink, context.index).await;
}

async fn own_gate(uplink: Arc<Uplink>, gate: Gate) {
    if let Err(error) = uplink::own(uplink, gate).await {
        // Without its pacer the server cannot send: better to end than to hang.
        tracing::error!("the uplink's timer failed: {error}");
        messages::finish();
        std::process::abort();
    }
}

async fn keep_deadlines(context: Rc<Context>) {
    context.deadlines.run().await;
}

async fn keep_routes(context: Rc<Context>) {
    if let Some(proxy) = &context.proxy {
        proxy.run(context.index == 0).await;
    }
}

/// Closes files that nobody has asked for lately: they may have been deleted.
async fn sweep(context: Rc<Context>) {
    let Some(site) = context.service.site() else { return };
    loop {
        tokio::time::sleep(SWEEP).await;
        site.sweep();
    }
}

/// Closes what only waits while descriptors are short, whoever found out.
async fn keep_descriptors(context: Rc<Context>) {
    let mut shortages = Shortages::default();
    loop {
        tokio::time::sleep(LOOK).await;
        if shortages.is_new() {
            context.give_up_idle(1);
            context.proxy.iter().for_each(Proxy::close_idle);
        }
    }
}

async fn answer_queries(context: Rc<Context>, mut queries: mpsc::UnboundedReceiver<InFlightQuery>) {
    while let Some(answer) = queries.recv().await {
        let _ = answer.send(context.flows.bytes_in_flight());
    }
}
