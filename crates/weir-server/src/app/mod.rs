//! `weir serve` from top to bottom: every part is built from the configuration, workers are started, and
//! a signal ends it. [`serve`] and [`check`] are what the program `weir` calls.

mod admin_address;
mod announce;
mod certificates;
mod check;
mod shutdown;
mod signals;
mod worker;

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use self::admin_address::AdminAddress;
use self::announce::announce;
use self::certificates::Certificates;
pub use self::check::check;
use self::shutdown::Shutdown;
use self::signals::Signals;
use self::worker::Shared;
use crate::access::{self, Access};
use crate::client::Times;
use crate::compress::Compressor;
use crate::config::{Config, ListenAddress, PortKind};
use crate::disk::Disks;
use crate::error::ServeError;
use crate::listen::Listeners;
use crate::logs::access_log;
use crate::metrics::Metrics;
use crate::runtime::{self, stop};
use crate::service::proxy;
use crate::sys::descriptors;
use crate::uplink;

/// Serves until a signal ends it: SIGTERM or SIGINT, or SIGHUP on a terminal.
///
/// # Errors
///
/// Why it could not start, or what ended it.
pub fn serve(config: &Config) -> Result<(), ServeError> {
    descriptors::raise_limit();
    let metrics = Arc::new(Metrics::new());
    let (stop_sender, stop) = stop::channel();
    let access_log = access_log::open(&config.access_log)?;
    let paced = config.uplink_config();
    let paced = paced.map(|link| uplink::build(link, config.workers, metrics.clone()));
    let in_kernel = config.kernel_config();
    let in_kernel =
        in_kernel.map(|link| uplink::build_in_kernel(&link, config.workers, metrics.clone()));
    let (uplink, gate) = paced.or(in_kernel).unzip();
    let certificates = Certificates::open(config, &metrics)?.map(Rc::new);
    let compressor = Compressor::open(config, &metrics);
    let mut shared = Shared {
        disks: Disks::new(config.disk_timeout, metrics.clone()),
        routes: proxy::Shared::open(config, compressor.as_ref())?,
        compressor,
        access: Access::new(&config.access),
        proxy_protocol: config.proxy_protocol.clone(),
        uplink,
        exempt: config.uplink_exempt.clone(),
        metrics,
        access_log,
        times: Times::new(config),
        tls: certificates.as_ref().map(|certificates| certificates.server().clone()),
        hsts: config.hsts.map(|hsts| hsts.line().into()),
        tls_port: None,
        challenges: None,
        obtained: None,
        stop,
    };
    let Listeners { workers, served, admin, watched } = Listeners::open(config)?;
    shared.tls_port = tls_port(&served);
    // Names are proved where the server listens. Those that are obtained are looked after to the end.
    let obtained = certificates.as_ref().map(|certificates| certificates.obtain(config));
    let obtained = obtained.transpose()?.flatten();
    shared.challenges = obtained.as_ref().map(|manager| manager.challenges().clone());
    shared.obtained = obtained.as_ref().map(|manager| manager.board().clone());
    let (threads, queries) = worker::start_all(config, &shared, gate, workers)?;
    let (admin_stop_sender, admin_stop) = stop::channel();
    let admin_served = admin.as_ref().map(|listener| listener.address.clone());
    let admin = admin.map(|listener| {
        AdminAddress::new(config, &shared, queries, watched.clone(), listener, admin_stop)
    });

    let runtime = runtime::build(&shared.metrics)
        .map_err(|error| ServeError::new("cannot start the main thread", &error))?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let admin = admin.map(|admin| tokio::task::spawn_local(admin.run()));
        if let Some(certificates) = certificates.clone() {
            tokio::task::spawn_local(async move { certificates.watch().await });
        }
        if let Some(routes) = shared.routes.clone() {
            let watch = async move { access::watch_passwords(routes.guards.files()).await };
            tokio::task::spawn_local(watch);
        }
        announce(config, &served, admin_served.as_ref());
        let shutdown = Shutdown {
            config,
            access_log: &shared.access_log,
            certificates: certificates.as_deref(),
            routes: shared.routes.as_deref(),
            stop: stop_sender,
            admin_stop: admin_stop_sender,
            watched: &watched,
        };
        shutdown.on_signal(&mut signals, threads).await?;
        shared.access_log.finish();
        admin.iter().for_each(tokio::task::JoinHandle::abort);
        Ok(())
    });
    ended.map_err(|error: io::Error| ServeError::new("the server failed", &error))
}

/// The first port with TLS.
fn tls_port(served: &[(ListenAddress, PortKind)]) -> Option<u16> {
    served.iter().find_map(|(address, kind)| match (address, kind) {
        (ListenAddress::Tcp(address), PortKind::Tls) => Some(address.port()),
        _ => None,
    })
}
