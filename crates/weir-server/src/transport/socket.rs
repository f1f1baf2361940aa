//! A connection in clear text, over TCP or a Unix socket: reads and writes that never wait, and waiting
//! until it is ready. It is registered with the runtime only when something has to be waited for: a
//! connection that brings its request along and is closed after the response never is, which saves two
//! system calls. Used by [`super::Transport`], by itself or below TLS.

use std::cell::OnceCell;
use std::future::Future;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rustix::fs::sendfile;
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, socket_error, tcp_congestion};
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, recv, send, sendmsg, shutdown,
};
use socket2::SockRef;
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, Ready};

use crate::sys::{self, TcpInfo};

/// The events of another end that closes its side, or both.
const LEAVING: Interest = Interest::READABLE.add(Interest::ERROR);

/// See the module.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: Rc<OwnedFd>,
    watched: OnceCell<AsyncFd<Rc<OwnedFd>>>,
}

/// What became of the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// It will send nothing more; it may still read.
    HalfClosed,
    /// It has closed or reset the connection.
    Gone,
}

/// What happened at the other end of a connection from which nobody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It has sent bytes, which stay unread.
    Unread,
    /// It has closed its side, or both.
    Left(Left),
}

impl Socket {
    /// `fd`: a socket that does not block.
    pub(crate) fn new(fd: OwnedFd) -> Socket {
        Socket { fd: Rc::new(fd), watched: OnceCell::new() }
    }

    /// Takes what has come into `room`; 0 is the end. A short read has found it empty.
    ///
    /// # Errors
    ///
    /// `EAGAIN`: nothing has come. Otherwise it broke.
    pub(crate) fn read(&self, room: &mut [u8]) -> Result<usize, Errno> {
        let space = room.len();
        let read =
            retry(|| recv(&*self.fd, &mut *room, RecvFlags::DONTWAIT).map(|(count, _)| count));
        if read.is_ok_and(|count| count < space) || read == Err(Errno::AGAIN) {
            self.forget(Interest::READABLE);
        }
        read
    }

    /// Hands `bytes` to the kernel, and returns how many it took; `None`: it is full. If it took fewer,
    /// it is full as well.
    ///
    /// `more`: something follows, so TCP keeps what does not fill a segment (MSG_MORE).
    ///
    /// # Errors
    ///
    /// It broke.
    pub(crate) fn write(&self, bytes: &[u8], more: bool) -> Result<Option<usize>, Errno> {
        let written = retry(|| send(&*self.fd, bytes, send_flags(more)));
        if written.is_ok_and(|count| count < bytes.len()) || written == Err(Errno::AGAIN) {
            self.forget(Interest::WRITABLE);
        }
        unless_full(written)
    }

