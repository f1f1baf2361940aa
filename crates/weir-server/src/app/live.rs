//! The server while it runs, as the main thread has it: its configuration, its workers, its addresses. The
//! main loop does with it what signals and the control socket ask for.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::sleep;

use super::admin_address::{AdminAddress, Shown};
use super::certificates::Certificates;
use super::messages::Handed;
use super::program::Program;
use super::worker::{Order, Shared};
use crate::access;
use crate::config::{AccessLog, Config, ListenAddress};
use crate::listen::{Addresses, Role};
use crate::service::proxy;
use crate::sys::service_manager::ServiceManager;

/// How long clients that have just connected may take for their first bytes, for which the kernel waits
/// before it lets them in: closing the listener resets them.
pub(super) const FIRST_BYTES: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Debug)]
pub(super) struct Live<'p> {
    pub(super) program: &'p Program,
    pub(super) config: Config,
    pub(super) shared: Shared,
    pub(super) workers: Vec<mpsc::UnboundedSender<Order>>,
    pub(super) addresses: Addresses,
    pub(super) certificates: Option<Watched>,
    /// Reads the files of passwords anew that the routes name.
    pub(super) passwords: Option<Task>,
    pub(super) admin: Option<AdminAddress>,
    pub(super) shown: Shown,
    pub(super) manager: ServiceManager,
    /// A successor has copies of the sockets, and does not serve yet.
    pub(super) is_offered: bool,
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
    let watch = async move { access::watch_passwords(routes.guards.files()).await };
    Task(spawn_local(watch))
}

/// Tells a worker to close these addresses; what is returned ends when it knows.
fn close(worker: &mpsc::UnboundedSender<Order>, ids: &[u64]) -> oneshot::Receiver<()> {
    let (told, is_told) = oneshot::channel();
    let _ = worker.send(Order::Close { ids: ids.to_vec(), told });
    is_told
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

    /// Reads the files of certificates anew, those for backends included.
    pub(super) fn reread_certificates(&self) {
        self.certificates.iter().for_each(|watched| watched.certificates.reload());
        if let Some(routes) = &self.shared.routes {
            routes.reload_tls();
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
        let all_told: Vec<_> = self.workers.iter().map(|worker| close(worker, ids)).collect();
        for told in all_told {
            // One that has ended has closed them.
            let _ = told.await;
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
        control: Option<(PathBuf, OwnedFd)>,
    ) -> io::Result<Vec<(Handed, Option<OwnedFd>)>> {
        let mut sockets = Vec::new();
        for (id, socket) in self.addresses.copies()? {
            let served = self.addresses.served().iter().find(|served| served.id == id);
            sockets.extend(served.map(|it| (id, Role::Workers, it.configured.clone(), socket)));
        }
        let admin = self.admin.as_ref().map(AdminAddress::copy).transpose()?.flatten();
        let admin = admin.zip(self.config.admin.clone());
        sockets.extend(admin.map(|(socket, address)| (0, Role::Admin, address, socket)));
        let control = control.map(|(path, socket)| (ListenAddress::Unix(path), socket));
        sockets.extend(control.map(|(address, socket)| (0, Role::Control, address, socket)));
        let mut handed = Vec::new();
        for (group, role, address, socket) in sockets {
            let text = address.to_string();
            let is_told = text.parse::<ListenAddress>().is_ok_and(|parsed| parsed == address);
            // A line of its own tells it.
            if !is_told || text.contains('\n') {
                let why =
                    format!("{address} cannot be told a successor: its path is not plain text");
                return Err(io::Error::other(why));
            }
            handed.push((Handed::Socket { group, role, address }, Some(socket)));
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
