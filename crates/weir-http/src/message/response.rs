//! The fields of a response that weir makes itself: of files, redirects and errors. Made by the services
//! of `weir-server`, written by the protocol of the connection through a [`FieldSink`].

use http::StatusCode;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::changes::{FieldChanges, Kept};
use super::coding::Coding;
use super::conditions::Validators;
use super::date;
use super::fields::FieldSink;
use super::range::ContentRange;

/// Characters that no URI contains (RFC 3986, appendix A); characters beyond ASCII are always encoded.
const NOT_IN_URI: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The fields. Those that are `None` or false are not sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResponseFields<'a> {
    /// `Content-Length` in bytes; for HEAD that of the GET. Not sent with 204 (RFC 9110, section 8.6) and
    /// 304.
    pub length: Option<u64>,
    /// `Content-Type`. Not sent with 204 and 304, nor if it contains a control character.
    pub content_type: Option<&'a str>,
    /// `Content-Encoding`. Not sent with 204 and 304.
    pub coding: Option<Coding>,
    /// `Vary: Accept-Encoding`: a client that accepts other codings may get something else.
    pub varies: bool,
    /// `ETag` and `Last-Modified`; with 204 and 304 the tag alone (RFC 9110, section 15.4.5).
    pub validators: Option<&'a Validators>,
    /// `Content-Range`, for 206 and 416.
    pub content_range: Option<ContentRange>,
    /// `Accept-Ranges: bytes`. Not sent with 204 and 304.
    pub accept_ranges: bool,
    /// `Location`, a URI reference; characters no URI has are percent-encoded.
    pub location: Option<&'a str>,
    /// `Allow: GET, HEAD, OPTIONS`, for 405 and for the answer to OPTIONS.
    pub allow: bool,
    /// `Retry-After` in seconds, for 429 and 503.
    pub retry_after: Option<u32>,
    /// `WWW-Authenticate`, for 401. Not sent if it contains a control character.
    pub authenticate: Option<&'a str>,
    /// What the configuration changes about all of these, and adds; with 304, too.
    pub changes: Option<&'a FieldChanges>,
}

impl ResponseFields<'_> {
    /// Gives `sink` the fields of a response with this status.
    pub fn write_to(&self, status: StatusCode, sink: &mut impl FieldSink) {
        match self.changes {
            None => self.write_own(status, sink),
            Some(changes) => {
                self.write_own(status, &mut Kept { changes, sink: &mut *sink });
                changes.write_to(sink);
            }
        }
    }

    fn write_own(&self, status: StatusCode, sink: &mut impl FieldSink) {
        if !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            self.write_content(sink);
        }
        if let Some(validators) = self.validators {
            sink.field("ETag", validators.etag.as_str().as_bytes());
        }
        if self.varies {
            sink.field("Vary", b"Accept-Encoding");
        }
        if let Some(location) = self.location {
            let location: String = utf8_percent_encode(location, NOT_IN_URI).collect();
            sink.field("Location", location.as_bytes());
        }
        if self.allow {
            sink.field("Allow", b"GET, HEAD, OPTIONS");
        }
        if let Some(seconds) = self.retry_after {
            sink.field("Retry-After", itoa::Buffer::new().format(seconds).as_bytes());
        }
        if let Some(challenge) = self.authenticate.filter(|text| !text.contains(char::is_control)) {
            sink.field("WWW-Authenticate", challenge.as_bytes());
        }
    }

    /// The fields that a 204 and a 304 leave out: there is no content, or the client has it.
    fn write_content(&self, sink: &mut impl FieldSink) {
        if let Some(length) = self.length {
            sink.field("Content-Length", itoa::Buffer::new().format(length).as_bytes());
        }
        if let Some(media_type) = self.content_type.filter(|text| !text.contains(char::is_control))
        {
            sink.field("Content-Type", media_type.as_bytes());
        }
        if let Some(coding) = self.coding {
            sink.field("Content-Encoding", coding.name().as_bytes());
        }
        if let Some(range) = self.content_range {
            sink.field("Content-Range", range.to_string().as_bytes());
        }
        if self.accept_ranges {
            sink.field("Accept-Ranges", b"bytes");
        }
        if let Some(seconds) = self.validators.and_then(|validators| validators.modified) {
            sink.field("Last-Modified", &date::format(seconds));
        }
    }
}