    /// The same for bytes in several places.
    ///
    /// # Errors
    ///
    /// It broke.
    pub(crate) fn write_parts(
        &self,
        parts: &[IoSlice<'_>],
        more: bool,
    ) -> Result<Option<usize>, Errno> {
        let all: usize = parts.iter().map(|part| part.len()).sum();
        let nothing = SendAncillaryBuffer::default;
        let written = retry(|| sendmsg(&*self.fd, parts, &mut nothing(), send_flags(more)));
        if written.is_ok_and(|count| count < all) || written == Err(Errno::AGAIN) {
            self.forget(Interest::WRITABLE);
        }
        unless_full(written)
    }

    /// Hands up to `count` bytes of `file` from `at` on to the kernel (sendfile(2)), and returns how many
    /// it took; `None`: it is full. If it took fewer, it is full, or the file has shrunk: only another
    /// call tells, which returns 0 at the end of the file.
    ///
    /// # Errors
    ///
    /// `EIO`: the file cannot be read. Otherwise the connection broke.
    pub(crate) fn write_file(
        &self,
        file: impl AsFd,
        mut at: u64,
        count: usize,
    ) -> Result<Option<usize>, Errno> {
        let written = retry(|| sendfile(&*self.fd, &file, Some(&mut at), count));
        if written == Err(Errno::AGAIN) {
            self.forget(Interest::WRITABLE);
        }
        unless_full(written)
    }

    /// Ends this side: what was written is still sent, and its end after it.
    ///
    /// # Errors
    ///
    /// It broke before.
    pub(crate) fn shut_down(&self) -> io::Result<()> {
        Ok(shutdown(&*self.fd, Shutdown::Write)?)
    }

    /// Closing the connection will reset it. A Unix socket has no reset: its other end finds the end of
    /// what was written.
    pub(crate) fn reset_when_closed(&self) {
        let _ = set_socket_linger(&*self.fd, Some(Duration::ZERO));
    }

    /// Bytes that were written and that the other end has not acknowledged; on a Unix socket, what they
    /// take in the kernel until the other end has read them.
    ///
    /// # Errors
    ///
    /// The kernel does not say.
    pub(crate) fn unacknowledged(&self) -> io::Result<u64> {
        sys::unacknowledged(&*self.fd)
    }

    /// What TCP knows of the connection.
    ///
    /// # Errors
    ///
    /// It is a Unix socket.
    pub(crate) fn tcp_info(&self) -> io::Result<TcpInfo> {
        sys::tcp_info(&*self.fd)
    }

    /// Has the connection count as full while so many bytes are written that TCP has not sent yet
    /// (TCP_NOTSENT_LOWAT).
    ///
    /// # Errors
    ///
    /// It is a Unix socket, or an old kernel.
    pub(crate) fn limit_unsent(&self, bytes: u32) -> io::Result<()> {
        SockRef::from(&*self.fd).set_tcp_notsent_lowat(bytes)
    }

    /// The kernel no longer counts for how long the other end acknowledges nothing (TCP_USER_TIMEOUT); what
    /// remains is its limit for all connections (net.ipv4.tcp_retries2).
    ///
    /// # Errors
    ///
    /// It is a Unix socket.
    pub(crate) fn unset_user_timeout(&self) -> io::Result<()> {
        SockRef::from(&*self.fd).set_tcp_user_timeout(None)
    }

    /// Bytes of memory that its packets take in this host's queues.
    ///
    /// # Errors
    ///
    /// The kernel does not say.
    pub(crate) fn queued_here(&self) -> io::Result<u64> {
        sys::queued_here(&*self.fd)
    }

    /// What is sent from now on has this priority in the kernel's queues (SO_PRIORITY).
    ///
    /// # Errors
    ///
    /// It is refused.
    pub(crate) fn set_priority(&self, priority: u32) -> io::Result<()> {
        SockRef::from(&*self.fd).set_priority(priority)
    }

    #[cfg(test)]
    pub(crate) fn priority(&self) -> io::Result<u32> {
        SockRef::from(&*self.fd).priority()
    }

    /// Whether the kernel sends at a rate that it has estimated (BBR), rather than whatever the window lets
    /// through.
    pub(crate) fn is_paced(&self) -> bool {
        tcp_congestion(&*self.fd).is_ok_and(|name| name.starts_with("bbr"))
    }

    /// Whether there may be something to read; if not, the task is woken when there may be.
    pub(crate) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watched()?.poll_read_ready(context).map_ok(drop)
    }

