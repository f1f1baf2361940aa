//! A worker: one thread, one runtime, its own connections. Workers share only the gates and counts. The
//! server starts as many as the configuration says.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_local;
use tokio::time::timeout;
use weir_acme::{Board, Challenges};
use weir_sched::Gate;
use weir_tls::Server;

use crate::access::Access;
use crate::client::Times;
use crate::compress::Compressor;
use crate::config::{Config, Prefix, ProxyProtocol};
use crate::content::{FileDisks, SitesConfig, missing_pages};
use crate::error::ServeError;
use crate::listen::{self, Listener};
use crate::logs::access_log::LogHandle;
use crate::logs::messages;
use crate::metrics::Metrics;
use crate::protocol::{Context, OpenConnections, Serving};
use crate::runtime;
use crate::runtime::stop::Stop;
use crate::service::proxy::{self, Proxy};
use crate::service::{Files, Service, SiteOptions};
use crate::sys::descriptors::Shortages;
use crate::uplink::{self, InFlightQuery, LocalUplink, Uplink};

/// How often a worker closes files that nobody requests any more.
const SWEEP: Duration = Duration::from_secs(1);

/// How often a worker checks whether descriptors are short.
const LOOK: Duration = Duration::from_millis(100);

/// What all workers share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) disks: Arc<FileDisks>,
    /// The routes, if there are any.
    pub(super) routes: Option<Arc<proxy::Shared>>,
    /// What compresses, if anything is compressed on the fly.
    pub(super) compressor: Option<Arc<Compressor>>,
    /// Who may ask, if not everybody, and who is believed who asks.
    pub(super) access: Option<Arc<Access>>,
    /// Whether every connection begins with a PROXY header, and who may open one.
    pub(super) proxy_protocol: ProxyProtocol,
    pub(super) uplink: Option<Arc<Uplink>>,
    /// Clients that are not behind the uplink.
    pub(super) exempt: Vec<Prefix>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) access_log: LogHandle,
    pub(super) times: Times,
    /// What ports with TLS offer, if there are any.
    pub(super) tls: Option<Arc<Server>>,
    /// The line of HSTS.
    pub(super) hsts: Option<Box<str>>,
    /// Where requests in clear text are redirected to.
    pub(super) tls_port: Option<u16>,
    /// The pages that prove names to a certificate authority, if certificates are obtained.
    pub(super) challenges: Option<Challenges>,
    /// How the certificates are that are obtained.
    pub(super) obtained: Option<Board>,
    pub(super) stop: Stop,
}

/// What one worker starts with.
#[derive(Debug)]
struct Plan {
    index: usize,
    shared: Shared,
    /// The directories it serves.
    sites: SitesConfig,
    /// What each of their sites has beside files.
    options: Vec<Option<Arc<SiteOptions>>>,
    listeners: Vec<Listener>,
    /// The worker that owns the gate has it here.
    gate: Option<Gate>,
    queries: mpsc::UnboundedReceiver<InFlightQuery>,
}

/// A worker's thread, which returns how many connections it has cut.
pub(super) type Worker = JoinHandle<io::Result<usize>>;

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
) -> Result<(Vec<Worker>, Vec<Queries>), ServeError> {
    let (mut threads, mut senders) = (Vec::new(), Vec::new());
    missing_pages(config).iter().for_each(|missing| tracing::warn!("{missing}"));
    let options = SiteOptions::all(config);
    for (index, listeners) in listeners.into_iter().enumerate() {
        let (sender, queries) = mpsc::unbounded_channel();
        senders.push(sender);
        let (shared, options) = (shared.clone(), options.clone());
        let compressor = shared.compressor.as_ref();
        let sites = SitesConfig::open(config, &shared.disks, &shared.metrics, compressor)?;
        let gate = gate.take();
        let thread = start(Plan { index, shared, sites, options, listeners, gate, queries });
        threads.push(thread.map_err(|error| ServeError::new("cannot start a worker", &error))?);
    }
    Ok((threads, senders))
}

fn start(plan: Plan) -> io::Result<Worker> {
    thread::Builder::new()
        .name(format!("weir-{}", plan.index))
        .spawn(move || runtime::build(&plan.shared.metrics)?.block_on(run(plan)))
}

/// Serves until the server stops, then waits for responses under way. Returns how many connections had
/// one that did not end in time.
async fn run(plan: Plan) -> io::Result<usize> {
    let Plan { index, shared, sites, options, listeners, gate, queries } = plan;
    let owned = shared.uplink.clone().zip(gate).map(|(uplink, gate)| {
        spawn_local(own_gate(uplink.clone(), gate));
        spawn_local(watch_bands(uplink.clone()));
        uplink
    });
    let context = Rc::new(context(index, shared, Files::all(sites, &options)));
    if context.uplink.is_some() {
        spawn_local(distribute(context.clone()));
        spawn_local(count_in_kernel(context.clone()));
        spawn_local(answer_queries(context.clone(), queries));
    }
    if context.tls.is_some() {
        spawn_local(let_handshakes_pass(context.clone()));
    }
    spawn_local(keep_deadlines(context.clone()));
    spawn_local(keep_routes(context.clone(), index == 0));
    spawn_local(sweep(context.clone()));
    spawn_local(keep_descriptors(context.clone()));
    listen::serve(&context, listeners).await?;
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
fn context(index: usize, shared: Shared, sites: Vec<Files>) -> Context {
    let Shared { routes, proxy_protocol, uplink, exempt, metrics, access_log, times, .. } = shared;
    let Shared { access, tls, hsts, tls_port, challenges, stop, .. } = shared;
    let service = Service::of_sites(sites, routes.map(Proxy::new));
    let service = service.redirecting_to(tls_port).answering(challenges);
    let serving = Serving::new(service, access_log, &metrics, proxy_protocol, times);
    let serving = Serving { access, hsts, ..serving };
    Context {
        tls,
        uplink: uplink.map(|uplink| LocalUplink::new(uplink, exempt, index)),
        ..Context::new(serving, OpenConnections::new(), metrics, stop)
    }
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

/// Sweeps the idle connections to backends and the requests that wait for them. The `first` worker also
/// checks the backends' health.
async fn keep_routes(context: Rc<Context>, is_first: bool) {
    if is_first && let Some(proxy) = context.serving.get().service.proxy() {
        proxy.check_health();
    }
    loop {
        tokio::time::sleep(proxy::SWEEP_INTERVAL).await;
        context.serving.get().service.proxy().iter().for_each(|proxy| proxy.sweep());
    }
}

/// Closes files that were not requested lately: they may have been deleted.
async fn sweep(context: Rc<Context>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        context.serving.get().service.sites().for_each(|site| site.sweep());
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
