//! TLS on a connection: what is written is put into records, and what comes is taken out of them. Bytes
//! of a record that the kernel does not take wait here, at most [`WAITING`] plain ones, and nothing more
//! is sealed meanwhile. Used by [`super::Transport`].

mod record_sizes;
mod wire;

use std::cell::{Cell, OnceCell, RefCell};
use std::io::ErrorKind;

use http::HeaderValue;
use rustix::io::Errno;
use weir_tls::certificates::subject;
use weir_tls::{Failure, Plain, Session};

use self::record_sizes::RecordSizes;
use self::wire::{Incoming, Outgoing};
use super::socket::Socket;
use crate::runtime::turn;

/// Plain bytes that are sealed before the kernel is handed the records: as many as one chunk of a file.
const WAITING: usize = 64 * 1024;

/// Records that are sealed before the kernel is handed them.
const RECORDS: usize = 16;

/// Reads of a few kilobytes each before it is told that nothing has come: a client that sends records
/// without content must not keep the worker.
const READS: u32 = 16;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Tls {
    /// `None`: bytes pass as they are, such as those of a PROXY header.
    session: RefCell<Option<Session>>,
    sizes: RecordSizes,
    /// The kernel did not take all records.
    is_full: Cell<bool>,
    /// This side has ended.
    is_closed: Cell<bool>,
    /// Records that [`Tls::take_record_bytes`] has told of.
    told: Cell<u64>,
    subject: OnceCell<HeaderValue>,
}

/// What a handshake waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// Nothing: it is over.
    Done,
    /// Bytes of the client.
    Bytes,
    /// Room for bytes to the client.
    Room,
}

/// Why a handshake came to nothing.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The client left, or the connection broke.
    Left,
    /// One of the two refused.
    Failed(Failure),
}

impl Tls {
    pub(super) fn begin(&self, session: Session) {
        self.session.replace(Some(session));
    }

