//! Answers that weir makes itself: objects, parts of them, redirects, errors. Used by all services, and by
//! protocols for requests that are none.

use std::borrow::Cow;
use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use weir_http::message::FieldChanges;
use weir_http::message::byteranges::Byteranges;
use weir_http::message::path::SitePath;
use weir_http::message::range::{ContentRange, Span};
use weir_http::message::status;

use super::fields::{AnswerFields, PageFields, Relayed};
use super::pieces::Pieces;
use super::{AbortOn, Answer};
use crate::body::Coming;
use crate::content::{Body, Facts, Object};

impl Answer {
    /// 200 with the whole of an object.
    pub(crate) fn whole(object: Object) -> Answer {
        let Object { facts, body } = object;
        let length = facts.length;
        Answer::new(StatusCode::OK, AnswerFields::Object(facts), body, Some(length))
    }

    /// 206 with the bytes of an object from `first` to `last`.
    pub(crate) fn part(object: Object, first: u64, last: u64) -> Answer {
        let Object { facts, body } = object;
        let (fields, length) = (AnswerFields::Part(facts), Some(last - first + 1));
        let answer = Answer::new(StatusCode::PARTIAL_CONTENT, fields, body, length);
        Answer { body_at: first, ..answer }
    }

    /// 206 with several parts of an object, in this order (RFC 9110, section 15.3.7.2). A type that the
    /// configuration sets is that of the parts: the type of the whole says where they begin.
    pub(crate) fn parts(object: Object, parts: &[Span]) -> Answer {
        let changes = object.facts.changes.clone().unwrap_or_default();
        let set = changes.set_value(&header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media: Cow<'static, str> =
            set.map_or_else(|| object.facts.media.clone(), |media| media.to_owned().into());
        let object = match changes.keeps(&header::CONTENT_TYPE) {
            true => object,
            false => {
                let changes = (*changes).clone().keeping(&header::CONTENT_TYPE);
                object.changed_by(Arc::new(changes))
            }
        };
        let Object { facts, body } = object;
        let (boundary, total) = (boundary(), facts.length);
        let byteranges = Byteranges { boundary: &boundary, content_type: &media, total };
        let mut pieces = Pieces::new(byteranges.media_type());
        for (number, part) in parts.iter().enumerate() {
            pieces.push_own(byteranges.before(*part, number == 0));
            pieces.push_object(part.first, part.last);
        }
        pieces.push_own(byteranges.end());
        let (fields, length) = (AnswerFields::Parts(facts), Some(pieces.length()));
        Answer {
            body_at: parts.first().map_or(0, |part| part.first),
            pieces: Some(Box::new(pieces)),
            ..Answer::new(StatusCode::PARTIAL_CONTENT, fields, body, length)
        }
    }

    /// 304: the client's copy of the object is current.
    pub(crate) fn not_modified(facts: Rc<Facts>) -> Answer {
        let fields = AnswerFields::Object(facts);
        Answer::new(StatusCode::NOT_MODIFIED, fields, Body::Pattern, Some(0))
    }

    /// 200 with a text of this type that comes while it is sent. What `changes` remove it does not have.
    pub(crate) fn coming(
        body: Rc<dyn Coming>,
        media: &'static str,
        changes: &FieldChanges,
    ) -> Answer {
        let mut received = HeaderMap::new();
        received.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        changes.remove.iter().for_each(|name| drop(received.remove(name)));
        for (name, value) in &changes.set {
            received.insert(name, value.clone());
        }
        for (name, value) in &changes.add {
            received.append(name, value.clone());
        }
        let relayed = Relayed { received, edits: Arc::default(), maps: Rc::default() };
        let fields = AnswerFields::Relayed(Box::new(relayed));
        Answer::new(StatusCode::OK, fields, Body::Relayed(body), None)
    }

    /// 204: nothing but the fields that `changes` adds.
    pub(crate) fn no_content(changes: FieldChanges) -> Answer {
        let changes = Some(Arc::new(changes));
        let fields = AnswerFields::Page(Box::new(PageFields { changes, ..PageFields::default() }));
        Answer::new(StatusCode::NO_CONTENT, fields, Body::Pattern, None)
    }

    /// 416: an object of `total` bytes has none of those that were asked for.
    pub(crate) fn unsatisfied_range(total: u64) -> Answer {
        let content_range = Some(ContentRange::Unsatisfied { total });
        let fields = PageFields { content_range, ..PageFields::default() };
        Answer::page(StatusCode::RANGE_NOT_SATISFIABLE, fields)
    }

    /// 204: which methods there are.
    pub(crate) fn options() -> Answer {
        let fields = PageFields { allow: true, ..PageFields::default() };
        let fields = AnswerFields::Page(Box::new(fields));
        Answer::new(StatusCode::NO_CONTENT, fields, Body::Pattern, Some(0))
    }

    /// An error: a short text that says what is wrong.
    pub(crate) fn error(status: StatusCode) -> Answer {
        let retry_after = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        let allow = status == StatusCode::METHOD_NOT_ALLOWED;
        Answer::page(status, PageFields { retry_after, allow, ..PageFields::default() })
    }

    /// 503: come again after `after`.
    pub(crate) fn refusal(after: Duration) -> Answer {
        Answer::later(StatusCode::SERVICE_UNAVAILABLE, after.as_secs())
    }

    /// 429: the client has asked too often, and may do so again after `after`.
    pub(crate) fn too_many(after: Duration) -> Answer {
        // Who comes a part of a second too early is refused again.
        let seconds = after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0));
        Answer::later(StatusCode::TOO_MANY_REQUESTS, seconds)
    }

    /// 401: `challenge` says how the client can tell who it is.
    pub(crate) fn unauthorized(challenge: &str) -> Answer {
        let authenticate = Some(challenge.into());
        Answer::page(StatusCode::UNAUTHORIZED, PageFields { authenticate, ..PageFields::default() })
    }

    fn later(status: StatusCode, seconds: u64) -> Answer {
        let seconds = u32::try_from(seconds.max(1)).unwrap_or(u32::MAX);
        Answer::page(status, PageFields { retry_after: Some(seconds), ..PageFields::default() })
    }

    /// The answer to the challenge of a certificate authority (RFC 8555, section 8.3).
    pub(crate) fn challenge(page: String) -> Answer {
        Answer::whole(Object::text(page, "application/octet-stream"))
    }

    /// A redirect to `location`.
    pub(crate) fn redirect(status: StatusCode, location: String) -> Answer {
        Answer::page(status, PageFields { location: Some(location), ..PageFields::default() })
    }

    /// A redirect to a directory that was named without the slash at its end.
    pub(crate) fn moved_to_directory(path: &SitePath<'_>, query: Option<&str>) -> Answer {
        Answer::redirect(StatusCode::MOVED_PERMANENTLY, path.directory_location(query))
    }

    /// A redirect to the name of the same file that is shorter by `cut` bytes.
    pub(crate) fn moved_to_shorter(path: &SitePath<'_>, cut: usize, query: Option<&str>) -> Answer {
        Answer::redirect(StatusCode::MOVED_PERMANENTLY, path.shorter_location(cut, query))
    }

    /// Whether it is an error that weir tells of itself, by a short text.
    pub(crate) fn is_own_error(&self) -> bool {
        let is_error = self.status.is_client_error() || self.status.is_server_error();
        is_error && matches!(self.fields, AnswerFields::Page(_))
    }

    /// The same with `page` in place of its short text. The page is part of the answer, so that it has
    /// neither a tag nor a date of its own.
    pub(crate) fn showing(mut self, page: Object) -> Answer {
        if let AnswerFields::Page(fields) = &mut self.fields {
            fields.media = Some(page.facts.media.clone());
            self.body_length = Some(page.facts.length);
            self.body = page.body;
        }
        self
    }

    /// The same with these changes to its fields, if it is a short text.
    pub(crate) fn changed_by(mut self, changes: &Arc<FieldChanges>) -> Answer {
        if let AnswerFields::Page(fields) = &mut self.fields {
            fields.changes = Some(changes.clone());
        }
        self
    }

    /// An answer with that; `body_length`: bytes of the body, if that is known.
    pub(crate) fn new(
        status: StatusCode,
        fields: AnswerFields,
        body: Body,
        body_length: Option<u64>,
    ) -> Answer {
        Answer {
            status,
            fields,
            body,
            body_at: 0,
            body_length,
            pieces: None,
            first: RefCell::new(None),
            abort_on: AbortOn::FullClose,
        }
    }

    fn page(status: StatusCode, fields: PageFields) -> Answer {
        let text = status::page(status).into_bytes();
        let length = text.len() as u64;
        let fields = AnswerFields::Page(Box::new(fields));
        Answer::new(status, fields, Body::Text(text.into()), Some(length))
    }
}

