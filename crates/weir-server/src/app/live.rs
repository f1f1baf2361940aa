//! The server while it runs, as the main thread has it: its configuration, its workers, its addresses. The
//! main loop does with it what signals and the control socket ask for.

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{Instant, sleep, timeout_at};

use super::admin_address::{AdminAddress, Shown};
use super::certificates::Certificates;
use super::messages::{Handed, SocketCopy};
use super::program::Program;
use super::worker::{Order, Shared};
use crate::access;
use crate::config::{AccessLog, Config, ListenAddress};
use crate::listen::{Addresses, Role};
use crate::logs::access_log::LAST_WAIT;
use crate::logs::lines::LogThread;
use crate::service::proxy;
use crate::sys::file_helper::by_helper_in_time;
use crate::sys::service_manager::ServiceManager;

/// How long clients that have just connected may take for their first bytes, for which the kernel waits
/// before it lets them in: closing the listener resets them.
pub(super) const FIRST_BYTES: Duration = Duration::from_millis(100);

/// How long workers may take to do what they are told: they do so between two requests.
const WITHIN: Duration = Duration::from_secs(10);

/// How often it is looked whether a log is written at the end.
const LOOK: Duration = Duration::from_millis(5);

/// See the module.
#[derive(Debug)]
pub(super) struct Live<'p> {
    pub(super) program: &'p Program,
    pub(super) config: Config,
    pub(super) shared: Shared,
    /// Access logs of earlier configurations, while lines are left or written there.
    pub(super) old_logs: Vec<LogThread>,
    pub(super) workers: Vec<mpsc::UnboundedSender<Order>>,
    pub(super) addresses: Addresses,
    pub(super) certificates: Option<Watched>,
    /// Reads the files of passwords anew that the routes name.
    pub(super) passwords: Option<Task>,
    pub(super) admin: Option<AdminAddress>,
    pub(super) shown: Shown,
    pub(super) manager: ServiceManager,
    /// The process that has copies of the sockets, and does not serve yet.
    pub(super) offered_to: Option<String>,
}

/// Certificates of files, which are watched for changes until this is dropped.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) certificates: Rc<Certificates>,
    _task: Task,
}

impl Watched {
    /// Reads them anew whenever a file has changed.
    pub(super) fn new(certificates: Certificates) -> Watched {
        let certificates = Rc::new(certificates);
        let watched = certificates.clone();
        let task = spawn_local(async move { watched.watch().await });
        Watched { certificates, _task: Task(task) }
    }
}

/// A task that ends when this is dropped.
#[derive(Debug)]
pub(super) struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Reads the files of passwords of these routes anew whenever one has changed.
pub(super) fn watch_passwords(routes: Arc<proxy::Shared>) -> Task {
    Task(spawn_local(access::watch_passwords(routes.guards.files())))
}

/// Tells a worker to close these addresses; what is returned ends when it knows.
fn close(worker: &mpsc::UnboundedSender<Order>, ids: &[u64]) -> oneshot::Receiver<()> {
    let (told, is_told) = oneshot::channel();
    let _ = worker.send(Order::Close { ids: ids.to_vec(), told });
    is_told
}

/// Waits until all workers have done what they were told, at most [`WITHIN`]. Returns those that have not;
/// one that has ended has nothing more to do.
pub(super) async fn hanging(told: Vec<oneshot::Receiver<()>>) -> Vec<usize> {
    let end = Instant::now() + WITHIN;
    let mut hanging = Vec::new();
    for (worker, told) in told.into_iter().enumerate() {
        if timeout_at(end, told).await.is_err() {
            hanging.push(worker);
        }
    }
    hanging
}

