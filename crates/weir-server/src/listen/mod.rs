//! Accepts connections, gives each its first turn and, if it goes on, a task. Workers and the admin
//! address do it with [`Listening`], on the sockets that [`Listeners`] has opened and those that [`Addresses`]
//! opens later.

mod addresses;
mod listener;
mod opening;
mod passed;
mod sockets;
mod unix;

use std::cell::{Cell, RefCell};
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
use tokio::sync::Notify;
use tokio::task::coop::consume_budget;
use tokio::task::{JoinHandle, spawn_local, yield_now};
use tokio::time::sleep;
use weir_sched::Time;

pub(crate) use self::addresses::{Addresses, Listeners, Moves, Served, open_admin};
pub(crate) use self::listener::Listener;
use self::listener::take;
pub(crate) use self::opening::cannot_listen;
pub(crate) use self::passed::{Passed, PassedSocket, Role};
pub(crate) use self::sockets::bind;
pub(crate) use self::unix::{SocketFile, check as check_unix, open_for_owner};
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

/// The listeners of a worker, or of the admin address: everybody who connects to them is served until they
/// are closed or the server stops.
#[derive(Debug)]
pub(crate) struct Listening {
    context: Rc<Context>,
    accepting: RefCell<Vec<Accepting>>,
}

/// A listener from which connections are accepted.
#[derive(Debug)]
struct Accepting {
    /// The number of its address.
    id: u64,
    /// What is spoken there from the next connection on.
    port: Rc<Cell<PortKind>>,
    closing: Rc<Closing>,
    task: JoinHandle<()>,
}

/// Tells a task that its listener is to close.
#[derive(Debug, Default)]
struct Closing {
    is_told: Cell<bool>,
    told: Notify,
}

impl Listening {
    pub(crate) fn new(context: Rc<Context>) -> Listening {
        Listening { context, accepting: RefCell::default() }
    }

    /// Serves everybody who connects to `listeners`, too.
    pub(crate) fn open(&self, listeners: Vec<Listener>) {
        for listener in listeners {
            let (id, port) = (listener.id, Rc::new(Cell::new(listener.port)));
            let closing = Rc::<Closing>::default();
            let (context, told) = (self.context.clone(), closing.clone());
            let task = spawn_local(accept_or_abort(context, listener, port.clone(), told));
            self.accepting.borrow_mut().push(Accepting { id, port, closing, task });
        }
    }

    /// From the next connection on, `port` is what is spoken on the address with this number.
    pub(crate) fn speak(&self, id: u64, port: PortKind) {
        let accepting = self.accepting.borrow();
        accepting.iter().filter(|accepting| accepting.id == id).for_each(|it| it.port.set(port));
    }

    /// Closes the listeners of the addresses with these numbers. Connections that the kernel has let in by
    /// then are accepted as well.
    pub(crate) fn close(&self, ids: &[u64]) {
        self.accepting.borrow_mut().retain(|accepting| {
            let is_to_close = ids.contains(&accepting.id);
            if is_to_close {
                accepting.closing.is_told.set(true);
                accepting.closing.told.notify_one();
            }
            !is_to_close
        });
    }

    /// Waits until all listeners have closed after the server has stopped. Connections that the kernel has
    /// let in by then have been accepted, unless a successor has the sockets.
    ///
    /// # Errors
    ///
    /// A task that accepts was ended from outside.
    pub(crate) async fn ended(&self) -> io::Result<()> {
        let accepting = self.accepting.take();
        for Accepting { task, .. } in accepting {
            task.await.map_err(io::Error::other)?;
        }
        Ok(())
    }
}

async fn accept_or_abort(
    context: Rc<Context>,
    listener: Listener,
    port: Rc<Cell<PortKind>>,
    closing: Rc<Closing>,
) {
    if let Err(error) = accept(context, listener, &port, &closing).await {
        // Nobody could reach the server: better to end than to hang.
        tracing::error!("a listening socket cannot be watched: {error}");
        messages::finish();
        std::process::abort();
    }
}

/// Accepts connections until the server stops or the listener is to close.
async fn accept(
    context: Rc<Context>,
    listener: Listener,
    port: &Cell<PortKind>,
    closing: &Closing,
) -> io::Result<()> {
    let Listener { address, file, socket, .. } = listener;
    let is_tcp = matches!(address, ListenAddress::Tcp(_));
    let listener = sys::watch(socket, Interest::READABLE)?;
    let mut failed: Option<Time> = None;
    let mut over = pin!(async {
        tokio::select! {
            () = context.stop.requested() => {}
            () = closing.told.notified() => {}
        }
    });
    let mut is_over = false;
    while !is_over && !context.stop.is_stopping() && !closing.is_told.get() {
        consume_budget().await;
        let accepted = tokio::select! {
            biased;
            accepted = next(&listener, is_tcp) => accepted,
            () = &mut over => break,
        };
        match accepted {
            Ok((socket, peer)) => {
                note_event();
                let count = context.open.too_many(&socket);
                let mut socket = Some(socket);
                if count > 0 {
                    tokio::select! {
                        () = make_room(&context, &mut socket, count) => {}
                        // It was let in, and is served as those who wait in the queue.
                        () = &mut over => is_over = true,
                    }
                }
                let Some(socket) = socket else { continue };
                start(&context, Socket::new(socket), port.get(), peer);
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
    if !closing.is_told.get() {
        if context.stop.leaves_files() {
            file.iter().for_each(|file| file.leave());
        }
        if context.stop.is_handed_over() {
            // What waits there is for the successor.
            return Ok(());
        }
    }
    // Nobody finds it any more, and those who have are served.
    drop(file);
    take_waiting(&context, listener.get_ref(), port.get(), is_tcp);
    Ok(())
}

/// Has `count` idle connections end in favour of `socket`. If none is idle, the newcomer waits until
/// some have ended, or until other workers have given up some of theirs. Its descriptor may be another one
/// then.
async fn make_room(context: &Context, newcomer: &mut Option<OwnedFd>, count: usize) {
    loop {
        // Newcomers must have looked for their requests before it is known which connections are idle.
        yield_now().await;
        match context.open.give_up_idle(count) {
            0 => sleep(RECOVER).await,
            // They end before this goes on.
            _ => yield_now().await,
        }
        if context.open.is_limited() {
            return;
        }
        match newcomer.take().map(descriptors::out_of_reserve) {
            Some(Err(same)) => *newcomer = Some(same),
            Some(Ok(moved)) => {
                *newcomer = Some(moved);
                return;
            }
            None => return,
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