/// What stands between parts, anew for each answer: who writes a file must not foresee it, or its bytes
/// could pass for the end of a part.
fn boundary() -> String {
    // Each has a key of its own, which nobody knows.
    let random = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Place;

    #[test]
    fn several_parts_are_framed_and_known_by_their_length() {
        let object = || Object::text(vec![b'x'; 1000], "text/plain");
        let parts = [Span { first: 500, last: 599 }, Span { first: 0, last: 9 }];
        let answer = Answer::parts(object(), &parts);
        assert_eq!((answer.status.as_u16(), answer.body_at), (206, 500));
        let (mut offset, mut own, mut sent) = (0, Vec::new(), Vec::new());
        let length = answer.body_length.unwrap();
        while offset < length {
            offset += match answer.place(offset) {
                Place::Own(bytes) => {
                    own.extend_from_slice(bytes);
                    bytes.len() as u64
                }
                Place::Object { at, left } => {
                    sent.push((at, left));
                    left
                }
            };
        }
        assert_eq!((offset, sent), (length, vec![(500, 100), (0, 10)]));
        let media = &answer.pieces.as_ref().unwrap().media;
        let boundary = media.strip_prefix("multipart/byteranges; boundary=").unwrap();
        assert!(boundary.len() == 32 && boundary.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let head = |range: &str| {
            format!(
                "--{boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes {range}\r\n\r\n"
            )
        };
        let expected =
            format!("{}\r\n{}\r\n--{boundary}--\r\n", head("500-599/1000"), head("0-9/1000"));
        assert_eq!(String::from_utf8(own).unwrap(), expected);
        // Nobody learns from one answer what the next one will have.
        let again = Answer::parts(object(), &parts);
        assert_ne!(again.pieces.as_ref().unwrap().media, *media);
    }
}
