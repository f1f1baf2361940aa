//! Answers that weir makes itself: objects, parts of them, redirects, errors. Used by all services, and by
//! protocols for requests that are none.

use std::rc::Rc;
use std::time::Duration;

use http::StatusCode;
use weir_http::message::path::SitePath;
use weir_http::message::range::ContentRange;
use weir_http::message::status;

use super::fields::{AnswerFields, PageFields};
use super::{AbortOn, Answer};
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
        let (id, total) = (facts.id, facts.length);
        let fields = AnswerFields::Part(facts, ContentRange::Part { first, last, total });
        let length = Some(last - first + 1);
        Answer {
            body_at: first,
            range_of: Some(id),
            ..Answer::new(StatusCode::PARTIAL_CONTENT, fields, body, length)
        }
    }

    /// 304: the client's copy of the object is current.
    pub(crate) fn not_modified(facts: Rc<Facts>) -> Answer {
        let fields = AnswerFields::Object(facts);
        Answer::new(StatusCode::NOT_MODIFIED, fields, Body::Pattern, Some(0))
    }

    /// 416: an object of `total` bytes has none of those that were asked for.
    pub(crate) fn unsatisfied_range(total: u64) -> Answer {
        let content_range = Some(ContentRange::Unsatisfied { total });
        let fields = PageFields { content_range, ..PageFields::default() };
        Answer::page(StatusCode::RANGE_NOT_SATISFIABLE, fields)
    }

    /// An error: a short text that says what is wrong.
    pub(crate) fn error(status: StatusCode) -> Answer {
        let retry_after = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        let allow = status == StatusCode::METHOD_NOT_ALLOWED;
        Answer::page(status, PageFields { retry_after, allow, ..PageFields::default() })
    }

    /// 503: come again after `after`.
    pub(crate) fn refusal(after: Duration) -> Answer {
        let seconds = u32::try_from(after.as_secs().max(1)).unwrap_or(u32::MAX);
        let fields = PageFields { retry_after: Some(seconds), ..PageFields::default() };
        Answer::page(StatusCode::SERVICE_UNAVAILABLE, fields)
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
            range_of: None,
            first: None,
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