impl Live<'_> {
    /// What people should see of it.
    pub(super) fn status(&self) -> String {
        let served = self.addresses.served().iter().map(|served| served.address.to_string());
        format!("serving on {}", served.collect::<Vec<_>>().join(", "))
    }

    /// Has the access log opened anew, if it is a file; false if it is none.
    pub(super) fn reopen_log(&self) -> bool {
        let is_file = matches!(self.config.logs.access_log, AccessLog::File(_));
        if is_file {
            self.shared.access_log.reopen();
        }
        is_file
    }

    /// Waits until all access logs are written. Called when the workers have ended.
    pub(super) async fn finish_logs(&self) {
        self.shared.access_log.finish();
        let end = Instant::now() + LAST_WAIT;
        for log in &self.old_logs {
            while !log.has_ended() && Instant::now() < end {
                sleep(LOOK).await;
            }
            if !log.has_ended() {
                tracing::error!("{} is stuck: the last lines are lost", log.name());
            }
        }
    }

    /// Has the files of certificates read anew, those for backends included.
    pub(super) async fn reread_certificates(&self) {
        tokio::join!(self.reread_own_certificates(), self.reread_tls_to_backends());
    }

    async fn reread_own_certificates(&self) {
        if let Some(watched) = &self.certificates {
            watched.certificates.reload().await;
        }
    }

    async fn reread_tls_to_backends(&self) {
        let Some(routes) = self.shared.routes.clone() else { return };
        let read = by_helper_in_time(move |step| {
            step.begin("a file for TLS to backends");
            routes.reload_tls()
        });
        if let Err(why) = read.await {
            tracing::error!("TLS to backends stays as it was: {why}");
        }
    }

    /// Closes the addresses with these numbers. Those who have connected are served.
    pub(super) async fn close(&self, ids: &[u64]) {
        if ids.is_empty() {
            return;
        }
        self.addresses.wait_for_nothing(ids);
        sleep(FIRST_BYTES).await;
        self.addresses.close(ids);
        let all_told = self.workers.iter().map(|worker| close(worker, ids)).collect();
        for worker in hanging(all_told).await {
            tracing::error!("worker {worker} hangs, and has not closed its listeners");
        }
    }

    /// The numbers of all addresses.
    pub(super) fn ids(&self) -> Vec<u64> {
        self.addresses.served().iter().map(|served| served.id).collect()
    }

    /// Copies of all listening sockets, and what else a successor is told. `control`: the control socket.
    ///
    /// # Errors
    ///
    /// There are no descriptors, or a path cannot be told.
    pub(super) fn handed(
        &self,
        control: Option<SocketCopy>,
    ) -> io::Result<Vec<(Handed, Option<OwnedFd>)>> {
        let mut sockets = Vec::new();
        for (id, socket) in self.addresses.copies()? {
            let served = self.addresses.served().iter().find(|served| served.id == id);
            sockets.extend(served.map(|served| {
                let (address, has_own_file) = (served.configured.clone(), served.has_own_file);
                (id, Role::Workers, SocketCopy { address, has_own_file, socket })
            }));
        }
        let address = self.config.admin.as_ref();
        let admin = self.admin.as_ref().zip(address).map(|(admin, address)| admin.copy(address));
        sockets.extend(admin.transpose()?.flatten().map(|admin| (0, Role::Admin, admin)));
        sockets.extend(control.map(|control| (0, Role::Control, control)));
        let mut handed = Vec::new();
        for (group, role, SocketCopy { address, has_own_file, socket }) in sockets {
            let text = address.to_string();
            let is_told = text.parse::<ListenAddress>().is_ok_and(|parsed| parsed == address);
            // A line of its own tells it.
            if !is_told || text.contains('\n') {
                let why =
                    format!("{address} cannot be told a successor: its path is not plain text");
                return Err(io::Error::other(why));
            }
            handed.push((Handed::Socket { group, role, has_own_file, address }, Some(socket)));
        }
        if let Some(socket) = self.manager.socket() {
            let watchdog = self.manager.watchdog().unwrap_or_default().as_micros();
            let watchdog = u64::try_from(watchdog).unwrap_or(0);
            let socket = socket.to_owned();
            handed.push((Handed::ServiceManager { watchdog, socket }, None));
        }
        handed.push((Handed::End, None));
        Ok(handed)
    }
}
