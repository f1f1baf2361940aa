//! What can be sent whole or in part: an object, what its head says of it, and where its bytes are. Made
//! by the sites and by whoever makes a short text; `answer` and the protocols read what its head says,
//! `send` its bytes.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use weir_http::message::coding::Coding;
use weir_http::message::conditions::Validators;
use weir_http::message::{FieldChanges, ResponseFields};
use weir_sched::ObjectId;

use super::file::{File, ReadError};
use super::pattern::pattern;
use crate::body::Coming;
use crate::compress::Compressed;

/// What a path stands for.
#[derive(Debug)]
pub(crate) enum Found {
    Object(Object),
    /// A directory, named without the slash at the end.
    Directory,
    /// A directory without an index, of which a list may be shown.
    List,
    /// A directory without an index, of which none may be shown.
    Bare,
    /// A file that is served under a shorter name: without so many bytes at the end of the path.
    Shorter(usize),
}

/// Something that can be sent, whole or in part.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) facts: Rc<Facts>,
    pub(crate) body: Body,
}

/// What the head of a response says of an object.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) length: u64,
    pub(crate) media: Cow<'static, str>,
    pub(crate) validators: Option<Validators>,
    /// In which coding the bytes are.
    pub(crate) coding: Option<Coding>,
    /// Clients that accept other codings may get something else under the same name.
    pub(crate) varies: bool,
    pub(crate) id: ObjectId,
    /// What the configuration changes about the fields of a response with it.
    pub(crate) changes: Option<Arc<FieldChanges>>,
    /// What HTTP/1 keeps of the head of an ordinary 200 response: all that is the same each time.
    pub(crate) h1_lines: OnceCell<Box<[u8]>>,
}

/// Where the bytes of a body are.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Text(Arc<[u8]>),
    /// The compressor's, which holds it for others as long as this does.
    Compressed(Arc<Compressed>),
    File(Rc<File>),
    /// Bytes of the built-in site's files, made when they are sent.
    Pattern,
    /// What comes while it is sent: a backend's answer, the list of a directory.
    Relayed(Rc<dyn Coming>),
}

/// Objects longer than this (bytes) are sent with `Accept-Ranges`. Short ones are not: heads cost time
/// in overload, and nobody resumes a few kilobytes.
const WORTH_RESUMING: u64 = 16 * 1024;

impl Object {
    /// A short text made for this response.
    pub(crate) fn text(text: impl Into<Vec<u8>>, media: &'static str) -> Object {
        let text: Arc<[u8]> = text.into().into();
        let facts = Facts::new(text.len() as u64, media, None, ObjectId(0));
        Object { facts: Rc::new(facts), body: Body::Text(text) }
    }

    /// The same with these changes to the fields of its responses.
    pub(crate) fn changed_by(self, changes: Arc<FieldChanges>) -> Object {
        let Facts { length, validators, coding, varies, id, .. } = *self.facts;
        let facts = Facts::new(length, self.facts.media.clone(), validators, id);
        let facts = Facts { coding, varies, ..facts };
        Object { facts: Rc::new(facts.changed_by(Some(changes))), ..self }
    }
}

impl Facts {
    /// Bytes that a prepared head takes, about.
    const HEAD: usize = 256;

    pub(crate) fn new(
        length: u64,
        media: impl Into<Cow<'static, str>>,
        validators: Option<Validators>,
        id: ObjectId,
    ) -> Facts {
        let (coding, varies) = (None, false);
        let (changes, h1_lines) = Default::default();
        Facts { length, media: media.into(), validators, coding, varies, id, changes, h1_lines }
    }

    /// The same with these changes to the fields of its responses.
    pub(super) fn changed_by(self, changes: Option<Arc<FieldChanges>>) -> Facts {
        Facts { changes, h1_lines: OnceCell::new(), ..self }
    }

    /// Bytes of memory that a prepared head takes, about.
    pub(super) fn head_bytes(&self) -> usize {
        let changes = self.changes.as_deref();
        Facts::HEAD + changes.map_or(0, FieldChanges::len_written)
    }

    /// Of the same content in this coding, as `file` has it, which is a file of its own.
    pub(super) fn in_file(&self, coding: Coding, file: &Facts) -> Facts {
        self.variant(coding, file.length, file.validators, file.id)
    }

    /// Of the same content in this coding, as it was compressed on the fly. Another server may make other
    /// bytes of it, so its tag is a weak one, of its own.
    pub(super) fn compressed(&self, coding: Coding, length: u64) -> Facts {
        let weak = |plain: Validators| Validators { etag: plain.etag.weak_in(coding), ..plain };
        self.variant(coding, length, self.validators.map(weak), self.id)
    }

    /// Of the same content in this coding: fields that do not tell of its bytes are the same.
    fn variant(
        &self,
        coding: Coding,
        length: u64,
        validators: Option<Validators>,
        id: ObjectId,
    ) -> Facts {
        let facts = Facts::new(length, self.media.clone(), validators, id);
        let facts = facts.changed_by(self.changes.clone());
        Facts { coding: Some(coding), varies: true, ..facts }
    }

    /// What the head of a response with the whole object says of it.
    pub(crate) fn fields(&self) -> ResponseFields<'_> {
        let has_parts = self.validators.as_ref().is_some_and(|known| !known.etag.is_weak());
        ResponseFields {
            length: Some(self.length),
            content_type: Some(&*self.media),
            coding: self.coding,
            varies: self.varies,
            validators: self.validators.as_ref(),
            accept_ranges: has_parts && self.length > WORTH_RESUMING,
            changes: self.changes.as_deref(),
            ..ResponseFields::default()
        }
    }
}

/// Copies the bytes from `offset` on, as far as there is room; returns how many.
pub(crate) fn copy(bytes: &[u8], offset: u64, out: &mut [u8]) -> usize {
    let rest = usize::try_from(offset).ok().and_then(|from| bytes.get(from..)).unwrap_or_default();
    let count = rest.len().min(out.len());
    out[..count].copy_from_slice(&rest[..count]);
    count
}

impl Body {
    /// Fills `out` with the bytes from `offset` on; returns how many there were: fewer only at the end.
    ///
    /// # Errors
    ///
    /// They are not in memory, or cannot be read.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> Result<usize, ReadError> {
        match self {
            Body::Text(text) => Ok(copy(text, offset, out)),
            Body::Compressed(made) => Ok(copy(made.bytes().unwrap_or_default(), offset, out)),
            Body::File(file) => file.read(offset, out),
            Body::Pattern => {
                pattern(offset, out);
                Ok(out.len())
            }
            Body::Relayed(relayed) => match relayed.read(offset, out) {
                0 => Err(ReadError::Cold),
                count => Ok(count),
            },
        }
    }
}
