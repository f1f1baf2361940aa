//! What a service answers: a status, fields and a body, the same for every version of HTTP. Services make
//! answers; the protocol of the client's connection writes their heads and frames their bodies.

mod fields;
mod header_maps;
mod own;
mod pieces;

use std::cell::RefCell;
use std::sync::Arc;

use http::StatusCode;
use weir_sched::ObjectId;

pub(crate) use self::fields::{AnswerFields, Relayed};
pub(crate) use self::header_maps::HeaderMapPool;
pub(crate) use self::pieces::{Pieces, Place};
use crate::content::Body;

/// See the module.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) fields: AnswerFields,
    pub(crate) body: Body,
    /// Where in the object the body begins, in bytes; of several parts, the first one.
    pub(crate) body_at: u64,
    /// Bytes of the body; `None`: all that come, of an unknown number.
    pub(crate) body_length: Option<u64>,
    /// The body is more than one part of the object. Boxed: that is rare.
    pub(crate) pieces: Option<Box<Pieces>>,
    /// The part of the body that a helper fetched, so that sending can begin. Who sends it takes it out,
    /// and lets it go once it was sent: the answer is kept until the last byte.
    pub(crate) first: RefCell<Option<Part>>,
    /// When the answer is aborted because its client has left.
    pub(crate) abort_on: AbortOn,
}

impl Answer {
    /// For ranges: the object that they are parts of.
    pub(crate) fn range_of(&self) -> Option<ObjectId> {
        match &self.fields {
            AnswerFields::Part(facts) | AnswerFields::Parts(facts) => Some(facts.id),
            _ => None,
        }
    }

    /// Where the byte at `offset` of the body is, and those behind it.
    pub(crate) fn place(&self, offset: u64) -> Place<'_> {
        match &self.pieces {
            None => Place::Object {
                at: self.body_at + offset,
                left: self.body_length.map_or(u64::MAX, |length| length.saturating_sub(offset)),
            },
            Some(pieces) => pieces.place(offset),
        }
    }
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
