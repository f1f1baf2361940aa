//! Starts the server and ends it: what `weir serve` does, from top to bottom.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::mpsc;

use crate::access_log;
use crate::addresses;
use crate::admin::{Admin, History, Link};
use crate::config::{AccessLog, Action, Config, Overflow, ProxyProtocol, RouteConfig};
use crate::content::{FileDisk, Root, SiteConfig};
use crate::context::{Origin, Times};
use crate::disk::Disk;
use crate::end::End;
use crate::limits;
use crate::metrics::Metrics;
use crate::proxy::{self, Space, TemporaryFiles};
use crate::rate::MinRate;
use crate::send::window;
use crate::signals::Signals;
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

/// Serves until a signal ends it: SIGTERM or SIGINT, or SIGHUP on a terminal.
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
    let (admin_stop_sender, admin_stop) = stop::channel();
    let access_log = access_log::start(&config.access_log)
        .map_err(|error| cannot_log(&config.access_log, &error))?;
    let (uplink, mut gate) = config
        .uplink_config()
        .map(|link| uplink::build(link, config.workers, metrics.clone()))
        .unzip();

    let disk = Disk::new(config.disk_timeout, metrics.clone());

    let routes = match config.routes.as_slice() {
        [] => None,
        routes => Some(proxy::Shared::new(routes, space(config)?)),
    };

    let listeners = addresses::open_all(config)?;
    let served = addresses::of(listeners.first().map(Vec::as_slice).unwrap_or_default())?;
    let watched = Arc::new(Mutex::new(addresses::copies(&listeners)?));
    let admin_listeners: Vec<_> = addresses::open_admin(config)?.into_iter().collect();
    let admin_served = addresses::of(&admin_listeners)?;

    let mut threads = Vec::new();
    let mut askers = Vec::new();
    for (index, listeners) in listeners.into_iter().enumerate() {
        let (asker, queries) = mpsc::unbounded_channel();
        askers.push(asker);
        let plan = Plan {
            index,
            origin: origin(config, &disk, &metrics)?,
            routes: routes.clone(),
            proxy_protocol: config.proxy_protocol.clone(),
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

    let history = Arc::new(History::default());
    let link = config.uplink_config().zip(uplink.clone());
    let admin = Admin {
        metrics: metrics.clone(),
        link: link.map(|(config, uplink)| Link { config, uplink, history: history.clone() }),
        started: Instant::now(),
        disk: disk.clone(),
        routes,
        workers: askers,
        listeners: watched.clone(),
        stop,
    };
    let (_asker, queries) = mpsc::unbounded_channel();
    let no_log = access_log::start(&AccessLog::Off)
        .map_err(|error| ServeError::new("cannot start the admin address", &error))?;
    let plan = Plan {
        index: config.workers,
        origin: Origin::Admin(admin),
        routes: None,
        proxy_protocol: ProxyProtocol::Off,
        listeners: admin_listeners,
        uplink: None,
        gate: None,
        exempt: Vec::new(),
        // What operators ask is not what the server is there for.
        metrics: Arc::new(Metrics::new()),
        access_log: no_log,
        times,
        stop: admin_stop,
        queries,
    };

    let runtime = worker::runtime(&metrics)
        .map_err(|error| ServeError::new("cannot start the main thread", &error))?;
    let result = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let admin = tokio::task::spawn_local(worker::run(plan));
        if let Some(uplink) = uplink.filter(|_| config.admin.is_some()) {
            tokio::task::spawn_local(async move { history.keep(&uplink).await });
        }
        announce(config, &served, &admin_served);
        let end = End {
            config,
            access_log: &access_log,
            stop: stop_sender,
            admin_stop: admin_stop_sender,
            watched: &watched,
        };
        end.on_signal(&mut signals, threads).await?;
        access_log.finish();
        admin.abort();
        Ok(())
    });
    result.map_err(|error: io::Error| ServeError::new("the server failed", &error))
}

pub(crate) fn cannot_log(to: &AccessLog, error: &io::Error) -> ServeError {
    ServeError::new(format!("cannot open the access log {to}"), error)
}

/// Where bodies wait on their way between clients and backends.
pub(crate) fn space(config: &Config) -> Result<Arc<Space>, ServeError> {
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

/// The directory that is served.
pub(crate) fn open_root(path: &Path) -> Result<Root, ServeError> {
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
        window: window(config.uplink.map(|rate| rate.bits() / 8)),
    }))
}

fn announce(config: &Config, addresses: &[SocketAddr], admin: &[SocketAddr]) {
    let what = described(config);
    let how = match config.uplink_config() {
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

/// What is served, in words.
fn described(config: &Config) -> String {
    let of_root = |route: &&RouteConfig| matches!(route.action, Action::Files);
    let others = config.routes.len() - config.routes.iter().filter(of_root).count();
    let routes = match others {
        0 => None,
        1 => Some("1 route".to_owned()),
        number => Some(format!("{number} routes")),
    };
    match (&config.root, routes) {
        (Some(root), Some(routes)) => format!("{} and {routes}", root.display()),
        (Some(root), None) => root.display().to_string(),
        (None, Some(routes)) => routes,
        (None, None) => "the built-in site".to_owned(),
    }
}

/// Why the server could not start, or ended.
#[derive(Debug)]
pub struct ServeError(String);

impl ServeError {
    pub(crate) fn new(what: impl fmt::Display, error: &io::Error) -> ServeError {
        ServeError(format!("{what}: {error}"))
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServeError {}
