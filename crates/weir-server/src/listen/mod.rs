//! Accepts connections, gives each its first turn and, if it goes on, a task. Workers and the admin
//! address run it on the listening sockets that [`Listeners`] has opened.

mod addresses;
mod listener;
mod sockets;
mod unix;

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::task::{self, Poll, Waker};
use std::time::Duration;

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::coop::consume_budget;
use tokio::task::{spawn_local, yield_now};
use tokio::time::sleep;
use weir_sched::Time;

pub(crate) use self::addresses::{Listeners, cannot_listen};
pub(crate) use self::listener::Listener;
use self::listener::take;
pub(crate) use self::sockets::{bind, wait_for_nothing};
pub(crate) use self::unix::check as check_unix;
use crate::config::{ListenAddress, PortKind};
use crate::identity::PeerAddress;
use crate::logs::messages;
use crate::metrics::note_event;
use crate::protocol::{self, Context};
use crate::runtime::turn;
use crate::sys;
use crate::sys::clock;
use crate::sys::descriptors;
use crate::transport::Socket;

/// How long to wait before accepting again when descriptors are short.
const RECOVER: Duration = Duration::from_millis(50);

/// An error that comes again within this time is not logged again.
const QUIET: Duration = Duration::from_secs(60);

/// Serves everybody who connects to `listeners` until the server stops. Connections that the kernel has
/// let in by then are accepted as well.
///
/// # Errors
///
/// A task that accepts was ended from outside.
pub(crate) async fn serve(context: &Rc<Context>, listeners: Vec<Listener>) -> io::Result<()> {
    let accept = |listener| spawn_local(accept_or_abort(context.clone(), listener));
    let accepting: Vec<_> = listeners.into_iter().map(accept).collect();
    context.stop.requested().await;
    for accepting in accepting {
        accepting.await.map_err(io::Error::other)?;
    }
    Ok(())
}

async fn accept_or_abort(context: Rc<Context>, listener: Listener) {
    if let Err(error) = accept(context, listener).await {
        // Nobody could reach the server: better to end than to hang.
        tracing::error!("a listening socket cannot be watched: {error}");
        messages::finish();
        std::process::abort();
    }
}

/// Accepts connections until the server stops.
async fn accept(context: Rc<Context>, listener: Listener) -> io::Result<()> {
    let Listener { address, port, file, socket } = listener;
    let is_tcp = matches!(address, ListenAddress::Tcp(_));
    let listener = sys::watch(socket, Interest::READABLE)?;
    let mut failed: Option<Time> = None;
    let mut stop = pin!(context.stop.requested());
    while !context.stop.is_stopping() {
        consume_budget().await;
        let accepted = tokio::select! {
            biased;
            accepted = next(&listener, is_tcp) => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((socket, peer)) => {
                note_event();
                let socket = match context.open.too_many(&socket) {
                    0 => socket,
                    count => tokio::select! {
                        socket = make_room(&context, socket, count) => socket,
                        () = &mut stop => break,
                    },
                };
                start(&context, Socket::new(socket), port, peer);
            }
            Err(error) => {
                context.metrics.accept_errors.inc();
                if descriptors::is_own(&error) {
                    descriptors::note_shortage();
                    context.open.give_up_idle(1);
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
    // Nobody finds it any more, and those who have are served.
    drop(file);
    take_waiting(&context, listener.get_ref(), port, is_tcp);
    Ok(())
}

/// Has `count` idle connections end in favour of `socket`. If none is idle, the newcomer waits until
/// some have ended, or until other workers have given up some of theirs.
async fn make_room(context: &Context, mut socket: OwnedFd, count: usize) -> OwnedFd {
    loop {
        // Newcomers must have looked for their requests before it is known which connections are idle.
        yield_now().await;
        match context.open.give_up_idle(count) {
            0 => sleep(RECOVER).await,
            // They end before this goes on.
            _ => yield_now().await,
        }
        if context.open.is_limited() {
            return socket;
        }
        match descriptors::out_of_reserve(socket) {
            Ok(moved) => return moved,
            Err(same) => socket = same,
        }
    }
}

/// Waits for the next connection. After one was accepted, the next is tried at once: connections come
/// in bursts.
async fn next(listener: &AsyncFd<OwnedFd>, is_tcp: bool) -> io::Result<(OwnedFd, PeerAddress)> {
    loop {
        match listener.try_io(Interest::READABLE, |listener| take(listener, is_tcp)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                listener.readable().await?.retain_ready();
            }
            accepted => return accepted,
        }
    }
}

/// Accepts all connections that wait: they would be reset together with the listener.
fn take_waiting(context: &Rc<Context>, listener: &OwnedFd, port: PortKind, is_tcp: bool) {
    for _ in 0..sockets::BACKLOG {
        match take(listener, is_tcp) {
            Ok((socket, peer)) => start(context, Socket::new(socket), port, peer),
            Err(error) if is_of_one_connection(&error) => {}
            Err(_) => return,
        }
    }
}

/// Gives a connection its first turn, and a task of its own if it is not over then. Most that are to end
/// after one response from memory are, and that saves the task.
fn start(context: &Rc<Context>, socket: Socket, port: PortKind, peer: PeerAddress) {
    context.metrics.accepted.inc();
    let open = context.open.enter();
    let context = context.clone();
    let mut connection = Box::pin(async move {
        let metrics = context.metrics.clone();
        let connection = pin!(protocol::run(context, socket, port, peer));
        turn::timed(&metrics, connection).await;
        drop(open);
    });
    // Nobody need be woken: the task polls it again.
    let mut unwoken = task::Context::from_waker(Waker::noop());
    // As in a task, a panic ends its connection and nothing else.
    let first_turn = AssertUnwindSafe(|| connection.as_mut().poll(&mut unwoken));
    if let Ok(Poll::Pending) = catch_unwind(first_turn) {
        spawn_local(connection);
    }
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
