//! A worker: one thread, one runtime, its own connections. Workers share only the gates and counts. The
//! server starts as many as the configuration says, and gives them orders while they run.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;
use tokio::time::timeout;
use weir_acme::{Board, Challenges};
use weir_sched::Gate;
use weir_tls::Server;

use super::sites::{NextSites, Sites};
use super::watchdog::Beats;
use crate::access::Access;
use crate::client::Times;
use crate::compress::Compressor;
use crate::config::{Config, PortKind, Prefix, ProxyProtocol};
use crate::content::{FileDisks, missing_pages};
use crate::error::ServeError;
use crate::listen::{Listener, Listening};
use crate::logs::access_log::LogHandle;
use crate::logs::messages;
use crate::metrics::Metrics;
use crate::protocol::{Context, OpenConnections, Serving};
use crate::runtime;
use crate::runtime::stop::Stop;
use crate::service::proxy::{self, Proxy};
use crate::service::{Files, Service};
use crate::sys::descriptors::Shortages;
use crate::uplink::{self, InFlightQuery, LocalUplink, Uplink};

/// How often a worker closes files that nobody requests any more.
const SWEEP: Duration = Duration::from_secs(1);

/// How often a worker checks whether descriptors are short.
const LOOK: Duration = Duration::from_millis(100);

/// What all workers share. All of it but what stands first can change while they run.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) disks: Arc<FileDisks>,
    pub(super) uplink: Option<Arc<Uplink>>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) stop: Stop,
    /// The pages that prove names to a certificate authority, if certificates are obtained.
    pub(super) challenges: Option<Challenges>,
    /// How the certificates are that are obtained.
    pub(super) obtained: Option<Board>,
    /// Whether the workers turn, if somebody wants to know.
    pub(super) beats: Option<Arc<Beats>>,
    /// The routes, if there are any.
    pub(super) routes: Option<Arc<proxy::Shared>>,
    /// What compresses, if anything is compressed on the fly.
    pub(super) compressor: Option<Arc<Compressor>>,
    /// Who may ask, if not everybody, and who is believed who asks.
    pub(super) access: Option<Arc<Access>>,
    /// Whether every connection begins with a PROXY header, and who may open one.
    pub(super) proxy_protocol: ProxyProtocol,
    /// Clients that are not behind the uplink.
    pub(super) exempt: Vec<Prefix>,
    pub(super) access_log: LogHandle,
    pub(super) times: Times,
    /// What ports with TLS offer, if there are any.
    pub(super) tls: Option<Arc<Server>>,
    /// The line of HSTS.
    pub(super) hsts: Option<Box<str>>,
    /// Where requests in clear text are redirected to.
    pub(super) tls_port: Option<u16>,
}

/// What a worker is told while it runs.
#[derive(Debug)]
pub(super) enum Order {
    /// To serve by another configuration; `taken` is told when it does.
    Take { change: Box<Change>, taken: oneshot::Sender<()> },
    /// To close the listeners of the addresses with these numbers; `told` is told when they know.
    Close { ids: Vec<u64>, told: oneshot::Sender<()> },
}

/// Another configuration, as a worker takes it: nothing in it can fail any more.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) shared: Shared,
    pub(super) sites: NextSites,
    /// Listeners on new addresses.
    pub(super) opened: Vec<Listener>,
    /// What is spoken on addresses that stay.
    pub(super) ports: Vec<(u64, PortKind)>,
}

/// What the server has of a worker that runs.
#[derive(Debug)]
pub(super) struct WorkerLink {
    /// Asks for the unacknowledged bytes of its connections.
    pub(super) queries: Queries,
    pub(super) orders: mpsc::UnboundedSender<Order>,
}

/// What one worker starts with.
#[derive(Debug)]
struct Plan {
    index: usize,
    shared: Shared,
    sites: Sites,
    listeners: Vec<Listener>,
    /// The worker that owns the gate has it here.
    gate: Option<Gate>,
    queries: mpsc::UnboundedReceiver<InFlightQuery>,
    orders: mpsc::UnboundedReceiver<Order>,
}

/// Tells that a worker has ended, and how many connections it has cut.
pub(super) type WorkerEnd = oneshot::Receiver<io::Result<usize>>;

/// Asks a worker for the unacknowledged bytes of its connections.
pub(super) type Queries = mpsc::UnboundedSender<InFlightQuery>;

