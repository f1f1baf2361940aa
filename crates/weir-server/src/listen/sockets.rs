//! Opens a listening socket with the options that its connections inherit. Used by [`super::Listeners`],
//! and by `weir serve --check`.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::net::sockopt::set_tcp_quickack;
use socket2::{Domain, Protocol, SockRef, Type};

use crate::sys;
use crate::sys::keep_alive::keep_alive;
use crate::transport::FIRST_UNSENT;
use crate::uplink::bands::CONTROL_PRIORITY;

/// How many connections may wait to be accepted; the kernel cuts it to net.core.somaxconn.
pub(super) const BACKLOG: i32 = 4096;

/// How long a connection waits in the kernel for its first bytes before it is accepted without them. The
/// least that the kernel knows; it sends the client one packet more then.
const REQUEST_COMES: Duration = Duration::from_secs(1);

/// Opens `address`; `shared`: several workers will listen on it.
pub(crate) fn open(
    address: SocketAddr,
    shared: bool,
    patience: Duration,
) -> io::Result<TcpListener> {
    let socket = bind(address, shared)?;
    listen(&socket, patience)?;
    Ok(socket.into())
}

/// Has a socket that is bound listen, or listen as if it had been opened here. `patience`: how long a client
/// may take no data.
pub(super) fn listen(socket: &socket2::Socket, patience: Duration) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    // Connections inherit these: no waiting for acknowledgements before the last segment, and a
    // client that has silently vanished is noticed, by probes when nothing is under way to it.
    socket.set_tcp_nodelay(true)?;
    set_patience(socket, patience)?;
    // What a slow client has not taken stays in the file, not in the kernel's memory.
    socket.set_tcp_notsent_lowat(FIRST_UNSENT)?;
    // An acknowledgement of its own for each request would cost the uplink a packet: the response
    // carries it, or a timer of 40 ms.
    set_tcp_quickack(socket, false)?;
    socket.listen(BACKLOG)
}

/// How long clients that connect from now on may take no data.
pub(super) fn set_patience(socket: &socket2::Socket, patience: Duration) -> io::Result<()> {
    socket.set_tcp_user_timeout(Some(patience))?;
    socket.set_tcp_keepalive(&keep_alive(patience))
}

/// Has SYN-ACKs of `listener` go before all responses in the kernel's bands: they carry its priority.
/// Connections do not inherit it.
pub(super) fn give_handshakes_priority(listener: &TcpListener) {
    // If it is refused, so are those of responses, and that is told.
    let _ = SockRef::from(listener).set_priority(CONTROL_PRIORITY);
}

/// Has connections to `listener` accepted together with their first bytes. Most requests come right behind
/// the handshake, but after it: a connection that is accepted before has to be watched for its request,
/// which costs more than answering it from memory.
pub(super) fn wait_for_requests(listener: impl AsFd) -> io::Result<()> {
    sys::defer_accept(listener, REQUEST_COMES)
}

/// Has connections accepted at once again, those that wait by now with their first bytes or after
/// [`REQUEST_COMES`]. Closing the listener resets who still waits, so this comes before the server stops.
pub(crate) fn wait_for_nothing(listener: impl AsFd) {
    // If it fails, connections are accepted as they were.
    let _ = sys::defer_accept(listener, Duration::ZERO);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Write};
    use std::net::TcpStream;

    #[test]
    fn a_connection_is_accepted_when_its_first_bytes_have_come() {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = open(address, false, Duration::from_secs(60)).unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = || match listener.accept() {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) => panic!("{error}"),
        };
        wait_for_requests(&listener).unwrap();
        let mut asking = TcpStream::connect(address).unwrap();
        assert!(!accepted());
        asking.write_all(b"GET").unwrap();
        while !accepted() {}
        // Who leaves without a request is not waited for, nor is anybody once the server stops.
        drop(TcpStream::connect(address).unwrap());
        while !accepted() {}
        wait_for_nothing(&listener);
        let _silent = TcpStream::connect(address).unwrap();
        while !accepted() {}
    }
}
