//! The addresses that the server listens on: opened before anything starts, one set of sockets to a worker
//! and one socket for the admin address, and changed while it runs. A new address is listened on before an
//! old one is closed, and one that stays keeps its sockets.

use std::io;
use std::iter;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{MutexGuard, PoisonError};

use socket2::SockRef;

use super::listener::Listener;
use super::opening::{check_free, open_for_admin, open_for_workers};
use super::passed::{Passed, Role};
use super::sockets;
use crate::config::{Config, ListenAddress, PortKind};
use crate::error::ServeError;
use crate::metrics::{Watched, WatchedSockets};

/// The listening sockets of a server that starts.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// One set to a worker.
    pub(crate) workers: Vec<Vec<Listener>>,
    /// Where all workers listen.
    pub(crate) addresses: Addresses,
    /// The listener of the admin address, if there is one.
    pub(crate) admin: Option<Listener>,
}

impl Listeners {
    /// Listens on all addresses of the configuration, on sockets that were `passed` where there are any.
    ///
    /// # Errors
    ///
    /// An address that cannot be listened on, such as one that another server has.
    pub(crate) fn open(config: &Config, passed: &mut Passed) -> Result<Listeners, ServeError> {
        let own =
            |(address, _): (&'_ ListenAddress, PortKind)| !passed.have(Role::Workers, address);
        check_free(config, config.ports().filter(|port| own(*port)).map(|(address, _)| address))?;
        let mut addresses = Addresses::default();
        let mut moves = addresses.no_moves(config.workers);
        for (address, port) in config.ports() {
            moves.open(config, address, port, passed)?;
        }
        addresses.take(&mut moves);
        let admin = config.admin.as_ref();
        let admin = admin.map(|address| open_for_admin(config, address, passed)).transpose()?;
        Ok(Listeners { workers: moves.opened, addresses, admin })
    }
}

/// Listens on an admin address that the server had not when it started.
///
/// # Errors
///
/// As [`Listeners::open`].
pub(crate) fn open_admin(config: &Config, address: &ListenAddress) -> Result<Listener, ServeError> {
    open_for_admin(config, address, &mut Passed::default())
}

/// An address on which all workers listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// Its number.
    pub(crate) id: u64,
    /// As the configuration has it.
    pub(crate) configured: ListenAddress,
    /// With the port that the kernel chose.
    pub(crate) address: ListenAddress,
    /// What is spoken there.
    pub(crate) port: PortKind,
    /// It is a Unix socket whose file is removed with it.
    pub(crate) has_own_file: bool,
}

/// Where all workers listen.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    served: Vec<Served>,
    /// The number of the next one.
    next: u64,
    watched: WatchedSockets,
}

/// How the addresses of one configuration become those of another.
#[derive(Debug)]
pub(crate) struct Moves {
    /// New listeners, by worker.
    pub(crate) opened: Vec<Vec<Listener>>,
    /// What is spoken on addresses that stay, where that changes.
    pub(crate) ports: Vec<(u64, PortKind)>,
    /// The numbers of those that are not listened on any more.
    pub(crate) closed: Vec<u64>,
    served: Vec<Served>,
    watched: Vec<Watched>,
    next: u64,
}

impl Addresses {
    /// Where they listen, in the order of the configuration.
    pub(crate) fn served(&self) -> &[Served] {
        &self.served
    }

    /// Copies of the sockets, to see how many connections wait there.
    pub(crate) fn watched(&self) -> &WatchedSockets {
        &self.watched
    }

    /// The port with TLS that clients are sent to.
    pub(crate) fn tls_port(&self, config: &Config) -> Option<u16> {
        tls_port(config, &self.served)
    }

    /// Listens on the addresses of `config` that are new. Those that stay are left alone, and nothing is
    /// closed yet: dropped, this has changed nothing.
    ///
    /// # Errors
    ///
    /// As [`Listeners::open`].
    pub(crate) fn prepare(&self, config: &Config) -> Result<Moves, ServeError> {
        let mut before = self.served.clone();
        let stays = config.ports().map(|(address, port)| {
            let place = before.iter().position(|served| served.configured == *address);
            (address, port, place.map(|place| before.remove(place)))
        });
        let stays: Vec<_> = stays.collect();
        let new = stays.iter().filter(|(.., served)| served.is_none());
        check_free(config, new.map(|(address, ..)| *address))?;
        let mut moves = self.no_moves(config.workers);
        moves.closed = before.iter().map(|served| served.id).collect();
        for (address, port, served) in stays {
            match served {
                Some(served) => moves.keep(served, port),
                None => moves.open(config, address, port, &mut Passed::default())?,
            }
        }
        Ok(moves)
    }

