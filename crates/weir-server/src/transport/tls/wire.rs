//! A socket as a session reads and writes it. Used by [`super::Tls`] for each step.

use std::io::{self, IoSlice, Read, Write};

use crate::transport::socket::Socket;

/// What comes from the other end.
pub(super) struct Incoming<'a>(pub(super) &'a Socket);

impl Read for Incoming<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        Ok(self.0.read(room)?)
    }
}

/// What goes to the other end.
pub(super) struct Outgoing<'a> {
    pub(super) socket: &'a Socket,
    /// Something follows, so TCP keeps what does not fill a segment.
    pub(super) more: bool,
    /// It took fewer bytes than it was handed.
    pub(super) is_full: bool,
}

impl Write for Outgoing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let all: usize = parts.iter().map(|part| part.len()).sum();
        let taken = self.socket.write_parts(parts, self.more)?;
        self.is_full = taken.is_none_or(|count| count < all);
        taken.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
