//! The bytes of one connection: read, write, write a file, wait until it is ready, and notice that the
//! other end has left. Used by whatever serves a connection: `client`, `send`, the uplink and the proxy's
//! watch of clients, none of which makes a system call on a socket.
//!
//! [`socket`] is clear text over TCP or a Unix socket; [`tls`] has bytes sealed and opened on their way
//! to and from it. [`Transport`] is either: what concerns the socket alone it passes on. A QUIC stream
//! would have the same methods on buffers in memory, and readiness from its connection's task instead of
//! from the kernel.

mod socket;
mod tls;
mod unsent;

use std::io;
use std::ops::Deref;
use std::task::{Context, Poll};

use http::HeaderValue;
use rustix::io::Errno;
use weir_tls::Session;

pub(crate) use socket::{Event, Left, Socket};
use tls::Tls;
pub(crate) use tls::{Advance, Ended};
pub(crate) use unsent::{FIRST_UNSENT, Unsent};

/// A connection in clear text or with TLS.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: Socket,
    /// Boxed: one in clear text need not be larger for it.
    tls: Option<Box<Tls>>,
}

impl From<Socket> for Transport {
    fn from(socket: Socket) -> Transport {
        Transport { socket, tls: None }
    }
}

/// What concerns the socket, whatever its bytes mean.
impl Deref for Transport {
    type Target = Socket;

    fn deref(&self) -> &Socket {
        &self.socket
    }
}

impl Transport {
    /// A connection that will have TLS: bytes pass as they are until [`Transport::seal_with`].
    pub(crate) fn for_tls(socket: Socket) -> Transport {
        Transport { socket, tls: Some(Box::default()) }
    }

    /// Whether it has TLS, or is to have it.
    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// From now on all bytes go through `session`, whose handshake [`Transport::advance`] completes.
    pub(crate) fn seal_with(&self, session: Session) {
        if let Some(tls) = &self.tls {
            tls.begin(session);
        }
    }

    /// Goes on with the handshake as far as it can without waiting.
    ///
    /// # Errors
    ///
    /// Why there will be no session.
    pub(crate) fn advance(&self) -> Result<Advance, Ended> {
        self.tls.as_ref().map_or(Ok(Advance::Done), |tls| tls.advance(&self.socket))
    }

    /// What is known of the session, once its handshake is over.
    pub(crate) fn with_session<T>(&self, look: impl FnOnce(&Session) -> T) -> Option<T> {
        self.tls.as_ref()?.with_session(look)
    }

    /// Who the client says that it is, by a certificate that was verified: its subject.
    pub(crate) fn subject(&self) -> Option<&HeaderValue> {
        self.tls.as_ref()?.subject()
    }

    /// Takes what has come into `room`; 0 is the end. A short read has found it empty.
    ///
    /// # Errors
    ///
    /// `EAGAIN`: nothing has come. Otherwise it broke.
    pub(crate) fn read(&self, room: &mut [u8]) -> Result<usize, Errno> {
        match &self.tls {
            None => self.socket.read(room),
            Some(tls) => tls.read(&self.socket, room),
        }
    }

    /// Hands `bytes` over, and returns how many were taken; `None`: it is full. If fewer were taken, it is
    /// full as well. With TLS the kernel may have less than what was taken: see [`Transport::flush`].
    ///
    /// `more`: something follows, so TCP keeps what does not fill a segment (MSG_MORE).
    ///
    /// # Errors
    ///
    /// It broke.
    pub(crate) fn write(&self, bytes: &[u8], more: bool) -> Result<Option<usize>, Errno> {
        match &self.tls {
            None => self.socket.write(bytes, more),
            Some(tls) => tls.write(&self.socket, bytes, more),
        }
    }

    /// Whether files can be handed to the kernel as they are (`write_file`).
    pub(crate) fn takes_files(&self) -> bool {
        self.tls.is_none()
    }

    /// Whether bytes that were taken wait here for the kernel.
    pub(crate) fn has_waiting(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_waiting())
    }

    /// Hands what waits here to the kernel; false if it is full before the end.
    ///
    /// # Errors
    ///
    /// It broke.
    pub(crate) fn flush(&self) -> Result<bool, Errno> {
        self.tls.as_ref().map_or(Ok(true), |tls| tls.flush(&self.socket))
    }

    /// Ends this side: what was written is still sent, and its end after it.
    ///
    /// # Errors
    ///
    /// It broke before.
    pub(crate) fn shut_down(&self) -> io::Result<()> {
        if let Some(tls) = &self.tls {
            tls.close(&self.socket);
        }
        self.socket.shut_down()
    }

    /// Whether there may be something to read; if not, the task is woken when there may be.
    pub(crate) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.tls.as_ref().is_some_and(|tls| tls.is_readable()) {
            return Poll::Ready(Ok(()));
        }
        self.socket.poll_readable(context)
    }

    /// Bytes that each record adds to what it carries; 0 in clear text.
    pub(crate) fn record_overhead(&self) -> u32 {
        self.with_session(Session::overhead).unwrap_or(0)
    }

    /// Bytes that records added to what was written since the last call.
    pub(crate) fn take_record_bytes(&self) -> u64 {
        self.tls.as_ref().map_or(0, |tls| tls.take_record_bytes())
    }

    /// Bytes of records beside what was written, such as those of the handshake, since the last call.
    pub(crate) fn take_beside(&self) -> u64 {
        self.tls.as_ref().map_or(0, |tls| tls.take_beside())
    }
}
