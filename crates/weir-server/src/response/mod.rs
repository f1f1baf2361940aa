//! The answer to a request: which status, which head, which bytes. It sends nothing.

use std::sync::Arc;
use std::time::Duration;

use weir_http::Status;
use weir_http::h1::response::{Connection, ResponseHead, write_status_and_date};
use weir_http::message::Version;
use weir_http::message::conditions::{self, Validators};
use weir_http::message::path::{self, SitePath};
use weir_http::message::range::ContentRange;
use weir_http::message::range::{self, Range};
use weir_http::message::{Method, Request};
use weir_sched::ObjectId;

use crate::content::{Body, Content, Found, Object};

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
    /// The part of the body that a helper brought, so that sending can begin.
    pub(crate) first: Option<Part>,
    /// The connection ends with it.
    pub(crate) close: bool,
    /// When its client counts as gone.
    pub(crate) departure: Departure,
}

/// What tells that a client does not wait for its response any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// It has closed the connection; one that has only finished sending is asked.
    Gone,
    /// It sends nothing more.
    Closed,
    /// Somebody else reads from it, and notices.
    Unwatched,
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

/// How a response is framed: what it says of the connection, and whether it has a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framing {
    date: [u8; 29],
    connection: Connection,
    close: bool,
    head_only: bool,
}

impl Framing {
    /// For a response to `request`; the connection persists if both sides want it.
    pub(crate) fn answering(request: &Request<'_>, keep_alive: bool, date: [u8; 29]) -> Framing {
        let connection = match (keep_alive, request.version) {
            (true, Version::Http11) => Connection::Default,
            (true, Version::Http10) => Connection::KeepAlive,
            (false, _) => Connection::Close,
        };
        let head_only = request.method == Method::Head;
        Framing { date, connection, close: !keep_alive, head_only }
    }

    /// For a response to something that is no request.
    pub(crate) fn closing(date: [u8; 29]) -> Framing {
        Framing { date, connection: Connection::Close, close: true, head_only: false }
    }

    /// The same for a response after which the connection ends.
    pub(crate) fn then_closing(&self) -> Framing {
        Framing { connection: Connection::Close, close: true, ..*self }
    }

    pub(crate) fn connection(&self) -> Connection {
        self.connection
    }

    pub(crate) fn date(&self) -> [u8; 29] {
        self.date
    }

    /// An answer that somebody else gave, with its head as it is sent.
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
            departure: Departure::Closed,
        }
    }

    /// Come again later.
    pub(crate) fn refusal(&self, after: Duration) -> Response {
        let seconds = u32::try_from(after.as_secs().max(1)).unwrap_or(u32::MAX);
        self.page(&ResponseHead {
            retry_after: Some(seconds),
            ..self.head(Status::ServiceUnavailable)
        })
    }

    /// Ask elsewhere.
    pub(crate) fn redirect(&self, status: Status, location: &str) -> Response {
        self.page(&ResponseHead { location: Some(location), ..self.head(status) })
    }

    fn head(&self, status: Status) -> ResponseHead<'static> {
        ResponseHead { connection: self.connection, ..ResponseHead::new(status, self.date) }
    }

    fn response(&self, head: &ResponseHead<'_>, body: Body, body_at: u64, length: u64) -> Response {
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
            departure: Departure::Gone,
        }
    }

    /// A short text that says what is wrong.
    pub(crate) fn error(&self, status: Status) -> Response {
        let retry_after = (status == Status::ServiceUnavailable).then_some(1);
        let allow = status == Status::MethodNotAllowed;
        self.page(&ResponseHead { retry_after, allow, ..self.head(status) })
    }

    fn page(&self, head: &ResponseHead<'_>) -> Response {
        let Object { facts, body } = Object::text(head.status.page(), "text/plain; charset=utf-8");
        let head =
            ResponseHead { length: Some(facts.length), content_type: Some(facts.media), ..*head };
        self.response(&head, body, 0, facts.length)
    }

    /// The whole of an object.
    pub(crate) fn whole(&self, object: Object) -> Response {
        let Object { facts, body } = object;
        if self.connection != Connection::Default {
            return self.response(&facts.head(self.head(Status::Ok)), body, 0, facts.length);
        }
        let mut head = Vec::with_capacity(64 + facts.fields.len());
        write_status_and_date(Status::Ok, &self.date, &mut head);
        head.extend_from_slice(&facts.fields);
        self.with_head(Status::Ok, head, body, 0, facts.length)
    }

    fn moved_to_directory(&self, path: &SitePath<'_>, query: Option<&str>) -> Response {
        let location = path.directory_location(query);
        let head =
            ResponseHead { location: Some(&location), ..self.head(Status::MovedPermanently) };
        self.page(&head)
    }

    fn not_modified(&self, validators: &Validators) -> Response {
        let head = ResponseHead { validators: Some(validators), ..self.head(Status::NotModified) };
        self.response(&head, Body::Pattern, 0, 0)
    }
}

/// Answers a valid request (RFC 9110 sections 13.2.2 and 14.2 give the order of the steps).
pub(crate) async fn respond(
    content: &Content,
    request: &Request<'_>,
    framing: Framing,
) -> Response {
    if request.method == Method::Other {
        return framing.error(Status::MethodNotAllowed);
    }
    let path = match path::resolve(request.path) {
        Ok(path) => path,
        Err(error) => return framing.error(error.status()),
    };
    match content.find(&path).await {
        Ok(Found::Object(object)) => {
            let response = present(request, object, framing);
            begin(response, content, framing).await
        }
        Ok(Found::Directory) => framing.moved_to_directory(&path, request.query),
        Err(status) => framing.error(status),
    }
}

/// Sees to it that sending can begin at once: only now can an error still be told.
async fn begin(mut response: Response, content: &Content, framing: Framing) -> Response {
    let (Body::File(file), Content::Files(site)) = (&response.body, content) else {
        return response;
    };
    if response.body_length == Some(0) || site.is_ready(file, response.body_at) {
        return response;
    }
    match Box::pin(file.bring(site.disk(), response.body_at, site.window())).await {
        Ok((at, bytes)) => {
            response.first = Some(Part { at, bytes });
            response
        }
        Err(error) => framing.error(site.not_brought(file, &error)),
    }
}

fn present(request: &Request<'_>, object: Object, framing: Framing) -> Response {
    let none = Validators { etag: conditions::ETag::new(0, 0, 0), modified: None };
    let facts = object.facts.clone();
    let validators = facts.validators.as_ref();
    if validators.is_some_and(|v| conditions::not_modified(request, v)) {
        return framing.not_modified(validators.unwrap_or(&none));
    }
    let asked = request.range.filter(|_| request.method == Method::Get);
    let applies = |_: &&str| conditions::range_applies(request, validators.unwrap_or(&none));
    let total = facts.length;
    let range = asked.filter(applies).map(|header| range::resolve(header, total));
    match range.unwrap_or(Range::Whole) {
        Range::Whole => framing.whole(object),
        Range::Part { first, last } => {
            let length = last - first + 1;
            let head = ResponseHead {
                length: Some(length),
                content_range: Some(ContentRange::Part { first, last, total }),
                accept_ranges: false,
                ..facts.head(framing.head(Status::PartialContent))
            };
            let mut response = framing.response(&head, object.body, first, length);
            response.range_of = Some(facts.id);
            response
        }
        Range::Unsatisfiable => {
            let content_range = Some(ContentRange::Unsatisfied { total });
            framing
                .page(&ResponseHead { content_range, ..framing.head(Status::RangeNotSatisfiable) })
        }
    }
}
