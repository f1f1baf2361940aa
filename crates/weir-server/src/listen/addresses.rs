//! The listening sockets that the configuration names, opened before anything starts: one set to a
//! worker, and one socket for the admin address. Used by the server when it starts.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use super::sockets;
use crate::config::Config;
use crate::error::ServeError;

/// See the module.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// One set to a worker.
    pub(crate) workers: Vec<Vec<TcpListener>>,
    /// The addresses on which all workers listen.
    pub(crate) served: Vec<SocketAddr>,
    /// The listener of the admin address, if there is one.
    pub(crate) admin: Option<(TcpListener, SocketAddr)>,
    /// Copies of the workers' listeners, to see how many connections wait there.
    pub(crate) watched: Arc<Mutex<Vec<TcpListener>>>,
}

impl Listeners {
    /// Listens on all addresses of the configuration.
    ///
    /// # Errors
    ///
    /// An address that cannot be listened on, such as one that another server has.
    pub(crate) fn open(config: &Config) -> Result<Listeners, ServeError> {
        let workers = open_all(config)?;
        let failed = |error: io::Error| ServeError::new("cannot listen", &error);
        let first = workers.first().map(Vec::as_slice).unwrap_or_default();
        let served: io::Result<_> = first.iter().map(TcpListener::local_addr).collect();
        let watched: io::Result<_> = workers.iter().flatten().map(TcpListener::try_clone).collect();
        let (served, watched) = (served.map_err(failed)?, watched.map_err(failed)?);
        let admin = match config.admin {
            None => None,
            Some(address) => {
                let listener = open(config, address, config.reuse_port)?;
                let address = listener.local_addr().map_err(failed)?;
                Some((listener, address))
            }
        };
        Ok(Listeners { workers, served, admin, watched: Arc::new(Mutex::new(watched)) })
    }
}

fn open_all(config: &Config) -> Result<Vec<Vec<TcpListener>>, ServeError> {
    let shared = config.workers > 1 || config.reuse_port;
    for address in config.listen.iter().filter(|_| shared && !config.reuse_port) {
        sockets::is_free(*address).map_err(|error| cannot_listen(*address, &error))?;
    }
    let mut addresses = config.listen.clone();
    let mut all = Vec::new();
    for _ in 0..config.workers {
        let mut listeners = Vec::new();
        for address in &mut addresses {
            let listener = open(config, *address, shared)?;
            sockets::wait_for_requests(&listener)
                .map_err(|error| cannot_listen(*address, &error))?;
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

fn open(config: &Config, address: SocketAddr, shared: bool) -> Result<TcpListener, ServeError> {
    sockets::open(address, shared, config.send_timeout)
        .map_err(|error| cannot_listen(address, &error))
}

pub(crate) fn cannot_listen(address: SocketAddr, error: &io::Error) -> ServeError {
    ServeError::new(format!("cannot listen on {address}"), error)
}
