//! Why a backend gave no answer, in words for the log. It does not know what follows from it.

use std::fmt;
use std::time::Duration;

/// Why a backend gave no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It cannot be reached: nothing was sent.
    Unreachable(std::io::Error),
    /// Nor can anybody else: no descriptor, port or memory is left here. Nothing was sent.
    Exhausted,
    /// Its connection ended first; whether it has seen the request, and on a connection that had
    /// been used before.
    Ended {
        reused: bool,
        unsent: bool,
        why: String,
    },
    TimedOut,
    Refused(Duration),
    /// Its answer makes no sense.
    Nonsense(&'static str),
    ClientLeft,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Unreachable(error) => write!(f, "cannot be reached: {error}"),
            Trouble::Exhausted => f.write_str("not asked: no descriptor, port or memory is left"),
            Trouble::Ended { why, .. } => write!(f, "no answer: {why}"),
            Trouble::TimedOut => f.write_str("no answer in time"),
            Trouble::Nonsense(what) => f.write_str(what),
            Trouble::Refused(_) => f.write_str("overloaded"),
            Trouble::ClientLeft => f.write_str("the client left"),
        }
    }
}
