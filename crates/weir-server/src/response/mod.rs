//! A response that is ready to be sent: its status, its head as it goes over the connection, and where
//! its body comes from. The protocol of the connection makes it from an [`Answer`](crate::answer::Answer);
//! `send` sends it.

use weir_sched::ObjectId;

use crate::answer::{AbortOn, Part};
use crate::content::Body;

/// A response that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Response {
    /// The status code.
    pub(crate) code: u16,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Body,
    /// Where in the object the body begins, in bytes.
    pub(crate) body_at: u64,
    /// Bytes of the body that are sent; `None`: all that come, of an unknown number.
    pub(crate) body_length: Option<u64>,
    /// For a range: the object that it is a part of.
    pub(crate) range_of: Option<ObjectId>,
    /// The part of the body that a helper fetched, so that sending can begin.
    pub(crate) first: Option<Part>,
    /// The connection ends with it.
    pub(crate) close: bool,
    /// When the response is aborted because its client has left.
    pub(crate) abort_on: AbortOn,
}

impl Response {
    /// Bytes on the connection, head included; `None` while that is unknown.
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
