//! The admin address: a listener of its own, served on the main thread, which has little else to do. It
//! is not a worker: it has neither routes nor an uplink, and what operators ask is not logged and not
//! counted among what the server serves. Started by the server if an address is configured.

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::spawn_local;

use super::messages::SocketCopy;
use super::worker::{Queries, Shared, keep_deadlines};
use crate::config::{Config, ListenAddress, ProxyProtocol};
use crate::listen::{Listener, Listening, SocketFile};
use crate::logs::access_log::LogHandle;
use crate::metrics::{Metrics, WatchedSockets};
use crate::protocol::{Context, OpenConnections, Serving};
use crate::runtime::stop::Stop;
use crate::service::Service;
use crate::service::admin::{Admin, History, Link, UplinkQueue};
use crate::sys::descriptors;

/// What the admin address shows of the server for as long as that runs.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) started: Instant,
    pub(super) history: Arc<History>,
    pub(super) workers: Vec<Queries>,
    pub(super) watched: WatchedSockets,
    /// When the address itself is to close, which is later than the workers' listeners.
    pub(super) stop: Stop,
}

/// The admin address while it is served.
#[derive(Debug)]
pub(super) struct AdminAddress {
    context: Rc<Context>,
    listening: Rc<Listening>,
    shown: Shown,
    /// Nobody reads these.
    metrics: Arc<Metrics>,
    at: Option<At>,
}

/// Where it listens.
#[derive(Debug)]
struct At {
    id: u64,
    address: ListenAddress,
    /// The file of a Unix socket, if it is removed at the end.
    file: Option<Arc<SocketFile>>,
    /// A copy of its socket, to be handed over.
    copy: OwnedFd,
}

impl AdminAddress {
    /// Serves operators on `listener`, until the address is to close.
    ///
    /// # Errors
    ///
    /// There is no descriptor.
    pub(super) fn start(
        config: &Config,
        shared: &Shared,
        shown: Shown,
        listener: Listener,
    ) -> io::Result<AdminAddress> {
        let metrics = Arc::new(Metrics::new());
        let open = OpenConnections::at_most(descriptors::admin_connections());
        let serving = serving(config, shared, &shown, &metrics);
        let context = Context::new(serving, open, metrics.clone(), shown.stop.clone());
        let context = Rc::new(context);
        spawn_local(keep_deadlines(context.clone()));
        if let Some(uplink) = shared.uplink.clone() {
            let history = shown.history.clone();
            spawn_local(async move { history.keep(&uplink).await });
        }
        let listening = Rc::new(Listening::new(context.clone()));
        spawn_local(end(context.clone(), listening.clone()));
        let mut admin = AdminAddress { context, listening, shown, metrics, at: None };
        admin.move_to(Some(listener))?;
        Ok(admin)
    }

    /// Where it listens, with the port that the kernel chose.
    pub(super) fn address(&self) -> Option<&ListenAddress> {
        self.at.as_ref().map(|at| &at.address)
    }

    /// A copy of its socket, whose `address` the configuration has.
    ///
    /// # Errors
    ///
    /// There is no descriptor.
    pub(super) fn copy(&self, address: &ListenAddress) -> io::Result<Option<SocketCopy>> {
        let copy = |at: &At| {
            let (address, socket) = (address.clone(), at.copy.try_clone()?);
            Ok(SocketCopy { address, has_own_file: at.file.is_some(), socket })
        };
        self.at.as_ref().map(copy).transpose()
    }

    /// From the next request on it shows what is served by this configuration.
    pub(super) fn show(&self, config: &Config, shared: &Shared) {
        let serving = serving(config, shared, &self.shown, &self.metrics);
        self.context.serving.replace(serving);
    }

    /// Listens elsewhere, or nowhere; connections that are open go on.
    ///
    /// # Errors
    ///
    /// There is no descriptor; then it listens where it did.
    pub(super) fn move_to(&mut self, listener: Option<Listener>) -> io::Result<()> {
        let next = self.at.as_ref().map_or(0, |at| at.id + 1);
        let listener = listener.map(|listener| listener.numbered(next));
        let at = listener.as_ref().map(|listener| {
            let (address, copy) = (listener.address.clone(), listener.copy_socket()?);
            let file = listener.file.clone();
            Ok::<_, io::Error>(At { id: next, address, file, copy })
        });
        let at = at.transpose()?;
        self.listening.open(listener.into_iter().collect());
        if let Some(before) = std::mem::replace(&mut self.at, at) {
            self.listening.close(&[before.id]);
        }
        Ok(())
    }

    /// The file of its socket is not removed: a successor may have the socket.
    pub(super) fn leave_file(&self) {
        self.at.iter().filter_map(|at| at.file.as_ref()).for_each(|file| file.leave());
    }

    /// Closes the copy of its socket: the address closes with its listener.
    pub(super) fn forget_copy(&mut self) {
        self.at = None;
    }
}

fn serving(config: &Config, shared: &Shared, shown: &Shown, metrics: &Arc<Metrics>) -> Serving {
    let in_weir = config.uplink_config().map(UplinkQueue::InWeir);
    let in_kernel = || Some(UplinkQueue::InKernel(config.kernel_config()?.order));
    let queue = in_weir.or_else(in_kernel).zip(shared.uplink.clone());
    let history = shown.history.clone();
    let link = queue.map(|(queue, uplink)| Link { queue, uplink, history });
    let admin = Admin {
        metrics: shared.metrics.clone(),
        link,
        started: shown.started,
        disks: shared.disks.clone(),
        routes: shared.routes.clone(),
        ready_routes: config.ready_routes(),
        obtained: shared.obtained.clone(),
        workers: shown.workers.clone(),
        listeners: shown.watched.clone(),
        stop: shared.stop.clone(),
    };
    let (log, off) = (LogHandle::default(), ProxyProtocol::Off);
    Serving::new(Service::admin(admin), log, metrics, off, shared.times)
}

/// Ends idle connections when the address closes.
async fn end(context: Rc<Context>, listening: Rc<Listening>) {
    context.stop.requested().await;
    if let Err(error) = listening.ended().await {
        tracing::error!("the admin address failed: {error}");
    }
    context.open.deadlines().wake_all();
}
