//! Opens a listening socket with the options that its connections inherit. Used by [`super::Listeners`],
//! and by `weir serve --check`.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use rustix::net::sockopt::set_tcp_quickack;
use socket2::{Domain, Protocol, Type};

use crate::client::unsent;
use crate::sys::keep_alive::keep_alive;

/// How many connections may wait to be accepted; the kernel cuts it to net.core.somaxconn.
pub(super) const BACKLOG: i32 = 4096;

/// Opens `address`; `shared`: several workers will listen on it.
pub(crate) fn open(
    address: SocketAddr,
    shared: bool,
    patience: Duration,
) -> io::Result<TcpListener> {
    let socket = bind(address, shared)?;
    // Connections inherit these: no waiting for acknowledgements before the last segment, and a
    // client that has silently vanished is noticed, by probes when nothing is under way to it.
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_user_timeout(Some(patience))?;
    socket.set_tcp_keepalive(&keep_alive(patience))?;
    // What a slow client has not taken stays in the file, not in the kernel's memory.
    socket.set_tcp_notsent_lowat(unsent::LEAST)?;
    // An acknowledgement of its own for each request would cost the uplink a packet: the response
    // carries it, or a timer of 40 ms.
    set_tcp_quickack(&socket, false)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// A socket that has `address` and does not listen yet.
pub(crate) fn bind(address: SocketAddr, shared: bool) -> io::Result<socket2::Socket> {
    let socket =
        socket2::Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    if address.is_ipv6() {
        // IPv4 has sockets of its own, so that both can be named.
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Tells whether `address` is free. Sockets that share a port would share it with another server of
/// the same user, too; each would get some of the connections.
pub(crate) fn is_free(address: SocketAddr) -> io::Result<()> {
    open(address, false, Duration::from_secs(1)).map(drop)
}
