//! What a service answers: a status, fields and a body, the same for every version of HTTP. Services make
//! answers; the protocol of the client's connection writes their heads and frames their bodies.

mod fields;
mod header_maps;
mod own;

use std::sync::Arc;

use http::StatusCode;
use weir_sched::ObjectId;

pub(crate) use self::fields::{AnswerFields, Relayed};
pub(crate) use self::header_maps::HeaderMapPool;
use crate::content::Body;

/// See the module.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) fields: AnswerFields,
    pub(crate) body: Body,
    /// Where in the object the body begins, in bytes.
    pub(crate) body_at: u64,
    /// Bytes of the body; `None`: all that come, of an unknown number.
    pub(crate) body_length: Option<u64>,
    /// For a range: the object that it is a part of.
    pub(crate) range_of: Option<ObjectId>,
    /// The part of the body that a helper fetched, so that sending can begin.
    pub(crate) first: Option<Part>,
    /// When the answer is aborted because its client has left.
    pub(crate) abort_on: AbortOn,
}

/// What tells that a client does not wait for its answer any more, so that it is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbortOn {
    /// It has closed the connection. A client that has only closed its own side is probed.
    FullClose,
    /// It has closed its own side.
    HalfClose,
    /// Nothing: somebody else reads from the client and notices, or the route does not want to know.
    Never,
}

/// Some bytes of an object.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Where in the object they begin.
    pub(crate) at: u64,
    pub(crate) bytes: Arc<[u8]>,
}