/// Starts one worker for each set of listeners. They end when the server stops.
///
/// # Errors
///
/// A directory cannot be opened, or there can be no thread.
pub(super) fn start_all(
    config: &Config,
    shared: &Shared,
    mut gate: Option<Gate>,
    listeners: Vec<Vec<Listener>>,
) -> Result<(Vec<WorkerEnd>, Vec<WorkerLink>), ServeError> {
    let (mut ends, mut links) = (Vec::new(), Vec::new());
    missing_pages(config).iter().for_each(|missing| tracing::warn!("{missing}"));
    let (disks, metrics, compressor) = (&shared.disks, &shared.metrics, shared.compressor.as_ref());
    let sites = Sites::open(config, disks, metrics, compressor, listeners.len())?;
    for (index, (listeners, sites)) in listeners.into_iter().zip(sites).enumerate() {
        let (queries_sender, queries) = mpsc::unbounded_channel();
        let (orders_sender, orders) = mpsc::unbounded_channel();
        links.push(WorkerLink { queries: queries_sender, orders: orders_sender });
        let (shared, gate) = (shared.clone(), gate.take());
        let end = start(Plan { index, shared, sites, listeners, gate, queries, orders });
        ends.push(end.map_err(|error| ServeError::new("cannot start a worker", &error))?);
    }
    Ok((ends, links))
}

fn start(plan: Plan) -> io::Result<WorkerEnd> {
    let (told, end) = oneshot::channel();
    thread::Builder::new().name(format!("weir-{}", plan.index)).spawn(move || {
        // Nobody hears it if the server could not start.
        let _ = told.send(work(plan));
    })?;
    Ok(end)
}

/// What a worker's thread does.
fn work(plan: Plan) -> io::Result<usize> {
    let runtime = runtime::build(&plan.shared.metrics)?;
    let ended = runtime.block_on(run(plan));
    // The name of a backend may be looked up for much longer than anybody waits for it.
    runtime.shutdown_background();
    ended
}

/// Serves until the server stops, then waits for responses under way. Returns how many connections had
/// one that did not end in time.
async fn run(plan: Plan) -> io::Result<usize> {
    let Plan { index, shared, sites, listeners, gate, queries, orders } = plan;
    let owned = shared.uplink.clone().zip(gate).map(|(uplink, gate)| {
        spawn_local(own_gate(uplink.clone(), gate));
        spawn_local(watch_bands(uplink.clone()));
        uplink
    });
    if let Some(beats) = shared.beats.clone() {
        spawn_local(async move { beats.keep(index).await });
    }
    let context = Rc::new(context(index, shared, sites.files()));
    if context.uplink.is_some() {
        spawn_local(distribute(context.clone()));
        spawn_local(count_in_kernel(context.clone()));
        spawn_local(answer_queries(context.clone(), queries));
    }
    spawn_local(let_handshakes_pass(context.clone()));
    spawn_local(keep_deadlines(context.clone()));
    spawn_local(keep_routes(context.clone(), index == 0));
    spawn_local(sweep(context.clone()));
    spawn_local(keep_descriptors(context.clone()));
    let listening = Rc::new(Listening::new(context.clone()));
    listening.open(listeners);
    spawn_local(obey(context.clone(), listening.clone(), orders, index == 0));
    context.stop.requested().await;
    listening.ended().await?;
    // Idle connections end now.
    context.open.deadlines().wake_all();
    let ended = async {
        context.open.until_none().await;
        // Other workers' responses need the gate to the end.
        if let Some(uplink) = owned {
            uplink.until_unused().await;
        }
    };
    context.serving.get().proxy_headers.flush();
    let is_cut = tokio::select! {
        ended = timeout(context.serving.get().times.stop, ended) => ended.is_err(),
        () = context.stop.cut() => true,
    };
    Ok(if is_cut { context.open.busy() } else { 0 })
}

/// What the connections of worker `index` share.
fn context(index: usize, shared: Shared, files: Rc<[Files]>) -> Context {
    let serving = serving(&shared, files, None);
    let Shared { uplink, exempt, metrics, stop, .. } = shared;
    Context {
        uplink: uplink.map(|uplink| LocalUplink::new(uplink, exempt, index)),
        ..Context::new(serving, OpenConnections::new(), metrics, stop)
    }
}

