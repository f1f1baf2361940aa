//! The TLS session of one connection: what it is to send becomes records for the socket, and records
//! from it become plain bytes. A [`Stream`](crate::stream::Stream) with TLS has one.

use std::io::{self, BufRead, IoSlice, Write};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use rustls::{ClientConnection, HandshakeKind};

use super::settings::Tls;

/// One connection's session.
pub(crate) struct Session {
    connection: ClientConnection,
    /// The server has said that it sends no more.
    ended: bool,
    /// Its handshake has been counted.
    counted: bool,
}

impl Session {
    /// Begin; the first message of the handshake waits to be sent.
    pub(crate) fn new(tls: &Tls) -> Result<Session, rustls::Error> {
        let mut connection = tls.connection()?;
        // A request may be of any length, and waits here while there is no room in the socket.
        connection.set_buffer_limit(None);
        Ok(Session { connection, ended: false, counted: false })
    }

    /// Take plain bytes that are to be sent, after the handshake if it goes on.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.connection.writer().write_all(bytes)
    }

    /// Whether nothing waits for the socket, not even the handshake.
    pub(crate) fn is_sent(&self) -> bool {
        !self.connection.is_handshaking() && !self.connection.wants_write()
    }

    /// Send what there is room for.
    pub(crate) fn flush(&mut self, socket: &OwnedFd) -> rustix::io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Records(socket)) {
                Ok(_) => {}
                Err(error) => {
                    return match Errno::from_io_error(&error) {
                        Some(Errno::AGAIN) => Ok(()),
                        other => Err(other.unwrap_or(Errno::IO)),
                    };
                }
            }
        }
        Ok(())
    }

    /// Take in bytes from the socket; `plain` gets what was in them.
    ///
    /// # Errors
    ///
    /// When they are not what the server should send; the alert that tells it waits to be sent.
    pub(crate) fn receive(
        &mut self,
        mut bytes: &[u8],
        plain: &mut dyn FnMut(&[u8]),
    ) -> Result<(), rustls::Error> {
        while !bytes.is_empty() && !self.ended {
            // Memory can be read; it fails only if plain bytes are left behind, and none are.
            let taken = self.connection.read_tls(&mut bytes);
            taken.map_err(|e| rustls::Error::General(e.to_string()))?;
            let state = self.connection.process_new_packets()?;
            let mut left = state.plaintext_bytes_to_read();
            let mut reader = self.connection.reader();
            while left > 0 {
                let Ok(some) = reader.fill_buf() else { break };
                let count = some.len();
                if count == 0 {
                    break;
                }
                plain(some);
                reader.consume(count);
                left = left.saturating_sub(count);
            }
            self.ended = state.peer_has_closed();
        }
        Ok(())
    }

    /// Whether the server has said that it sends no more, so that nothing was cut off.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the handshake goes on.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Once, when the handshake is complete: whether it resumed an earlier session.
    pub(crate) fn completed(&mut self) -> Option<bool> {
        if self.counted || self.connection.is_handshaking() {
            return None;
        }
        self.counted = true;
        Some(self.connection.handshake_kind() == Some(HandshakeKind::Resumed))
    }
}

/// Where records go, several at once.
struct Records<'a>(&'a OwnedFd);

impl Write for Records<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut nothing = SendAncillaryBuffer::default();
        loop {
            match sendmsg(self.0, parts, &mut nothing, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                other => return other.map_err(io::Error::from),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
