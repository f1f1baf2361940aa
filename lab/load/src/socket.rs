//! Opens connections: from which address, with which buffer, and which outcome a failure has. The
//! engine uses it for every attempt on a new connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use nix::sys::socket::sockopt::IpBindAddressNoPort;
use rustix::io::Errno;
use socket2::{Domain, Socket, Type};
use weir_stats::Outcome;

use crate::error::Error;
use crate::plan::{Plan, Source};

/// A slow reader's. Set before connecting, so that the window offered is small from the start.
const SLOW_BUFFER: usize = 4096;

/// Begin to connect; the socket is writable when the connection stands.
pub(crate) fn connect(server: SocketAddr, from: Option<IpAddr>, slow: bool) -> io::Result<OwnedFd> {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM.nonblocking(), None)?;
    if slow {
        socket.set_recv_buffer_size(SLOW_BUFFER)?;
    }
    if let Some(address) = from {
        bind(&socket, address)?;
    }
    match socket.connect(&server.into()) {
        Err(e) if e.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(e),
        _ => Ok(socket.into()),
    }
}

fn bind(socket: &Socket, address: IpAddr) -> io::Result<()> {
    // The port is chosen when connecting, so that one may serve towards several servers.
    nix::sys::socket::setsockopt(socket, IpBindAddressNoPort, &true)?;
    socket.bind(&SocketAddr::new(address, 0).into())
}

/// What the user sees when there is no connection because of `error`.
pub(crate) fn outcome(error: &io::Error) -> Outcome {
    const OURS: [Errno; 6] = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOBUFS,
        Errno::NOMEM,
        Errno::ADDRNOTAVAIL,
        Errno::ADDRINUSE,
    ];
    match Errno::from_io_error(error) {
        Some(errno) if OURS.contains(&errno) => Outcome::Unsent,
        _ => Outcome::Refused,
    }
}

/// The source addresses of every class, each taken in turn.
pub(crate) struct Sources {
    classes: Vec<(Source, usize)>,
}

impl Sources {
    /// Takes the plan's, and makes sure that each can be bound on this host.
    pub(crate) fn new(plan: &Plan) -> Result<Sources, Error> {
        for address in plan.sources.iter().flat_map(|source| &source.addresses) {
            let domain = Domain::for_address(plan.server);
            Socket::new(domain, Type::STREAM, None)
                .and_then(|socket| bind(&socket, *address))
                .map_err(|e| unusable(*address, plan.server, &e))?;
        }
        let classes = plan.sources.iter().map(|source| (source.clone(), 0)).collect();
        Ok(Sources { classes })
    }

    /// The next address of a class, if it has any.
    pub(crate) fn next(&mut self, class: u16) -> Option<IpAddr> {
        let (source, turn) = self.classes.get_mut(usize::from(class))?;
        let address = source.addresses.get(*turn)?;
        *turn = (*turn + 1) % source.addresses.len();
        Some(*address)
    }
}

fn unusable(address: IpAddr, server: SocketAddr, error: &io::Error) -> Error {
    let advice = if address.is_ipv4() == server.is_ipv4() {
        format!("give it to an interface first: ip address add {address} dev INTERFACE")
    } else {
        format!("it is of another family than the server's address {}", server.ip())
    };
    Error(format!("cannot send from the source address {address}: {error}; {advice}"))
}
