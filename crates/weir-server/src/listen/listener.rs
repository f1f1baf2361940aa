//! A listening socket of one worker, on a TCP port or a Unix socket. Opened by [`super::Listeners`]; the
//! accept loop takes its connections.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, acceptfrom_with};

use super::unix::SocketFile;
use super::{sockets, unix};
use crate::config::{Config, ListenAddress, PortKind};
use crate::identity::PeerAddress;

/// See the module.
#[derive(Debug)]
pub(crate) struct Listener {
    /// Where it listens, with the port that the kernel chose.
    pub(crate) address: ListenAddress,
    /// What is spoken there.
    pub(crate) port: PortKind,
    /// The file of a Unix socket, which is removed with the last worker's listener.
    pub(super) file: Option<Arc<SocketFile>>,
    pub(super) socket: OwnedFd,
}

impl Listener {
    /// `port`: what is spoken there; `shared`: several workers will listen on `address`.
    ///
    /// # Errors
    ///
    /// Why nobody can listen there, such as another server that does.
    pub(super) fn open(
        config: &Config,
        address: &ListenAddress,
        port: PortKind,
        shared: bool,
    ) -> io::Result<Listener> {
        match address {
            ListenAddress::Tcp(address) => {
                let listener = sockets::open(*address, shared, config.send_timeout)?;
                if config.kernel_config().is_some() {
                    sockets::give_handshakes_priority(&listener);
                }
                let address = ListenAddress::Tcp(listener.local_addr()?);
                Ok(Listener { address, port, file: None, socket: listener.into() })
            }
            ListenAddress::Unix(path) => {
                let (socket, file) = unix::open(path)?;
                let (address, file) = (address.clone(), Some(Arc::new(file)));
                Ok(Listener { address, port, file, socket })
            }
            ListenAddress::Abstract(name) => {
                let socket = unix::open_abstract(name)?;
                Ok(Listener { address: address.clone(), port, file: None, socket })
            }
        }
    }

    /// A listener on the same address for another worker. On a port it is a socket of its own, with its
    /// own share of the connections (SO_REUSEPORT). Unix sockets have no such thing: all workers take
    /// connections from one queue.
    ///
    /// # Errors
    ///
    /// There is no descriptor, or the port was taken meanwhile.
    pub(super) fn another(&self, config: &Config) -> io::Result<Listener> {
        match &self.address {
            ListenAddress::Tcp(_) => Listener::open(config, &self.address, self.port, true),
            ListenAddress::Unix(_) | ListenAddress::Abstract(_) => Ok(Listener {
                address: self.address.clone(),
                port: self.port,
                file: self.file.clone(),
                socket: self.socket.try_clone()?,
            }),
        }
    }

    /// Has connections accepted together with their first bytes, where the kernel can tell.
    pub(super) fn wait_for_requests(&self) -> io::Result<()> {
        match &self.address {
            ListenAddress::Tcp(_) => sockets::wait_for_requests(&self.socket),
            ListenAddress::Unix(_) | ListenAddress::Abstract(_) => Ok(()),
        }
    }
}

/// Accepts a connection, if one waits at `listener`; `is_tcp`: it is a port.
pub(super) fn take(listener: &OwnedFd, is_tcp: bool) -> io::Result<(OwnedFd, PeerAddress)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    if !is_tcp {
        return Ok((accept_with(listener, flags)?, PeerAddress::Unix));
    }
    let (fd, peer) = acceptfrom_with(listener, flags)?;
    let peer = peer.and_then(|peer| peer.try_into().ok()).map(PeerAddress::Ip);
    // Only an address of another family could be missing.
    Ok((fd, peer.ok_or(Errno::CONNABORTED)?))
}
