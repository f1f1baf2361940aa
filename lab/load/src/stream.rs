//! The bytes of one connection, in clear text or through TLS: what is sent and what comes is plain in
//! either case. Every connection of the engine has one.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::tls::{Session, Tls};

/// One connection's stream.
pub(crate) struct Stream {
    socket: OwnedFd,
    session: Option<Box<Session>>,
    /// What did not fit into the socket, in clear text.
    unsent: Vec<u8>,
    /// Bytes that came from the socket and were not asked for.
    count: u64,
}

/// What came of reading once.
#[derive(Debug)]
pub(crate) enum Input {
    /// So many bytes came from the socket.
    Bytes(usize),
    /// There was nothing.
    Nothing,
    /// A signal came first: read again.
    Interrupted,
    /// The server sends no more; without `whole`, somebody else may have cut off the end.
    End { whole: bool },
    /// The connection is lost.
    Lost,
    /// What came is not what TLS allows, or not from the server that it should be.
    Refused(rustls::Error),
}

impl Stream {
    /// Of a socket that is being connected.
    ///
    /// # Errors
    ///
    /// When TLS cannot begin.
    pub(crate) fn new(socket: OwnedFd, tls: Option<&Tls>) -> Result<Stream, rustls::Error> {
        let session = tls.map(Session::new).transpose()?.map(Box::new);
        Ok(Stream { socket, session, unsent: Vec::new(), count: 0 })
    }

    /// For epoll.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Send bytes; what does not fit is kept for [`Stream::flush`].
    ///
    /// # Errors
    ///
    /// When the connection is lost.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> rustix::io::Result<()> {
        match &mut self.session {
            Some(session) => {
                session.write(bytes).map_err(|_| Errno::IO)?;
                session.flush(&self.socket)
            }
            None => {
                let count = send(&self.socket, bytes)?;
                self.unsent.extend_from_slice(&bytes[count..]);
                Ok(())
            }
        }
    }

    /// Send more of what did not fit.
    ///
    /// # Errors
    ///
    /// When the connection is lost.
    pub(crate) fn flush(&mut self) -> rustix::io::Result<()> {
        if let Some(session) = &mut self.session {
            return session.flush(&self.socket);
        }
        if !self.unsent.is_empty() {
            let count = send(&self.socket, &self.unsent)?;
            self.unsent.drain(..count);
        }
        Ok(())
    }

    /// Whether all that was to be sent has been.
    pub(crate) fn is_sent(&self) -> bool {
        self.unsent.is_empty() && self.session.as_ref().is_none_or(|session| session.is_sent())
    }

    /// Read once from the socket, at most what `buffer` holds; `plain` gets what was in it, in any
    /// number of pieces, none of them empty.
    pub(crate) fn read(&mut self, buffer: &mut [u8], plain: &mut dyn FnMut(&[u8])) -> Input {
        let whole = self.session.as_ref().is_none_or(|session| session.has_ended());
        let count = match rustix::io::read(&self.socket, &mut *buffer) {
            Ok(0) => return Input::End { whole },
            Ok(count) => count,
            Err(Errno::AGAIN) => return Input::Nothing,
            Err(Errno::INTR) => return Input::Interrupted,
            Err(_) => return Input::Lost,
        };
        self.count += count as u64;
        let Some(session) = &mut self.session else {
            plain(&buffer[..count]);
            return Input::Bytes(count);
        };
        let received = session.receive(&buffer[..count], plain);
        // The handshake's next message, or an alert. If it cannot be sent, reading will tell.
        let _ = session.flush(&self.socket);
        match received {
            Err(error) => Input::Refused(error),
            Ok(()) if session.has_ended() => Input::End { whole: true },
            Ok(()) => Input::Bytes(count),
        }
    }

    /// Bytes that have come from the socket since this was asked.
    pub(crate) fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.count)
    }

    /// Whether TLS is spoken.
    pub(crate) fn is_tls(&self) -> bool {
        self.session.is_some()
    }

    /// Whether the handshake of TLS goes on.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_handshaking())
    }

    /// Once, when the handshake of TLS is complete: whether it resumed an earlier session.
    pub(crate) fn handshake_completed(&mut self) -> Option<bool> {
        self.session.as_mut()?.completed()
    }
}

/// Send what fits; how much that was.
fn send(socket: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<usize> {
    match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        other => other,
    }
}
