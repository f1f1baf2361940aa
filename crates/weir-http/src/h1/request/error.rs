//! Why a head is refused. Used by all files of [`crate::h1::request`] and by whoever answers the
//! client.

use std::fmt;

use http::StatusCode;

use crate::message::status::reason;

/// Why a buffer is not the beginning of a valid request. The connection cannot carry another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadRequest {
    /// The status to answer with: 400, 414, 431, 501 or 505.
    pub status: StatusCode,
    /// What is wrong, for the log.
    pub reason: &'static str,
}

impl BadRequest {
    pub(super) const fn new(status: StatusCode, reason: &'static str) -> BadRequest {
        BadRequest { status, reason }
    }

    pub(super) const fn syntax(reason: &'static str) -> BadRequest {
        BadRequest::new(StatusCode::BAD_REQUEST, reason)
    }
}

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status.as_str(), reason(self.status), self.reason)
    }
}

impl std::error::Error for BadRequest {}