/// What a worker serves by; `before`: the routes whose idle connections it takes over.
fn serving(shared: &Shared, files: Rc<[Files]>, before: Option<&Proxy>) -> Serving {
    let routes = shared.routes.clone().map(|routes| Proxy::following(routes, before));
    let service = Service::of_sites(files, routes);
    let service = service.redirecting_to(shared.tls_port).answering(shared.challenges.clone());
    let (log, balancers) = (shared.access_log.clone(), shared.proxy_protocol.clone());
    let serving = Serving::new(service, log, &shared.metrics, balancers, shared.times);
    let (access, tls, hsts) = (shared.access.clone(), shared.tls.clone(), shared.hsts.clone());
    Serving { access, tls, hsts, ..serving }
}

/// Does what the worker is told, for as long as it runs.
async fn obey(
    context: Rc<Context>,
    listening: Rc<Listening>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    is_first: bool,
) {
    while let Some(order) = orders.recv().await {
        match order {
            Order::Take { change, taken } => {
                take(&context, &listening, *change, is_first);
                let _ = taken.send(());
            }
            Order::Close { ids, told } => {
                listening.close(&ids);
                let _ = told.send(());
            }
        }
    }
}

/// From the next request of each connection on, the worker serves by another configuration.
fn take(context: &Context, listening: &Listening, change: Change, is_first: bool) {
    let Change { shared, sites, opened, ports } = change;
    let before = context.serving.get();
    before.proxy_headers.flush();
    let files = match sites {
        NextSites::Same { window } => {
            before.service.sites().for_each(|site| site.set_window(window));
            before.service.files()
        }
        NextSites::Other(sites) => {
            // The longest exchange holds those before, but need not hold what they remember.
            before.service.sites().for_each(|site| site.give_up());
            sites.files()
        }
    };
    context.serving.replace(serving(&shared, files, before.service.proxy()));
    if let Some(link) = &context.uplink {
        link.set_exempt(shared.exempt);
    }
    if is_first && let Some(proxy) = context.serving.get().service.proxy() {
        proxy.check_health();
    }
    ports.into_iter().for_each(|(id, port)| listening.speak(id, port));
    listening.open(opened);
}

async fn own_gate(uplink: Arc<Uplink>, gate: Gate) {
    if let Err(error) = uplink::run_gate(uplink, gate).await {
        // Without its pacer the server cannot send: better to crash than to hang.
        tracing::error!("the uplink's timer failed: {error}");
        messages::finish();
        std::process::abort();
    }
}

async fn watch_bands(uplink: Arc<Uplink>) {
    uplink.watch_bands().await;
}

async fn distribute(context: Rc<Context>) {
    if let Some(link) = &context.uplink {
        link.distribute().await;
    }
}

async fn count_in_kernel(context: Rc<Context>) {
    if let Some(link) = &context.uplink {
        link.count_in_kernel().await;
    }
}

async fn let_handshakes_pass(context: Rc<Context>) {
    context.handshakes.run().await;
}

async fn answer_queries(context: Rc<Context>, mut queries: mpsc::UnboundedReceiver<InFlightQuery>) {
    let Some(link) = &context.uplink else { return };
    while let Some(query) = queries.recv().await {
        link.answer(query);
    }
}

pub(super) async fn keep_deadlines(context: Rc<Context>) {
    context.open.deadlines().run().await;
}

/// Sweeps the idle connections to backends and the requests that wait for them, those of an earlier
/// configuration included. The `first` worker also checks the backends' health.
async fn keep_routes(context: Rc<Context>, is_first: bool) {
    if is_first && let Some(proxy) = context.serving.get().service.proxy() {
        proxy.check_health();
    }
    loop {
        tokio::time::sleep(proxy::SWEEP_INTERVAL).await;
        for serving in context.serving.in_use() {
            serving.service.proxy().iter().for_each(|proxy| proxy.sweep());
        }
    }
}

/// Closes files that were not requested lately: they may have been deleted.
async fn sweep(context: Rc<Context>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        for serving in context.serving.in_use() {
            serving.service.sites().for_each(|site| site.sweep());
        }
    }
}

/// Closes idle connections while descriptors are short, whichever worker has noticed that.
async fn keep_descriptors(context: Rc<Context>) {
    let mut shortages = Shortages::default();
    loop {
        tokio::time::sleep(LOOK).await;
        if shortages.is_new() {
            context.open.give_up_idle(1);
            context.serving.get().service.proxy().iter().for_each(|proxy| proxy.close_idle());
        }
    }
}
