//! The fields of an answer, but for its date and for those that frame it. Services fill them in; the
//! protocol of the connection writes them.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use http::HeaderMap;
use weir_http::forward::{FieldEdits, RelayedFields};
use weir_http::message::range::ContentRange;
use weir_http::message::{FieldChanges, ResponseFields};

use super::header_maps::HeaderMapPool;
use crate::content::Facts;

/// See the module.
#[derive(Debug)]
pub(crate) enum AnswerFields {
    /// What is known of an object; with 304 the tag alone.
    Object(Rc<Facts>),
    /// The same, for a part of it: the body.
    Part(Rc<Facts>),
    /// The same, for several parts: the pieces.
    Parts(Rc<Facts>),
    /// A short text, such as of an error.
    Page(Box<PageFields>),
    /// Those of a backend, or of what comes while it is sent as a backend's answer does.
    Relayed(Box<Relayed>),
}

/// The fields of a backend's answer.
#[derive(Debug)]
pub(crate) struct Relayed {
    /// As the backend sent them.
    pub(crate) received: HeaderMap,
    /// What the route sets and removes.
    pub(crate) edits: Arc<FieldEdits>,
    /// Where the memory of the fields goes afterwards.
    pub(crate) maps: Rc<HeaderMapPool>,
}

impl Relayed {
    /// The fields that are passed on.
    pub(crate) fn fields(&self) -> RelayedFields<'_> {
        RelayedFields { received: &self.received, edits: &self.edits }
    }

    /// They are needed no more.
    pub(crate) fn are_written(&mut self) {
        self.maps.give_back(std::mem::take(&mut self.received));
    }
}

/// The type of a short text.
const TEXT: &str = "text/plain; charset=utf-8";

/// The fields of an answer that is a short text, or a page in its place, beside its length.
#[derive(Debug, Default)]
pub(crate) struct PageFields {
    /// The type of a page; `None`: that of a short text.
    pub(super) media: Option<Cow<'static, str>>,
    pub(super) location: Option<String>,
    pub(super) allow: bool,
    pub(super) retry_after: Option<u32>,
    pub(super) content_range: Option<ContentRange>,
    /// How the client can tell who it is.
    pub(super) authenticate: Option<Box<str>>,
    /// What the configuration changes about all of these.
    pub(super) changes: Option<Arc<FieldChanges>>,
}

impl PageFields {
    /// All fields, for a text of `length` bytes; `None`: there is no text.
    pub(crate) fn fields(&self, length: Option<u64>) -> ResponseFields<'_> {
        ResponseFields {
            length,
            content_type: length.map(|_| self.media.as_deref().unwrap_or(TEXT)),
            content_range: self.content_range,
            location: self.location.as_deref(),
            allow: self.allow,
            retry_after: self.retry_after,
            authenticate: self.authenticate.as_deref(),
            changes: self.changes.as_deref(),
            ..ResponseFields::default()
        }
    }
}
