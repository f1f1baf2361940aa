//! Writes the head of an answer as HTTP/1 does and frames its body: the response that goes over the
//! connection. Used by the driver.

use std::rc::Rc;

use http::{Method, StatusCode, Version};
use weir_http::h1::body_framing::BodyFraming;
use weir_http::h1::relayed::{ResponseOptions, response_head, switching_protocols_head};
use weir_http::h1::response::{Connection, write_fields, write_head, write_status_and_date};
use weir_http::message::range::ContentRange;
use weir_http::message::{Request, ResponseFields};

use super::chunked_body::Chunked;
use crate::answer::{Answer, AnswerFields, Relayed};
use crate::content::{Body, Facts};
use crate::response::Response;

/// What a response depends on beside its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framing<'a> {
    date: [u8; 29],
    version: Version,
    connection: Connection,
    head_only: bool,
    /// A line that every final response has on this connection, with its end: that of HSTS.
    line: Option<&'a str>,
}

impl<'a> Framing<'a> {
    /// For a response to `request`; `keep_alive`: the connection can carry another one afterwards.
    pub(super) fn answering(
        request: &Request<'_>,
        keep_alive: bool,
        date: [u8; 29],
        line: Option<&'a str>,
    ) -> Framing<'a> {
        let connection = match (keep_alive, request.version) {
            (false, _) => Connection::Close,
            (true, Version::HTTP_10) => Connection::KeepAlive,
            (true, _) => Connection::Default,
        };
        let head_only = request.method == Method::HEAD;
        Framing { date, version: request.version, connection, head_only, line }
    }

    /// For a response to something that is not a valid request; the connection ends.
    pub(super) fn closing(date: [u8; 29], line: Option<&'a str>) -> Framing<'a> {
        let connection = Connection::Close;
        Framing { date, version: Version::HTTP_11, connection, head_only: false, line }
    }
}

/// The response with `answer`, whose body is framed for it.
pub(super) fn encode<'r>(answer: &'r mut Answer, mut framing: Framing<'_>) -> Response<'r> {
    let (status, length) = (answer.status, answer.body_length);
    let body_framing = frame_body(answer, &mut framing);
    let mut head = match &mut answer.fields {
        AnswerFields::Object(facts) if status == StatusCode::OK => whole_head(facts, &framing),
        AnswerFields::Object(facts) => own_head(status, &facts.fields(), &framing),
        AnswerFields::Part(facts) => {
            let (first, total) = (answer.body_at, facts.length);
            let last = first + length.unwrap_or_default().saturating_sub(1);
            let content_range = Some(ContentRange::Part { first, last, total });
            let accept_ranges = false;
            let fields = ResponseFields { length, content_range, accept_ranges, ..facts.fields() };
            own_head(status, &fields, &framing)
        }
        AnswerFields::Parts(facts) => {
            let content_type = answer.pieces.as_ref().map(|pieces| &*pieces.media);
            let accept_ranges = false;
            let fields = ResponseFields { length, content_type, accept_ranges, ..facts.fields() };
            own_head(status, &fields, &framing)
        }
        AnswerFields::Page(page) => own_head(status, &page.fields(length), &framing),
        AnswerFields::Relayed(relayed) => {
            let head = relayed_head(status, relayed, body_framing, &framing);
            relayed.are_written();
            head
        }
    };
    if let Some(line) = framing.line {
        add_line(&mut head, line, status);
    }
    Response { head, answer, close: framing.connection == Connection::Close }
}

/// Decides how the body is framed (RFC 9112, section 6.3), and makes it what goes over the connection.
fn frame_body(answer: &mut Answer, framing: &mut Framing<'_>) -> BodyFraming {
    let status = answer.status;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        framing.connection = Connection::Close;
        return BodyFraming::UntilClose;
    }
    let is_bodiless = status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if is_bodiless || framing.head_only {
        answer.body_length = Some(0);
        return BodyFraming::None;
    }
    let body_framing = BodyFraming::of(answer.body_length, framing.version);
    match (body_framing, &mut answer.body) {
        (BodyFraming::UntilClose, _) => framing.connection = Connection::Close,
        (BodyFraming::Chunked, Body::Relayed(body)) => {
            *body = Rc::new(Chunked::new(body.clone()));
        }
        _ => {}
    }
    body_framing
}

/// Adds a line at the end of a head. After a switch of protocols the head is no longer HTTP's alone. A
/// backend's field of the same name stands before it, and clients go by the first (RFC 6797, section 8.1).
fn add_line(head: &mut Vec<u8>, line: &str, status: StatusCode) {
    const END: &[u8] = b"\r\n";
    if status != StatusCode::SWITCHING_PROTOCOLS && head.ends_with(END) {
        head.truncate(head.len() - END.len());
        head.extend_from_slice(line.as_bytes());
        head.extend_from_slice(END);
    }
}

/// The head of an ordinary 200, of which all but the date is kept with the object.
fn whole_head(facts: &Facts, framing: &Framing<'_>) -> Vec<u8> {
    let lines = facts.h1_lines.get_or_init(|| {
        let mut lines = Vec::with_capacity(256);
        write_fields(&mut lines, StatusCode::OK, &facts.fields());
        lines.into()
    });
    let mut head = Vec::with_capacity(88 + lines.len());
    write_status_and_date(&mut head, StatusCode::OK, &framing.date);
    head.extend_from_slice(framing.connection.line().as_bytes());
    head.extend_from_slice(lines);
    head
}

fn own_head(status: StatusCode, fields: &ResponseFields<'_>, framing: &Framing<'_>) -> Vec<u8> {
    let mut head = Vec::with_capacity(384);
    write_head(&mut head, status, &framing.date, fields, framing.connection);
    head
}

fn relayed_head(
    status: StatusCode,
    relayed: &Relayed,
    body_framing: BodyFraming,
    framing: &Framing<'_>,
) -> Vec<u8> {
    let Framing { date, connection, .. } = *framing;
    let mut head = Vec::with_capacity(512);
    if status == StatusCode::SWITCHING_PROTOCOLS {
        switching_protocols_head(&mut head, &relayed.fields());
        return head;
    }
    let options = ResponseOptions { framing: body_framing, connection, date };
    response_head(&mut head, status, &relayed.fields(), &options);
    head
}
