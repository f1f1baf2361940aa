//! A request as one checked value: the target, the framing of its body and the fields that decide
//! how it is answered. [`crate::h1::request`] makes it; all of `weir-server` reads it.

use std::borrow::Cow;

use http::{Method, Version};

/// A valid request. Texts are as the client sent them, so they can hold any character but ASCII
/// controls: escape them for a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'b> {
    /// The method. Methods are case-sensitive (RFC 9110, section 9.1).
    pub method: Method,
    /// The request target as sent.
    pub target: &'b str,
    /// The path of the target, still encoded, without the query. `*` for the asterisk-form and the
    /// target as sent for CONNECT; in both cases the method is neither GET nor HEAD.
    pub path: &'b str,
    /// What follows the first `?` of the target.
    pub query: Option<&'b str>,
    /// The version of the message.
    pub version: Version,
    /// Whether the connection may carry another request if the server does not read the body
    /// (RFC 9112, section 9.3): false for every request with a body.
    pub keep_alive: bool,
    /// Whether the connection may carry another request once the body has been read to its end.
    pub persistent: bool,
    /// The framing of the body.
    pub body: RequestBody,
    /// The protocols to which the client offers to switch: `Upgrade` if there is exactly one and
    /// `Connection` names it (RFC 9110, section 7.8). `None` in HTTP/1.0.
    pub upgrade: Option<&'b str>,
    /// Whether the client waits for an interim 100 before it sends the body (RFC 9110, section
    /// 10.1.1). False without a body and in HTTP/1.0.
    pub expects_continue: bool,
    /// Whether `Expect` names anything but `100-continue`, to be answered with 417. False in HTTP/1.0.
    pub unknown_expectation: bool,
    /// The authority of the target if it has one, else the `Host` field (RFC 9112, section 3.2.2).
    /// `None` only in HTTP/1.0.
    pub host: Option<&'b str>,
    /// `If-Match`, all its lines as one list (RFC 9110, section 5.3). Empty, so that no tag is in it, if it
    /// is not UTF-8: what a client made conditional is not done without looking at the condition.
    pub if_match: Option<Cow<'b, str>>,
    /// `If-Unmodified-Since`, if there is exactly one and no `If-Match` at all (RFC 9110, section 13.1.4).
    pub if_unmodified_since: Option<&'b str>,
    /// `If-None-Match`, all its lines as one list, if it is UTF-8.
    pub if_none_match: Option<Cow<'b, str>>,
    /// `If-Modified-Since`, if there is exactly one and no `If-None-Match` at all.
    pub if_modified_since: Option<&'b str>,
    /// `Range`, if there is exactly one. It means something for GET only (RFC 9110, section 14.2).
    pub range: Option<&'b str>,
    /// `If-Range`, if there is exactly one. With several, `range` is `None`.
    pub if_range: Option<&'b str>,
    /// `Accept-Encoding`, if there is exactly one. Whoever sends several gets content without a coding,
    /// which is always acceptable (RFC 9110, section 12.5.3).
    pub accept_encoding: Option<&'b str>,
    /// `User-Agent`, if there is exactly one.
    pub user_agent: Option<&'b str>,
    /// `Referer`, if there is exactly one.
    pub referer: Option<&'b str>,
}

/// Whether `method` asks for a representation, as files have them.
pub fn is_get_or_head(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// The version as HTTP/1 messages and access logs write it.
pub fn version_text(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "HTTP/0.9",
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        Version::HTTP_3 => "HTTP/3.0",
        _ => "HTTP/1.1",
    }
}

/// The framing of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestBody {
    /// No body, or one of length zero.
    None,
    /// This many bytes, at least one.
    Length(u64),
    /// The chunked transfer coding.
    Chunked,
}
