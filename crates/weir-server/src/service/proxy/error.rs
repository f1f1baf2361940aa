//! Why an attempt failed, in words for the log. Made by [`super::attempt`] and
//! [`super::response_wait`], judged by [`mod@super::respond`].

use std::fmt;
use std::time::Duration;

/// Why a backend gave no response.
#[derive(Debug)]
pub(super) enum AttemptError {
    /// The backend cannot be reached: nothing was sent.
    Unreachable(std::io::Error),
    /// This machine has no descriptor, port or memory left: nothing was sent.
    OutOfResources,
    /// The backend closed the connection first. `reused`: the connection was used before; `unsent`:
    /// nothing was sent.
    ConnectionClosed {
        reused: bool,
        unsent: bool,
        why: String,
    },
    TimedOut,
    /// Its gate refuses the request; when to try again.
    Overloaded(Duration),
    /// Its response is invalid: why.
    InvalidResponse(&'static str),
    /// The request body cannot be read from its temporary file: why.
    BodyLost(String),
    ClientLeft,
}

impl fmt::Display for AttemptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttemptError::Unreachable(error) => write!(f, "cannot be reached: {error}"),
            AttemptError::OutOfResources => {
                f.write_str("not called: no descriptor, port or memory is left")
            }
            AttemptError::ConnectionClosed { why, .. } => write!(f, "no answer: {why}"),
            AttemptError::TimedOut => f.write_str("no answer in time"),
            AttemptError::InvalidResponse(what) => f.write_str(what),
            AttemptError::BodyLost(why) => {
                write!(f, "the request body cannot be read from its temporary file: {why}")
            }
            AttemptError::Overloaded(_) => f.write_str("overloaded"),
            AttemptError::ClientLeft => f.write_str("the client left"),
        }
    }
}
