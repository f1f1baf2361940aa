//! A connection without I/O. Bytes of the network go in and plain bytes come out; plain bytes go in and
//! records come out, one for each call of [`Session::seal`] that fits one. A server first has a
//! [`Hello`], which waits for the whole of what a client begins with: until then nothing has been
//! computed. Used by `weir-server` for clients.

use std::fmt;
use std::io::{self, Read, Write};

use rustls::server::Acceptor;
use rustls::{CipherSuite, Connection, HandshakeKind, ProtocolVersion};

use crate::server::Server;

/// Plain bytes of the longest record (RFC 8446, section 5.1).
pub const LONGEST: usize = 16 * 1024;

/// Why a session cannot go on.
#[derive(Debug)]
pub struct Failure {
    error: rustls::Error,
    /// What tells the other side; empty if the session sends that itself.
    pub alert: Vec<u8>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// What went wrong, as rustls names it.
    pub fn error(&self) -> &rustls::Error {
        &self.error
    }

    fn with_alert(error: rustls::Error, mut alert: rustls::server::AcceptedAlert) -> Failure {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        let _ = alert.write_all(&mut bytes);
        Failure { error, alert: bytes }
    }
}

/// Bytes of a client's first message, at most: as many as a request's head may have. Those of browsers
/// have two thousand.
pub const LONGEST_HELLO: usize = 32 * 1024;

/// A client's first message as it comes.
#[derive(Default)]
pub struct Hello {
    acceptor: Acceptor,
    /// Bytes that came.
    came: usize,
}

impl fmt::Debug for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hello").finish_non_exhaustive()
    }
}

impl Hello {
    /// Takes all of `bytes`. Returns the message once it is whole; what follows it has been taken, too.
    ///
    /// # Errors
    ///
    /// It is no such message, or one that is too long.
    pub fn receive(&mut self, mut bytes: &[u8]) -> Result<Option<Accepted>, Failure> {
        let failed =
            |what: String| Failure { error: rustls::Error::General(what), alert: Vec::new() };
        while !bytes.is_empty() {
            let left = bytes.len();
            self.acceptor.read_tls(&mut bytes).map_err(|error| failed(error.to_string()))?;
            self.came += left - bytes.len();
            let whole = self.acceptor.accept();
            let whole = whole.map_err(|(error, alert)| Failure::with_alert(error, alert))?;
            if let Some(message) = whole {
                return Ok(Some(Accepted { message, rest: bytes.to_vec() }));
            }
            if self.came > LONGEST_HELLO {
                return Err(failed(format!("its first message has over {LONGEST_HELLO} bytes")));
            }
        }
        Ok(None)
    }
}

/// A client's first message, which came whole.
pub struct Accepted {
    message: rustls::server::Accepted,
    /// What followed it.
    rest: Vec<u8>,
}

impl fmt::Debug for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepted").finish_non_exhaustive()
    }
}

impl Accepted {
    /// Answers as `server` does: the part of a handshake that takes a server the most processor time.
    ///
    /// # Errors
    ///
    /// The two have nothing in common, or the client broke the rules.
    pub fn answer(self, server: &Server) -> Result<Session, Failure> {
        let config = server.for_client(&self.message.client_hello());
        let connection = self.message.into_connection(config);
        let connection = connection.map_err(|(error, alert)| Failure::with_alert(error, alert))?;
        let mut session = Session::new(Connection::Server(connection));
        let mut rest = &self.rest[..];
        while !rest.is_empty() {
            if session.receive(&mut rest).is_err() {
                break;
            }
            session.process()?;
        }
        Ok(session)
    }
}

/// Plain bytes that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// So many.
    Bytes(usize),
    /// None now.
    Nothing,
    /// The other side has said that no more will come (close_notify).
    End,
}

/// See the module.
pub struct Session {
    connection: Connection,
    /// Plain bytes that can be taken out.
    plain: usize,
    /// Bytes of all records that were handed over.
    sent: u64,
    /// Plain bytes and records of [`Session::seal`].
    sealed: u64,
    records: u64,
    /// Bytes of other records that [`Session::take_beside`] has told of.
    beside: u64,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("records", &self.records).finish_non_exhaustive()
    }
}

#[cfg(test)]
impl From<rustls::ClientConnection> for Session {
    fn from(connection: rustls::ClientConnection) -> Session {
        Session::new(Connection::Client(connection))
    }
}

impl Session {
    fn new(mut connection: Connection) -> Session {
        // Whoever seals bounds what waits.
        connection.set_buffer_limit(None);
        Session { connection, plain: 0, sent: 0, sealed: 0, records: 0, beside: 0 }
    }

