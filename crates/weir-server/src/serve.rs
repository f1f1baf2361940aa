//! Starts the server and ends it: what `weir serve` does, from top to bottom.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::access_log;
use crate::admin::Admin;
use crate::config::{Action, Config, Overflow};
use crate::content::{FileDisk, Root, SiteConfig};
use crate::context::{Origin, Times};
use crate::disk::Disk;
use crate::limits;
use crate::listen;
use crate::metrics::Metrics;
use crate::proxy::{self, Space, TemporaryFiles};
use crate::rate::MinRate;
use crate::send::window;
use crate::stop;
use crate::uplink;
use crate::worker::{self, Plan};

/// Names that are remembered, by all workers together.
const NAMES: usize = 65_536;

/// Files that a worker keeps open between requests at most.
const MOST_OPEN: usize = 4096;

/// Where temporary files are if nothing says otherwise: on a disk, where `/tmp` often is in memory
/// (file-hierarchy(7)).
const TEMPORARY: &str = "/var/tmp";

/// Serves until SIGTERM or SIGINT. A second signal ends it at once.
pub fn serve(config: &Config) -> Result<(), ServeError> {
    limits::raise_descriptors();
    let metrics = Arc::new(Metrics::new());
    let times = Times {
        head: config.header_timeout,
        idle: config.idle_timeout,
        send: config.send_timeout,
        stop: config.stop_timeout,
        rate: MinRate { bytes_per_second: config.min_rate, period: config.min_rate_period },
    };
    let (stop_sender, stop) = stop::channel();
    // The admin address answers until the last response has ended.
    let (_end_sender, end) = stop::channel();
    let (access_log, log_writer) = access_log::start(&config.access_log, metrics.clone())
        .map_err(|error| ServeError::new("cannot open the access log", &error))?;
    let (uplink, mut gate) =
        config.uplink.map(|link| uplink::build(link, config.workers, metrics.clone())).unzip();

    let disk = Disk::new(config.disk_timeout, metrics.clone());

    let routes = match config.routes.as_slice() {
        [] => None,
        routes => Some(proxy::Shared::new(routes, space(config)?)),
    };

    let listeners = open_listeners(config)?;
    let addresses = local_addresses(&listeners)?;
    let watched = Arc::new(Mutex::new(copies(&listeners)?));
    let admin_listener = config.admin.map(|at| open_listener(config, at, false)).transpose()?;

    let mut threads = Vec::new();
    let mut askers = Vec::new();
    for (index, listeners) in listeners.into_iter().enumerate() {
        let (asker, queries) = mpsc::unbounded_channel();
        askers.push(asker);
        let plan = Plan {
            index,
            origin: origin(config, &disk, &metrics)?,
            routes: routes.clone(),
            proxy_protocol: config.proxy_protocol,
            listeners,
            uplink: uplink.clone(),
            gate: gate.take(),
            exempt: config.uplink_exempt.clone(),
            metrics: metrics.clone(),
            access_log: access_log.clone(),
            times,
            stop: stop.clone(),
            queries,
        };
        let thread = worker::start(plan)
            .map_err(|error| ServeError::new("cannot start a worker", &error))?;
        threads.push(thread);
    }

    let admin = Admin {
        metrics: metrics.clone(),
        uplink,
        disk: disk.clone(),
        routes,
        workers: askers,
        listeners: watched.clone(),
        stop,
    };
    let (_asker, queries) = mpsc::unbounded_channel();
    let (no_log, _) = access_log::start(&crate::config::AccessLog::Off, metrics.clone())
        .map_err(|error| ServeError::new("cannot start the admin address", &error))?;
    let admin_addresses = admin_listener
        .iter()
        .map(TcpListener::local_addr)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| ServeError::new("cannot start the admin address", &error))?;
    let plan = Plan {
        index: config.workers,
        origin: Origin::Admin(admin),
        routes: None,
        proxy_protocol: false,
        listeners: admin_listener.into_iter().collect(),
        uplink: None,
        gate: None,
        exempt: Vec::new(),
        metrics: metrics.clone(),
        access_log: no_log,
        times,
        stop: end,
        queries,
    };

    let runtime = worker::runtime(&metrics)
        .map_err(|error| ServeError::new("cannot start the main thread", &error))?;
    let result = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let admin = tokio::task::spawn_local(worker::run(plan));
        announce(config, &addresses, &admin_addresses);
        signals.next().await;
        tracing::info!("stopping: responses under way may take {:?}", config.stop_timeout);
        stop_sender.stop();
        // A copy would keep the port open, and connections would wait there for nobody.
        watched.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let ended = tokio::task::spawn_blocking(move || join(threads));
        tokio::select! {
            ended = ended => ended.unwrap_or_else(|_| Err(io::Error::other("a worker failed"))),
            () = signals.next() => {
                tracing::warn!("second signal: responses under way are cut");
                std::process::exit(0);
            }
        }?;
        admin.abort();
        Ok(())
    });
    drop(access_log);
    log_writer.finish();
    result.map_err(|error: io::Error| ServeError::new("the server failed", &error))
}

/// Checks what can be checked without serving: the directory.
pub fn check(config: &Config) -> Result<(), ServeError> {
    space(config)?;
    config.root.as_deref().map(open_root).transpose().map(drop)
}

