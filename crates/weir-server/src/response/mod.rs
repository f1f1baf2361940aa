//! A response that is ready to be sent: its status, its head as it goes over the connection, and where
//! its body comes from. Services make it from a [`ResponseTemplate`]; `send` sends it.

mod template;

use std::sync::Arc;

use weir_sched::ObjectId;

pub(crate) use self::template::ResponseTemplate;
use crate::content::Body;

/// A response that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Response {
    /// The status code.
    pub(crate) code: u16,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Body,
    /// Where in the object the body begins.
    pub(crate) body_at: u64,
    /// Bytes of the body that are sent; `None`: as many as come.
    pub(crate) body_length: Option<u64>,
    /// For a range: what it is a range of.
    pub(crate) range_of: Option<ObjectId>,
    /// The part of the body that a helper fetched, so that sending can begin.
    pub(crate) first: Option<Part>,
    /// The connection ends with it.
    pub(crate) close: bool,
    /// When its client counts as gone.
    pub(crate) abort_on: AbortOn,
}

/// What tells that a client does not wait for its response any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbortOn {
    /// It has closed the connection; one that has only finished sending is asked.
    FullClose,
    /// It sends nothing more.
    HalfClose,
    /// Somebody else reads from it, and notices.
    Never,
}

/// Bytes of an object.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Where in the object they begin.
    pub(crate) at: u64,
    pub(crate) bytes: Arc<[u8]>,
}

impl Response {
    /// Bytes on the connection, head included; `None` while nobody knows.
    pub(crate) fn length(&self) -> Option<u64> {
        let body = match (self.body_length, &self.body) {
            (Some(length), _) => Some(length),
            (None, Body::Relayed(relayed)) => {
                let (bytes, all) = relayed.extent();
                all.then_some(bytes)
            }
            (None, _) => None,
        };
        body.map(|bytes| self.head.len() as u64 + bytes)
    }
}
