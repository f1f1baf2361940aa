//! A response that is ready to be sent: an answer with its head as it goes over the connection. The
//! protocol of the connection makes it; `send` sends it.

use crate::answer::Answer;
use crate::content::Body;

/// See the module.
#[derive(Debug)]
pub(crate) struct Response<'a> {
    pub(crate) head: Vec<u8>,
    /// Its body is as it goes over the connection.
    pub(crate) answer: &'a Answer,
    /// The connection ends with it.
    pub(crate) close: bool,
}

impl Response<'_> {
    /// Bytes on the connection, head included; `None` while that is unknown.
    pub(crate) fn length(&self) -> Option<u64> {
        let body = match (self.answer.body_length, &self.answer.body) {
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
