//! Opens one address: a listener for each worker, on sockets of its own or on those that were passed. Used
//! by [`super::addresses`] when the server starts and when it takes a new configuration.

use std::fmt::Display;
use std::io;
use std::iter;
use std::sync::Arc;

use super::listener::Listener;
use super::passed::{Passed, PassedGroup, Role};
use super::sockets;
use super::unix::SocketFile;
use crate::config::{Config, ListenAddress, PortKind};
use crate::error::ServeError;

/// Fails if one of these ports is not free. Sockets that share a port would share it with another server of
/// the same user, too, so that is found out before they are opened.
///
/// # Errors
///
/// The first address that somebody else listens on.
pub(super) fn check_free<'a>(
    config: &Config,
    addresses: impl Iterator<Item = &'a ListenAddress>,
) -> Result<(), ServeError> {
    if config.workers == 1 || config.reuse_port {
        return Ok(());
    }
    for address in addresses {
        if let ListenAddress::Tcp(port) = address {
            sockets::is_free(*port).map_err(|error| cannot_listen(port, &error))?;
        }
    }
    Ok(())
}

/// Listens on `address`, whose number is `id`: one listener for each worker, or more if more sockets were
/// `passed`.
///
/// # Errors
///
/// It cannot be listened on, such as one that another server has.
pub(super) fn open_for_workers(
    config: &Config,
    id: u64,
    address: &ListenAddress,
    port: PortKind,
    passed: &mut Passed,
) -> Result<Vec<Listener>, ServeError> {
    let opened = match passed.take(Role::Workers, address) {
        Some(group) => taken_over(config, address, port, group),
        None => opened(config, address, port),
    };
    let numbered = opened.and_then(|listeners| {
        listeners.iter().try_for_each(Listener::wait_for_requests)?;
        Ok(listeners.into_iter().map(|listener| listener.numbered(id)).collect())
    });
    numbered.map_err(|error| cannot_listen(address, &error))
}

/// Listens on the admin address.
///
/// # Errors
///
/// As [`open_for_workers`].
pub(super) fn open_for_admin(
    config: &Config,
    address: &ListenAddress,
    passed: &mut Passed,
) -> Result<Listener, ServeError> {
    let listener = match passed.take(Role::Admin, address) {
        Some(mut group) => {
            group.sockets.truncate(1);
            let listeners = on_sockets(config, address, PortKind::Clear, group);
            listeners
                .and_then(|mut listeners| listeners.pop().ok_or(io::ErrorKind::NotFound.into()))
        }
        None => Listener::open(config, address, PortKind::Clear, config.reuse_port),
    };
    listener.map_err(|error| cannot_listen(address, &error))
}

fn opened(config: &Config, address: &ListenAddress, port: PortKind) -> io::Result<Vec<Listener>> {
    let shared = config.workers > 1 || config.reuse_port;
    let first = Listener::open(config, address, port, shared)?;
    let others = (1..config.workers).map(|_| first.another(config));
    let others = others.collect::<io::Result<Vec<_>>>()?;
    Ok(iter::once(first).chain(others).collect())
}

/// At least one for each worker. Where there are fewer sockets, and no more can be opened beside them,
/// workers share one.
fn taken_over(
    config: &Config,
    address: &ListenAddress,
    port: PortKind,
    group: PassedGroup,
) -> io::Result<Vec<Listener>> {
    let mut listeners = on_sockets(config, address, port, group)?;
    let passed = listeners.len();
    for place in passed..config.workers {
        let beside = &listeners[place % passed.max(1)];
        let another = beside.another(config).or_else(|_| beside.copy())?;
        listeners.push(another);
    }
    Ok(listeners)
}

fn on_sockets(
    config: &Config,
    address: &ListenAddress,
    port: PortKind,
    group: PassedGroup,
) -> io::Result<Vec<Listener>> {
    let file = match (address, &group.file) {
        (ListenAddress::Unix(path), Some(claim)) => SocketFile::inherited(path, claim),
        _ => None,
    };
    let file = file.map(Arc::new);
    let listeners = group
        .sockets
        .into_iter()
        .map(|socket| Listener::passed(config, address, port, socket, file.clone()));
    listeners.collect()
}

pub(crate) fn cannot_listen(address: impl Display, error: &io::Error) -> ServeError {
    ServeError::new(format!("cannot listen on {address}"), error)
}