    /// Nothing is opened or closed, and nothing listened on.
    fn no_moves(&self, workers: usize) -> Moves {
        Moves {
            opened: iter::repeat_with(Vec::new).take(workers).collect(),
            ports: Vec::new(),
            closed: Vec::new(),
            served: Vec::new(),
            watched: Vec::new(),
            next: self.next,
        }
    }

    /// The server listens as `moves` say, but for what is closed by [`Addresses::close`].
    pub(crate) fn take(&mut self, moves: &mut Moves) {
        self.served = std::mem::take(&mut moves.served);
        self.next = moves.next;
        self.lock().append(&mut moves.watched);
    }

    /// Has clients of these addresses let in at once from now on: those who wait with nothing sent would be
    /// reset when their listener closes.
    pub(crate) fn wait_for_nothing(&self, ids: &[u64]) {
        let watched = self.lock();
        let of_these = watched.iter().filter(|watched| ids.contains(&watched.id));
        of_these.for_each(sockets::wait_for_nothing);
    }

    /// Closes the copies of the sockets of these addresses. The workers close their own.
    pub(crate) fn close(&self, ids: &[u64]) {
        self.lock().retain(|watched| !ids.contains(&watched.id));
    }

    /// How long clients that connect from now on may take no data.
    pub(crate) fn set_patience(&self, config: &Config) {
        for watched in self.lock().iter() {
            // On a Unix socket nobody vanishes silently, and there is no such option.
            let _ = sockets::set_patience(&SockRef::from(&watched.socket), config.send_timeout);
        }
    }

    /// Copies of all sockets, each with the number of its address.
    ///
    /// # Errors
    ///
    /// There are no descriptors.
    pub(crate) fn copies(&self) -> io::Result<Vec<(u64, OwnedFd)>> {
        let watched = self.lock();
        let copies =
            watched.iter().map(|watched| Ok((watched.id, watched.as_fd().try_clone_to_owned()?)));
        copies.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Moves {
    /// The port with TLS that clients are sent to, afterwards.
    pub(crate) fn tls_port(&self, config: &Config) -> Option<u16> {
        tls_port(config, &self.served)
    }

    /// The addresses that are new.
    pub(crate) fn new_addresses(&self) -> Vec<Served> {
        let opened = self.opened.iter().flatten().map(|listener| listener.id);
        let opened: Vec<u64> = opened.collect();
        self.served.iter().filter(|served| opened.contains(&served.id)).cloned().collect()
    }

    fn keep(&mut self, served: Served, port: PortKind) {
        if served.port != port {
            self.ports.push((served.id, port));
        }
        self.served.push(Served { port, ..served });
    }

    fn open(
        &mut self,
        config: &Config,
        configured: &ListenAddress,
        port: PortKind,
        passed: &mut Passed,
    ) -> Result<(), ServeError> {
        let id = self.next;
        let listeners = open_for_workers(config, id, configured, port, passed)?;
        self.watched.append(&mut copies(&listeners)?);
        let first = listeners.first();
        let address = first.map_or_else(|| configured.clone(), |first| first.address.clone());
        let has_own_file = first.is_some_and(|first| first.file.is_some());
        let configured = configured.clone();
        self.served.push(Served { id, configured, address, port, has_own_file });
        self.next = id + 1;
        deal(listeners, &mut self.opened);
        Ok(())
    }
}

/// The port that is published, or the first one with TLS.
fn tls_port(config: &Config, served: &[Served]) -> Option<u16> {
    let first = || {
        served.iter().find_map(|served| match (&served.address, served.port) {
            (ListenAddress::Tcp(address), PortKind::Tls) => Some(address.port()),
            _ => None,
        })
    };
    config.public_tls_port.or_else(first)
}

fn copies(listeners: &[Listener]) -> Result<Vec<Watched>, ServeError> {
    let copies = listeners
        .iter()
        .map(|listener| Ok(Watched { id: listener.id, socket: listener.copy_socket()? }));
    copies.collect::<io::Result<_>>().map_err(|error| ServeError::new("cannot listen", &error))
}

/// Gives each worker its listeners, one after the other.
fn deal(listeners: Vec<Listener>, workers: &mut [Vec<Listener>]) {
    let count = workers.len().max(1);
    for (place, listener) in listeners.into_iter().enumerate() {
        if let Some(worker) = workers.get_mut(place % count) {
            worker.push(listener);
        }
    }
}

#[cfg(test)]
mod tests;