    pub(super) fn advance(&self, socket: &Socket) -> Result<Advance, Ended> {
        let mut session = self.session.borrow_mut();
        let Some(session) = session.as_mut() else { return Ok(Advance::Bytes) };
        loop {
            let is_over = !session.is_handshaking();
            // In TLS 1.3 nothing waits for the tickets: they go with the first response.
            let waits = !is_over || session.is_waited_for();
            if waits && !self.hand_over(session, socket, false).map_err(|_| Ended::Left)? {
                return Ok(Advance::Room);
            }
            if is_over {
                self.is_agreed(session, socket);
                return Ok(Advance::Done);
            }
            match session.receive(&mut Incoming(socket)) {
                Ok(0) => return Err(Ended::Left),
                Ok(_) => {
                    if let Err(failure) = session.process() {
                        let _ = self.hand_over(session, socket, false);
                        return Err(Ended::Failed(failure));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Advance::Bytes),
                Err(_) => return Err(Ended::Left),
            }
        }
    }

    /// Notes what both sides have agreed on.
    fn is_agreed(&self, session: &Session, socket: &Socket) {
        let mss = socket.tcp_info().ok().map(|info| info.snd_mss);
        self.sizes.fit(mss, session.overhead());
        if let Some(name) = session.peer_certificate().and_then(subject) {
            let value = HeaderValue::from_str(&name).unwrap_or_else(|_| escaped(&name));
            let _ = self.subject.set(value);
        }
    }

    pub(super) fn with_session<T>(&self, look: impl FnOnce(&Session) -> T) -> Option<T> {
        self.session.borrow().as_ref().map(look)
    }

    pub(super) fn subject(&self) -> Option<&HeaderValue> {
        self.subject.get()
    }

    /// Whether a read needs nothing from the socket: plain bytes came that nobody has read, or the end
    /// did, for which there may be no event any more.
    pub(super) fn is_readable(&self) -> bool {
        self.session.borrow().as_ref().is_some_and(|session| {
            !self.discards(session) && (session.plain() > 0 || session.is_at_end())
        })
    }

    /// Whether what comes is read for nobody: the session has failed, and this side has ended. Bytes that
    /// stayed unread would have the kernel reset the connection, and the alert might not arrive.
    fn discards(&self, session: &Session) -> bool {
        self.is_closed.get() && session.has_failed()
    }

    pub(super) fn read(&self, socket: &Socket, room: &mut [u8]) -> Result<usize, Errno> {
        let mut session = self.session.borrow_mut();
        let Some(session) = session.as_mut() else { return socket.read(room) };
        if self.discards(session) {
            return discard(socket, room);
        }
        for _ in 0..READS {
            match session.take(room) {
                Plain::Bytes(count) => return Ok(count),
                Plain::End => return Ok(0),
                Plain::Nothing => {}
            }
            match session.receive(&mut Incoming(socket)) {
                // Without close_notify, as many clients leave; who needs to know that a body is whole
                // has its length.
                Ok(0) => return Ok(0),
                Ok(_) => {
                    if let Err(failure) = session.process() {
                        tracing::debug!("a client's records: {failure}");
                        let _ = self.hand_over(session, socket, false);
                        return Err(Errno::PROTO);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(Errno::AGAIN),
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
        }
        Err(Errno::AGAIN)
    }

    pub(super) fn write(
        &self,
        socket: &Socket,
        bytes: &[u8],
        more: bool,
    ) -> Result<Option<usize>, Errno> {
        let mut session = self.session.borrow_mut();
        let Some(session) = session.as_mut() else { return socket.write(bytes, more) };
        if self.is_full.get() && !self.hand_over(session, socket, true)? {
            return Ok(None);
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = self.seal(session, rest);
            if !self.hand_over(session, socket, more || !rest.is_empty())? {
                break;
            }
        }
        Ok(Some(bytes.len() - rest.len()))
    }

    /// Seals as many of `bytes` as may wait at once; returns the rest.
    fn seal<'b>(&self, session: &mut Session, bytes: &'b [u8]) -> &'b [u8] {
        let mut left = bytes.len().min(WAITING);
        let mut rest = bytes;
        session.reserve(left, RECORDS);
        for _ in 0..RECORDS {
            let count = self.sizes.next(turn::began(), left);
            if count == 0 {
                break;
            }
            let (record, after) = rest.split_at(count);
            session.seal(record);
            rest = after;
            left -= count;
        }
        rest
    }

    pub(super) fn has_waiting(&self) -> bool {
        self.is_full.get()
    }

    pub(super) fn flush(&self, socket: &Socket) -> Result<bool, Errno> {
        let mut session = self.session.borrow_mut();
        session.as_mut().map_or(Ok(true), |session| self.hand_over(session, socket, false))
    }

    /// Tells the other end that nothing follows, as far as there is room for it. Of a session that has
    /// failed, reads give nothing but the end of the connection from now on.
    pub(super) fn close(&self, socket: &Socket) {
        self.is_closed.set(true);
        if let Some(session) = self.session.borrow_mut().as_mut() {
            session.close();
            // The end of the connection goes with it.
            let _ = self.hand_over(session, socket, true);
        }
    }

    /// Hands all records to the kernel; false if it is full before the end.
    fn hand_over(&self, session: &mut Session, socket: &Socket, more: bool) -> Result<bool, Errno> {
        let mut out = Outgoing { socket, more, is_full: false };
        while session.has_records() && !out.is_full {
            match session.send(&mut out) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => out.is_full = true,
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
        }
        self.is_full.set(out.is_full);
        Ok(!out.is_full)
    }

    pub(super) fn take_record_bytes(&self) -> u64 {
        let session = self.session.borrow();
        let Some(session) = session.as_ref() else { return 0 };
        let records = session.records();
        let new = records - self.told.replace(records);
        new * u64::from(session.overhead())
    }

    pub(super) fn take_beside(&self) -> u64 {
        self.session.borrow_mut().as_mut().map_or(0, Session::take_beside)
    }
}

/// Reads what has come, with `room` as the space for it, and forgets it; 0 is the end.
fn discard(socket: &Socket, room: &mut [u8]) -> Result<usize, Errno> {
    for _ in 0..READS {
        if socket.read(room)? == 0 {
            return Ok(0);
        }
    }
    Err(Errno::AGAIN)
}

/// A subject that has other characters than visible ones of ASCII.
fn escaped(name: &str) -> HeaderValue {
    let text: String = name.escape_default().collect();
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("unreadable"))
}

#[cfg(test)]
mod tests;
