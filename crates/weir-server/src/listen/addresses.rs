//! The listening sockets that the configuration names, opened before anything starts: one set to a
//! worker, and one for the admin address. `serve` uses it.

use std::io;
use std::net::{SocketAddr, TcpListener};

use crate::app::ServeError;
use crate::config::Config;
use crate::listen;

/// One set of listeners to a worker.
///
/// # Errors
///
/// An address that cannot be listened on, such as one that another server has.
pub(crate) fn open_all(config: &Config) -> Result<Vec<Vec<TcpListener>>, ServeError> {
    let shared = config.workers > 1 || config.reuse_port;
    for address in config.listen.iter().filter(|_| shared && !config.reuse_port) {
        listen::is_free(*address).map_err(|error| cannot_listen(*address, &error))?;
    }
    let mut addresses = config.listen.clone();
    let mut all = Vec::new();
    for _ in 0..config.workers {
        let mut listeners = Vec::new();
        for address in &mut addresses {
            let listener = open(config, *address, shared)?;
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

/// The listener of the admin address, if there is one.
pub(crate) fn open_admin(config: &Config) -> Result<Option<TcpListener>, ServeError> {
    config.admin.map(|address| open(config, address, config.reuse_port)).transpose()
}

fn open(config: &Config, address: SocketAddr, shared: bool) -> Result<TcpListener, ServeError> {
    listen::open(address, shared, config.send_timeout)
        .map_err(|error| cannot_listen(address, &error))
}

pub(crate) fn cannot_listen(address: SocketAddr, error: &io::Error) -> ServeError {
    ServeError::new(format!("cannot listen on {address}"), error)
}

/// The addresses on which all workers listen.
pub(crate) fn of(listeners: &[TcpListener]) -> Result<Vec<SocketAddr>, ServeError> {
    let addresses: io::Result<Vec<_>> = listeners.iter().map(TcpListener::local_addr).collect();
    addresses.map_err(|error| ServeError::new("cannot listen", &error))
}

/// Copies of all of them, to see how many connections wait there.
pub(crate) fn copies(listeners: &[Vec<TcpListener>]) -> Result<Vec<TcpListener>, ServeError> {
    let copies: io::Result<Vec<_>> =
        listeners.iter().flatten().map(TcpListener::try_clone).collect();
    copies.map_err(|error| ServeError::new("cannot listen", &error))
}