    /// Whether it may take data; if not, the task is woken when it may.
    pub(crate) fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watched()?.poll_write_ready(context).map_ok(drop)
    }

    /// Waits until the other end sends something or leaves. The kernel tells of a closed connection at
    /// once (EPOLLRDHUP), even while bytes are unread.
    ///
    /// TCP tells a client that has closed both sides only by a reset, in answer to something that it is
    /// sent; a Unix socket tells at once (EPOLLHUP).
    pub(crate) async fn event(&self) -> Event {
        let Ok(watched) = self.watched() else { return Event::Left(Left::Gone) };
        let Ok(guard) = watched.ready(LEAVING).await else { return Event::Left(Left::Gone) };
        match guard.ready() {
            ready if ready.is_error() => Event::Left(Left::Gone),
            ready if ready.is_read_closed() && has_hung_up(watched) => Event::Left(Left::Gone),
            ready if ready.is_read_closed() => Event::Left(Left::HalfClosed),
            _ => {
                self.forget(Interest::READABLE);
                Event::Unread
            }
        }
    }

    /// Waits until another end that has closed its side turns out to have gone.
    pub(crate) async fn gone(&self) {
        let Ok(watched) = self.watched() else { return };
        while let Ok(mut guard) = watched.ready(Interest::WRITABLE | Interest::ERROR).await {
            if guard.ready().is_error() || guard.ready().is_write_closed() {
                return;
            }
            // Harmless to those who write: they try before they wait.
            guard.clear_ready_matching(Ready::WRITABLE);
        }
    }

    /// Whether a look at the next byte (MSG_PEEK) finds that the other end has closed its side. It sees
    /// nothing while bytes are unread.
    pub(crate) fn is_at_end(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        matches!(recv(&*self.fd, &mut [0_u8; 1], flags), Ok((0, _)))
    }

    /// Whether TCP_INFO says that the other end has closed its side, or both; `None` for a Unix socket.
    pub(crate) fn is_closed_in_tcp(&self) -> Option<bool> {
        self.tcp_info().ok().map(|info| info.is_closed_by_peer())
    }

    /// Whether it has a pending error (SO_ERROR); asking clears it.
    pub(crate) fn has_failed(&self) -> bool {
        socket_error(&*self.fd).is_ok_and(|error| error.is_err())
    }

    fn watched(&self) -> io::Result<&AsyncFd<Rc<OwnedFd>>> {
        if let Some(watched) = self.watched.get() {
            return Ok(watched);
        }
        let watched = sys::watch(self.fd.clone(), Interest::READABLE | Interest::WRITABLE)?;
        Ok(self.watched.get_or_init(|| watched))
    }

    /// It is not ready any more; what comes from now on makes an event of its own.
    fn forget(&self, interest: Interest) {
        if let Some(watched) = self.watched.get() {
            let nothing = |_: &Rc<OwnedFd>| Err::<(), _>(io::ErrorKind::WouldBlock.into());
            let _ = watched.try_io(interest, nothing);
        }
    }
}

/// Whether the kernel has told that both sides are closed (EPOLLHUP).
fn has_hung_up(watched: &AsyncFd<Rc<OwnedFd>>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(watched.ready(Interest::WRITABLE)).poll(&mut context) {
        Poll::Ready(Ok(guard)) => guard.ready().is_write_closed(),
        Poll::Ready(Err(_)) | Poll::Pending => false,
    }
}

/// `more`: something follows, so TCP keeps what does not fill a segment.
fn send_flags(more: bool) -> SendFlags {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if more { flags | SendFlags::MORE } else { flags }
}

fn unless_full(written: Result<usize, Errno>) -> Result<Option<usize>, Errno> {
    match written {
        Err(Errno::AGAIN) => Ok(None),
        written => written.map(Some),
    }
}

fn retry(mut call: impl FnMut() -> Result<usize, Errno>) -> Result<usize, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::runtime;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    /// A Unix socket and its other end, for `check`, which must come to its end.
    fn with_pair<F: Future<Output = ()>>(check: impl FnOnce(Socket, UnixStream) -> F) {
        let (here, there) = UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let socket = Socket::new(OwnedFd::from(here));
        runtime::build(&Arc::new(Metrics::new())).unwrap().block_on(async {
            let check = check(socket, there);
            tokio::time::timeout(Duration::from_secs(20), check).await.unwrap();
        });
    }

    #[test]
    fn an_end_that_closes_is_told_from_one_that_only_stops_sending() {
        with_pair(async |socket, mut there| {
            there.write_all(b"unread").unwrap();
            assert_eq!(socket.event().await, Event::Unread);
            assert!(!socket.is_at_end());
            there.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(socket.event().await, Event::Left(Left::HalfClosed));
            let mut gone = pin!(socket.gone());
            let waiting = tokio::time::timeout(Duration::from_millis(20), &mut gone).await;
            assert!(waiting.is_err());
            drop(there);
            gone.await;
        });
        with_pair(async |socket, there| {
            drop(there);
            assert_eq!(socket.event().await, Event::Left(Left::Gone));
            assert!(socket.is_at_end() && socket.is_closed_in_tcp().is_none());
        });
    }
}
