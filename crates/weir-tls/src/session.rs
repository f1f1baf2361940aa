//! A connection of a server without I/O. Bytes of the network go in and plain bytes come out; plain bytes
//! go in and records come out, one for each call of [`Session::seal`] that fits one. It begins with a
//! [`Hello`]. One that waits holds no buffers. Used by `weir-server` for clients.

mod hello;

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};
use rustls::{CipherSuite, HandshakeKind, ProtocolVersion, ServerConfig};

pub use self::hello::{Accepted, Hello, LONGEST_HELLO};

/// Plain bytes of the longest record (RFC 8446, section 5.1).
pub const LONGEST: usize = 16 * 1024;

/// Why a session cannot go on.
#[derive(Debug)]
pub struct Failure {
    error: rustls::Error,
    /// What tells the other side; empty if it is among the session's records.
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
    connection: UnbufferedServerConnection,
    /// Came, and is not processed: part of a record, or of a message of the handshake.
    incoming: Vec<u8>,
    plain: Waiting,
    records: Waiting,
    /// The other side has said that no more will come.
    has_ended: bool,
    /// One of the two has broken the rules: nothing is read or sealed any more.
    has_failed: bool,
    /// The keys are used up, as far as TLS 1.2 can have others: nothing more can be sealed.
    is_spent: bool,
    /// Bytes of all records that were handed over.
    sent: u64,
    /// Plain bytes and number of the records of [`Session::seal`].
    sealed: u64,
    count: u64,
    /// Bytes of other records that [`Session::take_beside`] has told of.
    beside: u64,
}

/// Bytes that wait for somebody to take them; they have no memory once all are taken.
#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    taken: usize,
}

impl Waiting {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }

    fn take(&mut self, count: usize) {
        self.taken += count;
        if self.taken >= self.bytes.len() {
            *self = Waiting::default();
        }
    }

    /// Has `write` put bytes behind the others, which says how many, into this much room.
    fn append<E>(
        &mut self,
        room: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        let held = self.bytes.len();
        self.bytes.resize(held + room, 0);
        let written = write(&mut self.bytes[held..]);
        self.bytes.truncate(held + written.as_ref().copied().unwrap_or(0));
        written.map(|_| ())
    }
}

/// Bytes that one call of [`Session::receive`] takes at most.
const READ: usize = 4096;

/// Bytes that may wait to be processed: as many as rustls lets a message of the handshake have, with the
/// records that it comes in. Those of data have 16 KB.
const MOST_INCOMING: usize = 64 * 1024;

/// Bytes that a record has beside its plain ones at most (RFC 5288, section 3), and those of a message that
/// announces new keys before it (RFC 8446, section 4.6.3).
const BESIDE_PLAIN: usize = 64;

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("records", &self.count).finish_non_exhaustive()
    }
}

