//! What the access log tells of one response. Made by the protocol when a response has ended, written by
//! the formats.

use std::time::Duration;

use weir_http::message::Request;

use super::details::Details;
use crate::identity::PeerAddress;

/// One response.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) peer: PeerAddress,
    /// Who it is by its password, if that was asked for.
    pub(crate) user: Option<&'a str>,
    /// When it ended, since 1970.
    pub(crate) at: Duration,
    /// `None`: what the client sent was not a request.
    pub(crate) request: Option<&'a Request<'a>>,
    pub(crate) code: u16,
    /// Bytes of the body.
    pub(crate) sent: u64,
    pub(crate) ending: Ending,
    pub(crate) took: Duration,
    /// What else is known, if that is collected.
    pub(crate) details: Option<&'a Details>,
}

/// Why a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was sent whole.
    Complete,
    /// Its client left.
    ClientLeft,
    /// Its client took nothing for `send_timeout`, or less than `min_rate`.
    TimedOut,
    /// The rest of its body could not be read, or its backend did not send it.
    Failed,
    /// The server stopped.
    Stopped,
}

impl Ending {
    /// In words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Ending::Complete => "complete",
            Ending::ClientLeft => "client left",
            Ending::TimedOut => "timed out",
            Ending::Failed => "error",
            Ending::Stopped => "server stopped",
        }
    }
}
