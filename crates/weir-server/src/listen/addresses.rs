//! The listening sockets that the configuration names, opened before anything starts: one set to a
//! worker, and one socket for the admin address. Used by the server when it starts.

use std::fmt::Display;
use std::io;
use std::iter;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use super::listener::Listener;
use super::sockets;
use crate::config::{Config, ListenAddress, PortKind};
use crate::error::ServeError;

/// See the module.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// One set to a worker.
    pub(crate) workers: Vec<Vec<Listener>>,
    /// The addresses on which all workers listen, and what is spoken there.
    pub(crate) served: Vec<(ListenAddress, PortKind)>,
    /// The listener of the admin address, if there is one.
    pub(crate) admin: Option<Listener>,
    /// Copies of the workers' sockets, to see how many connections wait there.
    pub(crate) watched: Arc<Mutex<Vec<OwnedFd>>>,
}

impl Listeners {
    /// Listens on all addresses of the configuration.
    ///
    /// # Errors
    ///
    /// An address that cannot be listened on, such as one that another server has.
    pub(crate) fn open(config: &Config) -> Result<Listeners, ServeError> {
        let workers = open_all(config)?;
        let first = workers.first().map(Vec::as_slice).unwrap_or_default();
        let served =
            first.iter().map(|listener| (listener.address.clone(), listener.port)).collect();
        let copies = workers.iter().flatten().map(|listener| listener.socket.try_clone());
        let watched = copies.collect::<io::Result<_>>();
        let watched = watched.map_err(|error| ServeError::new("cannot listen", &error))?;
        let admin = config.admin.as_ref();
        let admin = admin.map(|address| open(config, address, PortKind::Clear, config.reuse_port));
        let admin = admin.transpose()?;
        Ok(Listeners { workers, served, admin, watched: Arc::new(Mutex::new(watched)) })
    }
}

fn open_all(config: &Config) -> Result<Vec<Vec<Listener>>, ServeError> {
    let shared = config.workers > 1 || config.reuse_port;
    for (address, _) in config.ports().filter(|_| shared && !config.reuse_port) {
        if let ListenAddress::Tcp(address) = address {
            sockets::is_free(*address).map_err(|error| cannot_listen(address, &error))?;
        }
    }
    let mut all: Vec<_> = iter::repeat_with(Vec::new).take(config.workers).collect();
    for (address, port) in config.ports() {
        let first = open(config, address, port, shared)?;
        let others = (1..config.workers).map(|_| first.another(config));
        let others = others.collect::<io::Result<Vec<_>>>();
        let others = others.map_err(|error| cannot_listen(address, &error))?;
        for (listeners, listener) in all.iter_mut().zip(iter::once(first).chain(others)) {
            listener.wait_for_requests().map_err(|error| cannot_listen(address, &error))?;
            listeners.push(listener);
        }
    }
    Ok(all)
}

fn open(
    config: &Config,
    address: &ListenAddress,
    port: PortKind,
    shared: bool,
) -> Result<Listener, ServeError> {
    Listener::open(config, address, port, shared).map_err(|error| cannot_listen(address, &error))
}

pub(crate) fn cannot_listen(address: impl Display, error: &io::Error) -> ServeError {
    ServeError::new(format!("cannot listen on {address}"), error)
}

#[cfg(test)]
mod tests {
    use super::super::listener::take;
    use super::*;
    use crate::config;
    use crate::identity::PeerAddress;
    use std::os::unix::net::UnixStream;

    #[test]
    fn workers_share_a_unix_socket_that_goes_with_the_last() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("weir.sock");
        let text = format!("workers = 3\nlisten = \"unix:{}\"\n", path.display());
        let config = Config::from_settings(config::parse(&text).unwrap()).unwrap();
        let listeners = Listeners::open(&config).unwrap();
        let served: Vec<_> =
            config.listen.iter().cloned().map(|at| (at, PortKind::Clear)).collect();
        assert_eq!(listeners.served, served);
        assert_eq!((listeners.workers.len(), listeners.watched.lock().unwrap().len()), (3, 3));
        for mut worker in listeners.workers {
            assert!(path.exists());
            let _client = UnixStream::connect(&path).unwrap();
            let Listener { socket, file, .. } = worker.pop().unwrap();
            assert_eq!(take(&socket, false).unwrap().1, PeerAddress::Unix);
            drop(file);
        }
        assert!(!path.exists());
    }
}
