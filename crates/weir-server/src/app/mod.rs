//! `weir serve` from top to bottom: every part is built from the configuration, workers are started, and
//! a signal or a successor ends it. [`serve`], [`check`] and [`reload`] are what the program `weir` calls.

mod admin_address;
mod announce;
mod certificate_files;
mod certificates;
mod check;
mod command;
mod control;
mod live;
mod main_loop;
mod messages;
mod opened;
mod program;
mod reload;
mod shutdown;
mod signals;
mod sites;
mod take_over;
mod watchdog;
mod worker;
mod worker_ends;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::{JoinHandle, spawn_local};

use self::admin_address::{AdminAddress, Shown};
use self::announce::announce;
use self::certificates::Certificates;
pub use self::check::check;
pub use self::command::reload;
use self::control::{Control, ControlSocket};
use self::live::{Live, Watched, watch_passwords};
pub use self::program::Program;
use self::shutdown::Shutdown;
use self::signals::EarlySignals;
use self::take_over::Predecessor;
use self::watchdog::Beats;
use self::worker::Shared;
use crate::access::Access;
use crate::client::Times;
use crate::compress::Compressor;
use crate::config::Config;
use crate::disk::Disks;
use crate::error::ServeError;
use crate::listen::{Listeners, Passed};
use crate::logs::access_log;
use crate::metrics::Metrics;
use crate::runtime::{self, stop};
use crate::service::proxy;
use crate::sys::descriptors;
use crate::sys::service_manager::{self, ServiceManager};
use crate::uplink;

/// Serves until a signal ends it (SIGTERM or SIGINT, or SIGHUP on a terminal) or a successor takes over.
///
/// # Errors
///
/// Why it could not start, or what ended it.
pub fn serve(config: Config, program: &Program) -> Result<(), ServeError> {
    // Before anything else is opened: they have the first numbers.
    let sockets = service_manager::passed_sockets().map_err(|error| {
        ServeError::new("cannot use the sockets that the service manager announces", &error)
    })?;
    descriptors::raise_limit();
    let metrics = Arc::new(Metrics::new());
    metrics.process.is(program.build);
    let runtime = runtime::build(&metrics)
        .map_err(|error| ServeError::new("cannot start the main thread", &error))?;
    // Logs may be rotated while the server starts: without a handler, the signal would end it.
    let signals = runtime.block_on(async { EarlySignals::new() });
    let signals = signals.map_err(|error| ServeError::new("cannot handle signals", &error))?;
    let Inherited { mut passed, manager, predecessor } = inherited(&config, program, sockets)?;
    let (stop_sender, stop) = stop::channel();
    let access_log = access_log::open(&config.logs.access_log, config.logs.log_format)?;
    let paced = config.uplink_config();
    let paced = paced.map(|link| uplink::build(link, config.workers, metrics.clone()));
    let in_kernel = config.kernel_config();
    let in_kernel =
        in_kernel.map(|link| uplink::build_in_kernel(&link, config.workers, metrics.clone()));
    let (uplink, gate) = paced.or(in_kernel).unzip();
    let certificates = Certificates::open(&config, &metrics, None)?;
    certificates.iter().for_each(|certificates| certificates.begin(None));
    let compressor = Compressor::open(&config, &metrics);
    let routes = proxy::Shared::open(&config, compressor.as_ref(), &metrics)?;
    let Listeners { workers, addresses, admin } = Listeners::open(&config, &mut passed)?;
    let control = ControlSocket::open(&config, &mut passed)?;
    passed.must_be_taken()?;
    // Names are proved where the server listens. Those that are obtained are looked after to the end.
    let obtained = certificates.as_ref().map(|certificates| certificates.obtain(&config));
    let obtained = obtained.transpose()?.flatten();
    let beats = Beats::new(&manager, config.workers);
    let shared = Shared {
        disks: Disks::new(config.disk_timeout, metrics.clone()),
        uplink,
        metrics,
        stop,
        challenges: obtained.as_ref().map(|manager| manager.challenges().clone()),
        obtained: obtained.as_ref().map(|manager| manager.board().clone()),
        beats: beats.clone(),
        routes,
        compressor,
        access: Access::open(&config.access, None),
        proxy_protocol: config.proxy_protocol.clone(),
        exempt: config.uplink_exempt.clone(),
        access_log,
        times: Times::new(&config),
        tls: certificates.as_ref().map(|certificates| certificates.server().clone()),
        hsts: config.hsts.map(|hsts| hsts.line().into()),
        tls_port: addresses.tls_port(&config),
    };
    let (ends, links) = worker::start_all(&config, &shared, gate, workers)?;
    let links = links.into_iter().map(|link| (link.queries, link.orders));
    let (queries, orders): (Vec<_>, Vec<_>) = links.unzip();
    let (admin_stop, admin_stopped) = stop::channel();
    let shown = Shown {
        started: Instant::now(),
        history: Arc::default(),
        workers: queries,
        watched: addresses.watched().clone(),
        stop: admin_stopped,
    };

    let ended = runtime.block_on(async {
        let mut signals = signals.with_those_that_stop()?;
        let admin = admin.map(|at| AdminAddress::start(&config, &shared, shown.clone(), at));
        let admin = admin.transpose()?;
        announce(&config, addresses.served(), admin.as_ref().and_then(AdminAddress::address));
        let certificates = certificates.map(Watched::new);
        let passwords = shared.routes.clone().map(watch_passwords);
        relieve(predecessor, passed)?;
        let mut control = Control::serve(control)?;
        let watchdog = beats.map(|beats| watch(beats, manager.clone()));
        let mut live = Live {
            program,
            config,
            shared,
            old_logs: Vec::new(),
            workers: orders,
            addresses,
            certificates,
            passwords,
            admin,
            shown,
            manager,
            offered_to: None,
        };
        live.manager.ready(&live.status());
        let end = main_loop::run(&mut live, &mut signals, &mut control).await;
        let shutdown = Shutdown { stop: stop_sender, admin_stop };
        let ended = shutdown.run(end, &mut live, &mut control, &mut signals, ends).await;
        live.finish_logs().await;
        watchdog.iter().for_each(JoinHandle::abort);
        ended
    });
    ended.map_err(|error: io::Error| ServeError::new("the server failed", &error))
}

