//! Why a backend gave no answer, in words for the log. It does not know what follows from it.

use std::fmt;
use std::time::Duration;

/// Why a backend gave no answer.
#[derive(Debug)]
pub(super) enum AttemptError {
    /// It cannot be reached: nothing was sent.
    Unreachable(std::io::Error),
    /// Nor can anybody else: no descriptor, port or memory is left here. Nothing was sent.
    OutOfResources,
    /// Its connection ended first; whether it has seen the request, and on a connection that had
    /// been used before.
    ConnectionClosed {
        reused: bool,
        unsent: bool,
        why: String,
    },
    TimedOut,
    Overloaded(Duration),
    /// Its answer makes no sense.
    InvalidResponse(&'static str),
    ClientLeft,
}

impl fmt::Display for AttemptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttemptError::Unreachable(error) => write!(f, "cannot be reached: {error}"),
            AttemptError::OutOfResources => {
                f.write_str("not asked: no descriptor, port or memory is left")
            }
            AttemptError::ConnectionClosed { why, .. } => write!(f, "no answer: {why}"),
            AttemptError::TimedOut => f.write_str("no answer in time"),
            AttemptError::InvalidResponse(what) => f.write_str(what),
            AttemptError::Overloaded(_) => f.write_str("overloaded"),
            AttemptError::ClientLeft => f.write_str("the client left"),
        }
    }
}
