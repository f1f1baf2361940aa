//! A new configuration for a server that runs, whole or not at all: first everything is opened that it
//! needs, files by a helper, and nothing is changed; then it is taken, which cannot fail and waits for no
//! file. Requests under way end by the configuration that they began with. Called by the main loop.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::admin_address::AdminAddress;
use super::announce::announce;
use super::live::{Live, Watched, hanging, watch_passwords};
use super::opened::{NextCertificates, Opened, Running};
use super::worker::{Change, Order, Shared};
use crate::access::Access;
use crate::client::Times;
use crate::compress::Compressor;
use crate::config::{Changes, Config};
use crate::content::has_same_sites;
use crate::error::ServeError;
use crate::listen::{self, Listener, Moves};
use crate::logs::messages;
use crate::sys::file_helper::by_helper_in_time;

/// The keys of a paced uplink's rate and order.
const UPLINK: &[&str] = &["uplink", "uplink_pace", "policy", "protective_order"];

/// How to have what a reload cannot change, with a service manager and without.
const BY_RESTART: &str = "a restart only: `systemctl restart`; with a socket unit nobody is refused \
                          meanwhile";
const BY_HAND_OVER: &str = "a hand-over only: start the new server with `weir serve --take-over`, or \
                            restart this one";

/// All that a new configuration needs and the one before had not.
#[derive(Debug)]
struct Prepared {
    opened: Opened,
    access: Option<Arc<Access>>,
    moves: Moves,
    admin: Next<Option<Listener>>,
}

/// What came of a reload, for people.
#[derive(Debug)]
pub(super) enum Reloaded {
    /// The configuration is taken; what has changed.
    Whole(String),
    /// It is taken, and certificates whose keys are the same cannot be used: which stay as they were and why,
    /// and what has changed.
    InPart(String),
    /// Everything is as it was; why.
    Refused(String),
}

impl Reloaded {
    /// What is told whoever has asked; with an error `weir reload` ends with status 1.
    pub(super) fn answer(self) -> Result<String, String> {
        match self {
            Reloaded::Whole(said) => Ok(said),
            Reloaded::InPart(said) | Reloaded::Refused(said) => Err(said),
        }
    }
}

/// What becomes of a part of the server.
#[derive(Debug)]
enum Next<T> {
    /// It stays.
    Same,
    Other(T),
}

