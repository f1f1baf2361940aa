//! What is known of a response before the request is looked up: the date, whether the connection
//! persists, whether there is a body. All services make their responses from it, errors included.

use std::time::Duration;

use weir_http::Status;
use weir_http::h1::response::{Connection, ResponseHead, write_status_and_date};
use weir_http::message::conditions::Validators;
use weir_http::message::path::SitePath;
use weir_http::message::{Method, Request, Version};

use super::{AbortOn, Response};
use crate::content::{Body, Object};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseTemplate {
    date: [u8; 29],
    connection: Connection,
    close: bool,
    head_only: bool,
}

impl ResponseTemplate {
    /// For a response to `request`; the connection persists if both sides want it.
    pub(crate) fn answering(
        request: &Request<'_>,
        keep_alive: bool,
        date: [u8; 29],
    ) -> ResponseTemplate {
        let connection = match (keep_alive, request.version) {
            (true, Version::Http11) => Connection::Default,
            (true, Version::Http10) => Connection::KeepAlive,
            (false, _) => Connection::Close,
        };
        let head_only = request.method == Method::Head;
        ResponseTemplate { date, connection, close: !keep_alive, head_only }
    }

    /// For a response to something that is not a valid request; the connection ends.
    pub(crate) fn closing(date: [u8; 29]) -> ResponseTemplate {
        ResponseTemplate { date, connection: Connection::Close, close: true, head_only: false }
    }

    /// The same for a response after which the connection ends.
    pub(crate) fn then_closing(&self) -> ResponseTemplate {
        ResponseTemplate { connection: Connection::Close, close: true, ..*self }
    }

    pub(crate) fn connection(&self) -> Connection {
        self.connection
    }

    pub(crate) fn date(&self) -> [u8; 29] {
        self.date
    }

    /// A backend's answer, with its head as it is sent. `length`: bytes of the body, if that is known.
    pub(crate) fn passed_on(
        &self,
        code: u16,
        head: Vec<u8>,
        body: Body,
        length: Option<u64>,
    ) -> Response {
        let length = if self.head_only { Some(0) } else { length };
        Response {
            code,
            head,
            body,
            body_at: 0,
            body_length: length,
            range_of: None,
            first: None,
            close: self.close,
            abort_on: AbortOn::HalfClose,
        }
    }

    /// 503: come again after `after`.
    pub(crate) fn refusal(&self, after: Duration) -> Response {
        let seconds = u32::try_from(after.as_secs().max(1)).unwrap_or(u32::MAX);
        self.page(&ResponseHead {
            retry_after: Some(seconds),
            ..self.head(Status::ServiceUnavailable)
        })
    }

    /// A redirect to `location`.
    pub(crate) fn redirect(&self, status: Status, location: &str) -> Response {
        self.page(&ResponseHead { location: Some(location), ..self.head(status) })
    }

    pub(crate) fn head(&self, status: Status) -> ResponseHead<'static> {
        ResponseHead { connection: self.connection, ..ResponseHead::new(status, self.date) }
    }

    pub(crate) fn response(
        &self,
        head: &ResponseHead<'_>,
        body: Body,
        body_at: u64,
        length: u64,
    ) -> Response {
        let mut bytes = Vec::with_capacity(384);
        head.write(&mut bytes);
        self.with_head(head.status, bytes, body, body_at, length)
    }

    fn with_head(
        &self,
        status: Status,
        head: Vec<u8>,
        body: Body,
        body_at: u64,
        length: u64,
    ) -> Response {
        Response {
            code: status.code(),
            head,
            body,
            body_at,
            body_length: Some(if self.head_only { 0 } else { length }),
            range_of: None,
            first: None,
            close: self.close,
            abort_on: AbortOn::FullClose,
        }
    }

    /// An error page: a short text that says what is wrong.
    pub(crate) fn error(&self, status: Status) -> Response {
        let retry_after = (status == Status::ServiceUnavailable).then_some(1);
        let allow = status == Status::MethodNotAllowed;
        self.page(&ResponseHead { retry_after, allow, ..self.head(status) })
    }

    pub(crate) fn page(&self, head: &ResponseHead<'_>) -> Response {
        let Object { facts, body } = Object::text(head.status.page(), "text/plain; charset=utf-8");
        let head =
            ResponseHead { length: Some(facts.length), content_type: Some(facts.media), ..*head };
        self.response(&head, body, 0, facts.length)
    }

    /// 200 with the whole of an object.
    pub(crate) fn whole(&self, object: Object) -> Response {
        let Object { facts, body } = object;
        let mut head = Vec::with_capacity(88 + facts.fields.len());
        write_status_and_date(Status::Ok, &self.date, &mut head);
        head.extend_from_slice(self.connection.line().as_bytes());
        head.extend_from_slice(&facts.fields);
        self.with_head(Status::Ok, head, body, 0, facts.length)
    }

    pub(crate) fn moved_to_directory(&self, path: &SitePath<'_>, query: Option<&str>) -> Response {
        let location = path.directory_location(query);
        let head =
            ResponseHead { location: Some(&location), ..self.head(Status::MovedPermanently) };
        self.page(&head)
    }

    pub(crate) fn not_modified(&self, validators: &Validators) -> Response {
        let head = ResponseHead { validators: Some(validators), ..self.head(Status::NotModified) };
        self.response(&head, Body::Pattern, 0, 0)
    }
}