/// What others have prepared for this server.
struct Inherited {
    passed: Passed,
    manager: ServiceManager,
    predecessor: Option<Predecessor>,
}

/// Listening sockets of the service manager, or of the server that is taken over.
fn inherited(
    config: &Config,
    program: &Program,
    sockets: Vec<(String, OwnedFd)>,
) -> Result<Inherited, ServeError> {
    let passed = Passed::by_service_manager(sockets)?;
    let own = ServiceManager::from_environment();
    let inheritance = if program.take_over { take_over::ask(config)? } else { None };
    Ok(match inheritance {
        None => Inherited { passed, manager: own, predecessor: None },
        Some(inheritance) => Inherited {
            passed: inheritance.sockets,
            manager: own.succeeding(inheritance.manager),
            predecessor: Some(inheritance.predecessor),
        },
    })
}

/// Tells the predecessor, if there is one, that this server serves. `passed`: the sockets that have found no
/// use here.
///
/// # Errors
///
/// The predecessor goes on, because this server has taken too long.
fn relieve(predecessor: Option<Predecessor>, passed: Passed) -> io::Result<()> {
    match predecessor.map(|predecessor| predecessor.relieve(passed)) {
        None => {}
        Some(Ok(())) => tracing::info!("taken over from the server before"),
        Some(Err(error)) if error.kind() == io::ErrorKind::TimedOut => return Err(error),
        Some(Err(error)) => {
            tracing::warn!("the server before may go on beside this one, stop it: {error}");
        }
    }
    Ok(())
}

fn watch(beats: Arc<Beats>, manager: ServiceManager) -> JoinHandle<()> {
    spawn_local(async move { beats.watch(&manager).await })
}