impl Session {
    /// The session that answers a first message, which `came` begins with.
    fn answering(config: Arc<ServerConfig>, came: Vec<u8>) -> Result<Session, Failure> {
        let connection = UnbufferedServerConnection::new(config);
        let connection = connection.map_err(|error| Failure { error, alert: Vec::new() })?;
        let mut session = Session {
            connection,
            incoming: came,
            plain: Waiting::default(),
            records: Waiting::default(),
            has_ended: false,
            has_failed: false,
            is_spent: false,
            sent: 0,
            sealed: 0,
            count: 0,
            beside: 0,
        };
        match session.process() {
            Ok(()) => Ok(session),
            Err(failure) => Err(Failure { alert: session.records.bytes, ..failure }),
        }
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
    /// Those of `from`; and one if a message of the handshake has more bytes than any may have.
    pub fn receive(&mut self, from: &mut dyn Read) -> io::Result<usize> {
        if self.has_ended || self.has_failed {
            return Ok(0);
        }
        if self.incoming.len() > MOST_INCOMING {
            return Err(io::Error::new(ErrorKind::InvalidData, "a message that does not end"));
        }
        let mut room = [0; READ];
        let count = from.read(&mut room)?;
        self.incoming.extend_from_slice(&room[..count]);
        Ok(count)
    }

    /// Looks at what was received.
    ///
    /// # Errors
    ///
    /// The other side broke the rules, or something has changed the bytes on their way. The alert about
    /// it is among the records to be sent.
    pub fn process(&mut self) -> Result<(), Failure> {
        self.advance(None)
    }

    /// Looks at what was received, then does what is `left`.
    fn advance(&mut self, mut left: Option<Left<'_>>) -> Result<(), Failure> {
        while !self.has_failed {
            let UnbufferedStatus { mut discard, state } =
                self.connection.process_tls_records(&mut self.incoming);
            let mut is_last = false;
            let mut failed = None;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        match record {
                            Ok(record) => {
                                discard += record.discard;
                                self.plain.bytes.extend_from_slice(record.payload);
                            }
                            Err(error) => failed = Some(error),
                        }
                    }
                }
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, &mut self.records),
                // They wait here, and rustls need not.
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.has_ended = true,
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    is_last = true;
                    let written = match left.take() {
                        None => Ok(()),
                        Some(Left::Seal(plain)) => {
                            let room = plain.len() + BESIDE_PLAIN;
                            self.records.append(room, |room| traffic.encrypt(plain, room))
                        }
                        Some(Left::Close) => self
                            .records
                            .append(BESIDE_PLAIN, |room| traffic.queue_close_notify(room)),
                    };
                    self.is_spent |= written.is_err();
                }
                Ok(_) => is_last = true,
                Err(error) => failed = Some(error),
            }
            self.incoming.drain(..discard.min(self.incoming.len()));
            if let Some(error) = failed {
                self.take_alert();
                return Err(Failure { error, alert: Vec::new() });
            }
            if is_last {
                break;
            }
        }
        if self.incoming.is_empty() {
            self.incoming = Vec::new();
        }
        Ok(())
    }

    /// Takes what tells the other side of a failure: the first record after one, if there is any. After
    /// that, rustls is not asked again.
    fn take_alert(&mut self) {
        self.has_failed = true;
        let state = self.connection.process_tls_records(&mut self.incoming).state;
        if let Ok(ConnectionState::EncodeTlsData(data)) = state {
            encode(data, &mut self.records);
        }
        self.incoming = Vec::new();
    }

    /// Bytes of memory that wait for something, beside what the connection has for as long as it lasts.
    #[cfg(test)]
    fn held(&self) -> usize {
        self.incoming.capacity() + self.plain.bytes.capacity() + self.records.bytes.capacity()
    }

    /// Plain bytes that can be taken out now.
    pub fn plain(&self) -> usize {
        self.plain.rest().len()
    }

    /// Whether nothing more will come: the other side has said so, or one of the two has broken the rules.
    pub fn is_at_end(&self) -> bool {
        self.has_ended || self.has_failed
    }

    /// Whether one of the two has broken the rules: nothing is read or sealed any more.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Takes plain bytes out, as far as there is room, which must not be empty.
    pub fn take(&mut self, room: &mut [u8]) -> Plain {
        let rest = self.plain.rest();
        if rest.is_empty() {
            return if self.has_ended { Plain::End } else { Plain::Nothing };
        }
        let count = rest.len().min(room.len());
        room[..count].copy_from_slice(&rest[..count]);
        self.plain.take(count);
        Plain::Bytes(count)
    }

    /// Makes room for so many plain bytes in so many records.
    pub fn reserve(&mut self, plain: usize, records: usize) {
        self.records.bytes.reserve(plain + records * BESIDE_PLAIN);
    }

    /// Puts `plain`, at most [`LONGEST`] bytes, into a record of its own. The handshake must be over.
    pub fn seal(&mut self, plain: &[u8]) {
        debug_assert!(!plain.is_empty() && plain.len() <= LONGEST);
        // What breaks the rules is told of by those who read.
        let _ = self.advance(Some(Left::Seal(plain)));
        self.sealed += plain.len() as u64;
        self.count += 1;
    }

    /// Whether the other side waits for records before it sends anything: those that end a handshake of
    /// TLS 1.2 (RFC 5246, section 7.3).
    pub fn is_waited_for(&self) -> bool {
        let is_old = self.connection.protocol_version() == Some(ProtocolVersion::TLSv1_2);
        self.is_handshaking() || is_old && self.has_records()
    }

    /// Whether records wait to be sent.
    pub fn has_records(&self) -> bool {
        !self.records.rest().is_empty()
    }

    /// Hands records to `to`, at most once; returns how many bytes it took.
    ///
    /// # Errors
    ///
    /// Those of `to`; and one if something could not be sealed.
    pub fn send(&mut self, to: &mut dyn Write) -> io::Result<usize> {
        if self.is_spent {
            return Err(io::Error::other("the keys of the session are used up"));
        }
        let count = to.write(self.records.rest())?;
        self.records.take(count);
        self.sent += count as u64;
        Ok(count)
    }

    /// Says that no more will be sent (close_notify); nothing may be sealed afterwards.
    pub fn close(&mut self) {
        // Who cannot be told any more learns it from the end of the connection.
        let _ = self.advance(Some(Left::Close));
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
        self.count
    }

    /// Bytes of other records, such as of the handshake, that were handed over since the last call. While
    /// records of [`Session::seal`] wait, those behind them are told of later.
    pub fn take_beside(&mut self) -> u64 {
        let data = self.sealed + self.count * u64::from(self.overhead());
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

/// What a session still has to do.
enum Left<'a> {
    Seal(&'a [u8]),
    Close,
}

/// Puts a record of the handshake, or an alert, behind the others.
fn encode<Data>(mut data: EncodeTlsData<'_, Data>, records: &mut Waiting) {
    // With no room it says how much it needs.
    let needed = match data.encode(&mut []) {
        Err(EncodeError::InsufficientSize(error)) => error.required_size,
        Ok(_) | Err(EncodeError::AlreadyEncoded) => return,
    };
    let _ = records.append(needed, |room| data.encode(room));
}

#[cfg(test)]
mod tests;
