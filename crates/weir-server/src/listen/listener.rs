//! A listening socket of one worker, on a TCP port or a Unix socket. Opened by [`super::Listeners`] and
//! [`super::Addresses`]; the accept loop takes its connections.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, acceptfrom_with};
use socket2::SockRef;

use super::unix::{EVERYBODY, SocketFile};
use super::{sockets, unix};
use crate::config::{Config, ListenAddress, PortKind};
use crate::identity::PeerAddress;

/// See the module.
#[derive(Debug)]
pub(crate) struct Listener {
    /// The number of its address, the same for all workers.
    pub(crate) id: u64,
    /// Where it listens, with the port that the kernel chose.
    pub(crate) address: ListenAddress,
    /// What is spoken there.
    pub(crate) port: PortKind,
    /// The file of a Unix socket, which is removed with the last worker's listener.
    pub(crate) file: Option<Arc<SocketFile>>,
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
                Listener::on_port(config, port, listener)
            }
            ListenAddress::Unix(path) => {
                let (socket, file) = unix::open(path, EVERYBODY)?;
                let (address, file) = (address.clone(), Some(Arc::new(file)));
                Ok(Listener { id: 0, address, port, file, socket })
            }
            ListenAddress::Abstract(name) => {
                let socket = unix::open_abstract(name)?;
                Ok(Listener { id: 0, address: address.clone(), port, file: None, socket })
            }
        }
    }

    /// One on a socket that somebody else has opened on `address`; `file`: its file, if it is ours.
    ///
    /// # Errors
    ///
    /// It is not a socket that connections could be accepted from.
    pub(super) fn passed(
        config: &Config,
        address: &ListenAddress,
        port: PortKind,
        socket: OwnedFd,
        file: Option<Arc<SocketFile>>,
    ) -> io::Result<Listener> {
        match address {
            ListenAddress::Tcp(_) => {
                sockets::listen(&SockRef::from(&socket), config.send_timeout)?;
                Listener::on_port(config, port, socket.into())
            }
            ListenAddress::Unix(_) | ListenAddress::Abstract(_) => {
                let view = SockRef::from(&socket);
                view.set_nonblocking(true)?;
                view.listen(sockets::BACKLOG)?;
                Ok(Listener { id: 0, address: address.clone(), port, file, socket })
            }
        }
    }

    fn on_port(config: &Config, port: PortKind, listener: TcpListener) -> io::Result<Listener> {
        if config.kernel_config().is_some() {
            sockets::give_handshakes_priority(&listener);
        }
        let address = ListenAddress::Tcp(listener.local_addr()?);
        Ok(Listener { id: 0, address, port, file: None, socket: listener.into() })
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
            ListenAddress::Unix(_) | ListenAddress::Abstract(_) => self.copy(),
        }
    }

    /// A listener on the same socket, which takes connections from the same queue.
    ///
    /// # Errors
    ///
    /// There is no descriptor.
    pub(super) fn copy(&self) -> io::Result<Listener> {
        Ok(Listener {
            id: self.id,
            address: self.address.clone(),
            port: self.port,
            file: self.file.clone(),
            socket: self.copy_socket()?,
        })
    }

    /// The same, whose address has this number.
    pub(crate) fn numbered(self, id: u64) -> Listener {
        Listener { id, ..self }
    }

    /// The same socket under another descriptor.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn copy_socket(&self) -> io::Result<OwnedFd> {
        self.socket.try_clone()
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
