//! A client's first message as it comes, and the answer to it. Until it is whole, nothing is computed.
//! Used by `weir-server` before it has a session.

use std::fmt;

use rustls::server::Acceptor;

use super::{Failure, Session};
use crate::server::Server;

/// Bytes of a client's first message, at most: as many as a request's head may have. Those of browsers
/// have two thousand.
pub const LONGEST_HELLO: usize = 32 * 1024;

/// A client's first message as it comes.
#[derive(Default)]
pub struct Hello {
    acceptor: Acceptor,
    /// All that came: the session that answers reads it again.
    came: Vec<u8>,
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
        self.came.extend_from_slice(bytes);
        while !bytes.is_empty() {
            self.acceptor.read_tls(&mut bytes).map_err(|error| failed(error.to_string()))?;
            let whole = self.acceptor.accept();
            let whole = whole.map_err(|(error, alert)| Failure::with_alert(error, alert))?;
            if let Some(message) = whole {
                return Ok(Some(Accepted { message, came: std::mem::take(&mut self.came) }));
            }
            if self.came.len() - bytes.len() > LONGEST_HELLO {
                return Err(failed(format!("its first message has over {LONGEST_HELLO} bytes")));
            }
        }
        Ok(None)
    }
}

/// A client's first message, which came whole.
pub struct Accepted {
    message: rustls::server::Accepted,
    /// The message as it came, with what followed it.
    came: Vec<u8>,
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
        Session::answering(config, self.came)
    }
}