/// Where bodies wait on their way between clients and backends.
fn space(config: &Config) -> Result<Arc<Space>, ServeError> {
    let spills = config.routes.iter().any(|route| match &route.action {
        Action::Proxy(proxy) => proxy.overflow == Overflow::Spill,
        Action::Files | Action::Redirect { .. } => false,
    });
    let files = match config.proxy_disk {
        0 => None,
        _ => spills.then(|| temporary_files(config)).transpose()?.flatten(),
    };
    Ok(Space::new(config.proxy_memory, config.proxy_disk, files))
}

/// Temporary files. A directory that was not asked for may be of no use.
fn temporary_files(config: &Config) -> Result<Option<TemporaryFiles>, ServeError> {
    let usual = || std::env::var_os("TMPDIR").map_or_else(|| TEMPORARY.into(), PathBuf::from);
    let directory = config.proxy_temp_dir.clone().unwrap_or_else(usual);
    // As long as a request may wait for another disk.
    match TemporaryFiles::new(&directory, limits::descriptors() / 8, config.disk_timeout) {
        Ok(files) => Ok(Some(files)),
        Err(error) => {
            let what = format!(
                "cannot make temporary files in {}; name another directory with `proxy_temp_dir`, \
                 or write proxy_disk = 0",
                directory.display()
            );
            if config.proxy_temp_dir.is_some() {
                return Err(ServeError::new(what, &error));
            }
            tracing::warn!("{what}: {error}; bodies of requests and answers wait in memory only");
            Ok(None)
        }
    }
}

fn open_root(path: &Path) -> Result<Root, ServeError> {
    Root::open(path)
        .map_err(|error| ServeError::new(format!("cannot serve {}", path.display()), &error))
}

/// What one worker serves.
fn origin(
    config: &Config,
    disk: &Arc<FileDisk>,
    metrics: &Arc<Metrics>,
) -> Result<Origin, ServeError> {
    let Some(path) = &config.root else { return Ok(Origin::Builtin) };
    Ok(Origin::Files(SiteConfig {
        root: open_root(path)?,
        disk: disk.clone(),
        metrics: metrics.clone(),
        names: (NAMES / config.workers).max(1024),
        hot: usize::try_from(config.cache).unwrap_or(usize::MAX) / config.workers,
        open: (limits::descriptors() / 8 / config.workers).min(MOST_OPEN),
        window: window(config.uplink.map(|link| link.rate.bits() / 8)),
    }))
}

/// One set of listeners to a worker.
fn open_listeners(config: &Config) -> Result<Vec<Vec<TcpListener>>, ServeError> {
    let shared = config.workers > 1;
    for address in config.listen.iter().filter(|_| shared) {
        listen::is_free(*address).map_err(|error| cannot_listen(*address, &error))?;
    }
    let mut addresses = config.listen.clone();
    let mut all = Vec::new();
    for _ in 0..config.workers {
        let mut listeners = Vec::new();
        for address in &mut addresses {
            let listener = open_listener(config, *address, shared)?;
            // A port that the kernel chose is the same for all workers.
            if let Ok(local) = listener.local_addr() {
                *address = local;
            }
            listeners.push(listener);
        }
        all.push(listeners);
    }
    Ok(all)
}

fn open_listener(config: &Config, at: SocketAddr, shared: bool) -> Result<TcpListener, ServeError> {
    listen::open(at, shared, config.send_timeout).map_err(|error| cannot_listen(at, &error))
}

fn cannot_listen(at: SocketAddr, error: &io::Error) -> ServeError {
    ServeError::new(format!("cannot listen on {at}"), error)
}

fn local_addresses(listeners: &[Vec<TcpListener>]) -> Result<Vec<SocketAddr>, ServeError> {
    let first = listeners.first().map(Vec::as_slice).unwrap_or_default();
    let addresses: io::Result<Vec<_>> = first.iter().map(TcpListener::local_addr).collect();
    addresses.map_err(|error| ServeError::new("cannot listen", &error))
}

fn copies(listeners: &[Vec<TcpListener>]) -> Result<Vec<TcpListener>, ServeError> {
    let copies: io::Result<Vec<_>> =
        listeners.iter().flatten().map(TcpListener::try_clone).collect();
    copies.map_err(|error| ServeError::new("cannot listen", &error))
}

fn announce(config: &Config, addresses: &[SocketAddr], admin: &[SocketAddr]) {
    let what = match &config.root {
        Some(root) => root.display().to_string(),
        None => "the built-in site".to_owned(),
    };
    let how = match config.uplink {
        Some(link) => format!(", uplink {} with policy {}", link.rate, link.policy),
        None => String::new(),
    };
    for address in addresses {
        tracing::info!("serving {what} on http://{address}{how}");
    }
    for address in admin {
        tracing::info!("metrics on http://{address}/metrics");
    }
}

fn join(threads: Vec<std::thread::JoinHandle<io::Result<()>>>) -> io::Result<()> {
    for thread in threads {
        thread.join().unwrap_or_else(|_| Err(io::Error::other("a worker failed")))?;
    }
    Ok(())
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Why the server could not start, or ended.
#[derive(Debug)]
pub struct ServeError(String);

impl ServeError {
    fn new(what: impl fmt::Display, error: &io::Error) -> ServeError {
        ServeError(format!("{what}: {error}"))
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServeError {}