impl Live<'_> {
    /// Reads the configuration anew and takes it. What came of it is logged.
    pub(super) async fn reload(&mut self) -> Reloaded {
        self.manager.reloading();
        let reloaded = match self.read_and_take().await {
            Ok((said, stay)) => {
                tracing::info!("{said}");
                match stay.is_empty() {
                    true => Reloaded::Whole(said),
                    false => Reloaded::InPart(format!("{}\n{said}", stay.join("\n"))),
                }
            }
            Err(why) => {
                tracing::error!("the configuration stays as it was: {why}");
                Reloaded::Refused(why)
            }
        };
        self.manager.ready(&self.status());
        reloaded
    }

    /// Returns what has changed, and which certificates stay as they were, which is logged. An error says why
    /// everything is as it was.
    async fn read_and_take(&mut self) -> Result<(String, Vec<String>), String> {
        if let Some(process) = &self.offered_to {
            return Err(format!(
                "{process} is starting as a successor; give it the new configuration"
            ));
        }
        let next = self.read().await?;
        let changes = self.changes_to(&next)?;
        let (next, opened) = self.open_files(next, changes).await?;
        let prepared = self.prepare(&next, opened).map_err(|wrong| wrong.to_string())?;
        let Opened { changes, missing_pages, .. } = &prepared.opened;
        let mut said = said(changes);
        for warning in next.warnings().iter().chain(missing_pages) {
            tracing::warn!("{warning}");
            said = format!("{said}\nwarning: {warning}");
        }
        let stay = self.take(next, prepared).await;
        Ok((said, stay))
    }

    /// Has a helper read the configuration anew.
    async fn read(&self) -> Result<Config, String> {
        let read = self.program.read.clone();
        let next = by_helper_in_time(move |step| {
            step.begin("the configuration file");
            read()
        });
        next.await?.map_err(|wrong| wrong.to_string())
    }

    /// What `next` changes, if this server can take it.
    fn changes_to(&self, next: &Config) -> Result<Changes, String> {
        let changes = self.config.changes(next);
        if changes.for_life.is_empty() {
            return Ok(changes);
        }
        // A successor that somebody starts by hand would not run in the unit.
        let how = if self.manager.socket().is_some() { BY_RESTART } else { BY_HAND_OVER };
        let why = why_names(&changes);
        Err(format!("{} can be changed by {how}{why}", quoted(&changes.for_life)))
    }

    /// Has a helper open all files that `next` needs. Nothing is changed.
    async fn open_files(&self, next: Config, changes: Changes) -> Result<(Config, Opened), String> {
        let certificates = self.certificates.as_ref().map(|watched| &watched.certificates);
        let Shared { disks, metrics, routes, .. } = &self.shared;
        let running = Running {
            compressor: self.compressor_of(&next, &changes),
            changes,
            has_same_sites: has_same_sites(&self.config, &next),
            workers: self.workers.len(),
            disks: disks.clone(),
            metrics: metrics.clone(),
            routes: routes.clone(),
            certificate_files: certificates.map(|certificates| certificates.files().clone()),
            certificate_store: certificates.map(|certificates| certificates.store().clone()),
        };
        let opened = by_helper_in_time(move |step| {
            let opened = Opened::open(&next, running, step);
            opened.map(|opened| (next, opened))
        });
        opened.await?.map_err(|wrong| wrong.to_string())
    }

    /// Listens where `next` has it that nobody has listened before. Nothing is changed.
    fn prepare(&self, next: &Config, opened: Opened) -> Result<Prepared, ServeError> {
        let access = Access::open(&next.access, self.shared.access.as_deref());
        let admin = match opened.changes.contain(&["admin"]) {
            true => {
                let address = next.admin.as_ref();
                let listener = address.map(|address| listen::open_admin(next, address));
                Next::Other(listener.transpose()?)
            }
            false => Next::Same,
        };
        let moves = self.addresses.prepare(next)?;
        Ok(Prepared { opened, access, moves, admin })
    }

    /// What compresses; with all that it keeps, if keys about that are the same.
    fn compressor_of(&self, next: &Config, changes: &Changes) -> Option<Arc<Compressor>> {
        let stays = !changes.contain_compression() && Compressor::is_used(next);
        match self.shared.compressor.as_ref().filter(|_| stays) {
            Some(before) => Some(before.clone()),
            None => Compressor::open(next, &self.shared.metrics),
        }
    }

    /// From the next request of each connection on, the server is that of `next`. Returns which certificates
    /// stay as they were, and why.
    async fn take(&mut self, next: Config, prepared: Prepared) -> Vec<String> {
        let Prepared { opened, access, mut moves, admin } = prepared;
        let Opened { changes, access_log, certificates, compressor, routes, sites, .. } = opened;
        let in_its_format = || self.shared.access_log.in_format(next.logs.log_format);
        let access_log = access_log.unwrap_or_else(in_its_format);
        if changes.contain(&["log"]) {
            (self.program.set_log_level)(next.logs.log.0);
        }
        messages::write_as(next.logs.messages);
        let stay = self.take_certificates(certificates);
        let before = self.backends();
        if let Some(uplink) = &self.shared.uplink
            && changes.contain(UPLINK)
            && let Some(config) = next.uplink_config()
        {
            uplink.change(&config);
        }
        let keeper = |compressor: &Option<Arc<Compressor>>| compressor.as_ref().map(Arc::as_ptr);
        if keeper(&compressor) != keeper(&self.shared.compressor) {
            // Another one begins with nothing. Responses under way hold the one before, but need not hold
            // what it remembers.
            if let Some(before) = &self.shared.compressor {
                before.give_up();
            }
        }
        let tls = self.certificates.as_ref().map(|watched| watched.certificates.server().clone());
        if changes.contain(&["access_log"]) {
            // Responses under way are logged to the one before.
            self.old_logs.retain(|log| !log.has_ended());
            self.old_logs.extend(self.shared.access_log.thread());
        }
        self.shared = Shared {
            routes: routes.commit(),
            compressor,
            access,
            proxy_protocol: next.proxy_protocol.clone(),
            exempt: next.uplink_exempt.clone(),
            access_log,
            times: Times::new(&next),
            tls,
            hsts: next.hsts.map(|hsts| hsts.line().into()),
            tls_port: moves.tls_port(&next),
            ..self.shared.clone()
        };
        self.passwords = self.shared.routes.clone().map(watch_passwords);
        let new_addresses = moves.new_addresses();
        self.addresses.take(&mut moves);
        if changes.contain(&["send_timeout"]) {
            self.addresses.set_patience(&next);
        }
        let Moves { opened, ports, closed, .. } = moves;
        let mut taken = Vec::new();
        for ((worker, opened), sites) in self.workers.iter().zip(opened).zip(sites) {
            let (sender, receiver) = oneshot::channel();
            let ports = ports.clone();
            let change = Box::new(Change { shared: self.shared.clone(), sites, opened, ports });
            // One that has ended serves nobody.
            let _ = worker.send(Order::Take { change, taken: sender });
            taken.push(receiver);
        }
        self.take_admin(&next, admin);
        for backend in before.difference(&self.backends()) {
            self.shared.metrics.backends.forget(backend);
            self.shared.metrics.answers.forget(backend);
        }
        for worker in hanging(taken).await {
            tracing::error!("worker {worker} hangs, and serves by the configuration before");
        }
        self.close(&closed).await;
        let moved = self.admin.as_ref().and_then(AdminAddress::address);
        announce(&next, &new_addresses, moved.filter(|_| changes.contain(&["admin"])));
        self.config = next;
        stay
    }

    /// Those of the same files were read anew all the same: it was asked for. Returns which of them stay as
    /// they were, and why.
    fn take_certificates(&mut self, certificates: NextCertificates) -> Vec<String> {
        match certificates {
            NextCertificates::Same(read) => {
                let both = self.certificates.as_ref().zip(read);
                let taken = both.map(|(watched, read)| watched.certificates.use_anew(read));
                taken.unwrap_or_default()
            }
            NextCertificates::Other(next) => {
                let before = self.certificates.take();
                let before = before.as_ref().map(|watched| &*watched.certificates);
                match next {
                    Some(next) => {
                        next.begin(before);
                        self.certificates = Some(Watched::new(next));
                    }
                    None => before.iter().for_each(|before| before.end()),
                }
                Vec::new()
            }
        }
    }

    fn take_admin(&mut self, next: &Config, listener: Next<Option<Listener>>) {
        let taken = match (self.admin.take(), listener) {
            (Some(mut admin), listener) => {
                admin.show(next, &self.shared);
                let moved = match listener {
                    Next::Other(listener) => admin.move_to(listener),
                    Next::Same => Ok(()),
                };
                self.admin = Some(admin);
                moved
            }
            (None, Next::Other(Some(listener))) => {
                let admin = AdminAddress::start(next, &self.shared, self.shown.clone(), listener);
                admin.map(|admin| self.admin = Some(admin))
            }
            (None, Next::Other(None) | Next::Same) => Ok(()),
        };
        if let Err(error) = taken {
            tracing::error!("the admin address stays as it was: {error}");
        }
    }

    /// The addresses of all backends.
    fn backends(&self) -> HashSet<String> {
        let routes = self.shared.routes.iter();
        routes.flat_map(|routes| routes.backends()).map(|(address, _)| address).collect()
    }
}

/// Why `tls_names` is among what has changed, if nobody has changed that key.
fn why_names(changes: &Changes) -> &'static str {
    const NAMES: &str = "tls_names";
    match changes.for_life.contains(&NAMES) && !changes.contain(&[NAMES]) {
        true => {
            "; which certificates weir obtains, and how, follows from `tls`, the hosts of the routes and \
             `listen_clear`, too"
        }
        false => "",
    }
}

/// What has changed, for people.
fn said(changes: &Changes) -> String {
    match changes.keys.as_slice() {
        [] => "the configuration was read anew: nothing has changed".to_owned(),
        keys => format!("the configuration was read anew; changed: {}", quoted(keys)),
    }
}

fn quoted(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    keys.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nobody_changed_are_explained_and_others_are_not() {
        let named = |key| Changes { keys: vec![key], for_life: vec!["tls_names"] };
        assert!(why_names(&named("route")).contains("the hosts of the routes"));
        assert_eq!(why_names(&named("tls_names")), "");
        assert_eq!(why_names(&Changes { keys: vec!["cache"], for_life: vec!["cache"] }), "");
    }
}