    /// Whether the handshake goes on.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Takes bytes of the network, at most a few kilobytes at a time; 0 is the end. [`Session::process`]
    /// has to follow.
    ///
    /// # Errors
    ///
    /// Those of `from`; and one if the other side sends more than it may before it is processed.
    pub fn receive(&mut self, from: &mut dyn Read) -> io::Result<usize> {
        self.connection.read_tls(from)
    }

    /// Looks at what was received.
    ///
    /// # Errors
    ///
    /// The other side broke the rules, or something has changed the bytes on their way. The alert about
    /// it is among the records to be sent.
    pub fn process(&mut self) -> Result<(), Failure> {
        let state = self.connection.process_new_packets();
        let state = state.map_err(|error| Failure { error, alert: Vec::new() })?;
        self.plain = state.plaintext_bytes_to_read();
        Ok(())
    }

    /// Plain bytes that can be taken out now.
    pub fn plain(&self) -> usize {
        self.plain
    }

    /// Takes plain bytes out, as far as there is room, which must not be empty.
    pub fn take(&mut self, room: &mut [u8]) -> Plain {
        match self.connection.reader().read(room) {
            Ok(0) => Plain::End,
            Ok(count) => {
                self.plain = self.plain.saturating_sub(count);
                Plain::Bytes(count)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Plain::Nothing,
            // The end of the bytes without a word: [`Session::receive`] has told of it.
            Err(_) => Plain::Nothing,
        }
    }

    /// Puts `plain`, at most [`LONGEST`] bytes, into a record of its own. The handshake must be over.
    pub fn seal(&mut self, plain: &[u8]) {
        debug_assert!(!plain.is_empty() && plain.len() <= LONGEST);
        // Without a limit it takes all.
        let _ = self.connection.writer().write(plain);
        self.sealed += plain.len() as u64;
        self.records += 1;
    }

    /// Whether the other side waits for records before it sends anything: those that end a handshake of
    /// TLS 1.2 (RFC 5246, section 7.3).
    pub fn is_waited_for(&self) -> bool {
        let is_old = self.connection.protocol_version() == Some(ProtocolVersion::TLSv1_2);
        self.is_handshaking() || is_old && self.has_records()
    }

    /// Whether records wait to be sent.
    pub fn has_records(&self) -> bool {
        self.connection.wants_write()
    }

    /// Hands records to `to`, at most once; returns how many bytes it took.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    pub fn send(&mut self, to: &mut dyn Write) -> io::Result<usize> {
        let count = self.connection.write_tls(to)?;
        self.sent += count as u64;
        Ok(count)
    }

    /// Says that no more will be sent (close_notify); nothing may be sealed afterwards.
    pub fn close(&mut self) {
        self.connection.send_close_notify();
    }

    /// Bytes of a record beside its plain ones: 22 in TLS 1.3 (RFC 8446, section 5.2), 29 with AES-GCM
    /// (RFC 5288, section 3) and 21 with ChaCha20-Poly1305 (RFC 7905, section 2) in TLS 1.2.
    pub fn overhead(&self) -> u32 {
        const CHACHA: [CipherSuite; 2] = [
            CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ];
        let suite = self.connection.negotiated_cipher_suite().map(|suite| suite.suite());
        match (self.connection.protocol_version(), suite) {
            (Some(ProtocolVersion::TLSv1_2), Some(suite)) if CHACHA.contains(&suite) => 21,
            (Some(ProtocolVersion::TLSv1_2), _) => 29,
            _ => 22,
        }
    }

    /// Records that [`Session::seal`] has made so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of other records, such as of the handshake, that were handed over since the last call. While
    /// records of [`Session::seal`] wait, those behind them are told of later.
    pub fn take_beside(&mut self) -> u64 {
        let data = self.sealed + self.records * u64::from(self.overhead());
        let beside = self.sent.saturating_sub(data).max(self.beside);
        beside - std::mem::replace(&mut self.beside, beside)
    }

    /// Whether keys were agreed upon anew, or taken from an earlier session; `None` until that is clear.
    pub fn is_resumed(&self) -> Option<bool> {
        self.connection.handshake_kind().map(|kind| kind == HandshakeKind::Resumed)
    }

    /// The protocol that both agreed on (ALPN).
    pub fn protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// The other side's own certificate in DER, if it gave one.
    pub fn peer_certificate(&self) -> Option<&[u8]> {
        self.connection.peer_certificates()?.first().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests;
