//! Listening sockets: opened before anything starts, then accepted from by every context.

pub(crate) mod addresses;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_quickack;
use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::{Domain, Protocol, TcpKeepalive, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::coop::consume_budget;
use tokio::task::yield_now;
use tokio::time::sleep;
use weir_sched::Time;

use crate::connection;
use crate::connection::context::{Context, Service};
use crate::metrics::note_event;
use crate::runtime::turn;
use crate::sys;
use crate::sys::clock;
use crate::sys::descriptors;
use crate::sys::socket::Socket;

/// How many connections may wait to be accepted; the kernel cuts it to net.core.somaxconn.
const BACKLOG: i32 = 4096;

/// Bytes the kernel keeps for a connection beyond what it has sent, before it says that there is room:
/// 0.2 ms at 10 Gbit/s.
const UNSENT: u32 = 256 * 1024;

/// How long to wait when descriptors are short.
const RECOVER: Duration = Duration::from_millis(50);

/// An error that comes again within this time is not logged again.
const QUIET: Duration = Duration::from_secs(60);

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
    socket.set_tcp_notsent_lowat(UNSENT)?;
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

/// Probes of a connection on which nothing happens, so that it is given up after about `patience` if
/// nobody answers. The kernel counts in seconds, up to 32,767 (tcp(7)).
pub(crate) fn keep_alive(patience: Duration) -> TcpKeepalive {
    let (least, most) = (Duration::from_secs(1), Duration::from_secs(32_767));
    TcpKeepalive::new()
        .with_time((patience / 2).clamp(least, most))
        .with_interval((patience / 8).clamp(least, most))
        .with_retries(4)
}

/// Tells whether `address` is free. Sockets that share a port would share it with another server of
/// the same user, too; each would get some of the connections.
pub(crate) fn is_free(address: SocketAddr) -> io::Result<()> {
    open(address, false, Duration::from_secs(1)).map(drop)
}

/// Accepts connections until the server stops.
pub(crate) async fn accept(context: Rc<Context>, listener: TcpListener) -> io::Result<()> {
    let address = listener.local_addr()?;
    let listener = sys::watch(OwnedFd::from(listener), Interest::READABLE)?;
    let mut failed: Option<Time> = None;
    let mut stop = pin!(context.stop.requested());
    loop {
        consume_budget().await;
        let accepted = tokio::select! {
            accepted = next(&listener) => accepted,
            () = &mut stop => {
                take_waiting(&context, listener.get_ref());
                return Ok(());
            }
        };
        match accepted {
            Ok((socket, peer)) => {
                note_event();
                let socket = match too_many(&context, &socket) {
                    0 => socket,
                    count => tokio::select! {
                        socket = make_room(&context, socket, count) => socket,
                        () = &mut stop => return Ok(()),
                    },
                };
                start(&context, Socket::new(socket), peer);
            }
            Err(error) => {
                context.metrics.accept_errors.inc();
                if descriptors::is_own(&error) {
                    descriptors::note_shortage();
                    context.give_up_idle(1);
                }
                if is_of_one_connection(&error) {
                    continue;
                }
                let now = clock::now();
                if failed.replace(now).is_none_or(|before| now.since(before) > QUIET) {
                    tracing::error!(
                        "cannot accept connections on {address}, will try again: {error}"
                    );
                }
                sleep(RECOVER).await;
            }
        }
    }
}

/// How many others must go for a connection that has come: there are to be descriptors for files and
/// backends, and for the admin address always.
fn too_many(context: &Context, socket: &OwnedFd) -> usize {
    match context.service {
        Service::Site(_) => descriptors::taken_of_reserve(socket),
        Service::Admin(_) => {
            (context.open.count() + 1).saturating_sub(descriptors::admin_connections())
        }
    }
}

/// Ends `count` connections that only wait for a request, in favour of `socket`. If none does, the
/// newcomer waits until some have ended, or were given up by other workers.
async fn make_room(context: &Context, mut socket: OwnedFd, count: usize) -> OwnedFd {
    loop {
        // Others that have just come must have looked for their requests before it is known who waits.
        yield_now().await;
        match context.give_up_idle(count) {
            0 => sleep(RECOVER).await,
            // They end before this goes on.
            _ => yield_now().await,
        }
        if matches!(context.service, Service::Admin(_)) {
            return socket;
        }
        match descriptors::out_of_reserve(socket) {
            Ok(moved) => return moved,
            Err(same) => socket = same,
        }
    }
}

/// Waits for the next connection. What was accepted once is tried again at once, since connections
/// come in bursts.
async fn next(listener: &AsyncFd<OwnedFd>) -> io::Result<(OwnedFd, SocketAddr)> {
    loop {
        let mut ready = listener.readable().await?;
        if let Ok(accepted) = ready.try_io(|listener| take(listener.get_ref())) {
            return accepted;
        }
    }
}

/// Accepts a connection, if one waits.
fn take(listener: &OwnedFd) -> io::Result<(OwnedFd, SocketAddr)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (fd, peer) = acceptfrom_with(listener, flags)?;
    let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
    // Only an address of another family could be missing.
    let peer = peer.ok_or(io::ErrorKind::ConnectionAborted)?;
    Ok((fd, peer))
}

/// Accepts those who wait: they would be reset together with the listener.
fn take_waiting(context: &Rc<Context>, listener: &OwnedFd) {
    for _ in 0..BACKLOG {
        match take(listener) {
            Ok((socket, peer)) => start(context, Socket::new(socket), peer),
            Err(error) if is_of_one_connection(&error) => {}
            Err(_) => return,
        }
    }
}

fn start(context: &Rc<Context>, socket: Socket, peer: SocketAddr) {
    context.metrics.accepted.inc();
    let open = context.open.enter();
    let context = context.clone();
    tokio::task::spawn_local(async move {
        let metrics = context.metrics.clone();
        let connection = pin!(connection::run(context, socket, peer));
        turn::timed(&metrics, connection).await;
        drop(open);
    });
}

/// Errors of a connection that ended before it was accepted (accept(2)).
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::CONNABORTED
                | Errno::INTR
                | Errno::NETDOWN
                | Errno::PROTO
                | Errno::NOPROTOOPT
                | Errno::HOSTDOWN
                | Errno::NONET
                | Errno::HOSTUNREACH
                | Errno::OPNOTSUPP
                | Errno::NETUNREACH
        )
    )
}
