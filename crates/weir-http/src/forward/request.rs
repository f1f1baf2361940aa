//! The head of a request for a backend, made from that of a client. Used by the proxy of
//! `weir-server` for each attempt.

use std::fmt;
use std::net::IpAddr;

use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header, request::Parts};
use http::{StatusCode, Version};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::edits::FieldEdits;
use super::forwarded::ForwardedStyle;
use super::forwarded::{ClientInfo, is_forwarding_field};
use super::hop_by_hop;
use super::upgrade::upgrade;
use crate::message::fields::members;
use crate::message::status::reason;
use crate::message::{Fields, Request, RequestBody};

/// Characters that clients send as they are, though no URI contains them (RFC 3986, appendix A), and that
/// [`PathAndQuery`] does not take; some it takes in a path, or in a query.
const NOT_TAKEN: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`');

/// How to pass a request on.
#[derive(Debug, Clone, Copy)]
pub struct RequestOptions<'a> {
    /// The client: the peer of the connection, or whom the PROXY protocol named. `None`: it has no
    /// address, since it came over a Unix socket.
    pub client: Option<IpAddr>,
    /// The host that the client named, if a trusted proxy says that; `None`: that of the request.
    pub client_host: Option<&'a str>,
    /// The scheme of the request: `http` or `https`.
    pub scheme: &'static str,
    /// The `Host` if neither `host` nor the client names one (HTTP/1.0).
    pub local_host: &'a str,
    /// With which fields the backend is told about the client.
    pub style: ForwardedStyle,
    /// Whether the client is a trusted proxy: what it says about its own client is kept and added to.
    /// Otherwise its `Forwarded`, `X-Forwarded-*` and `X-Real-IP` are dropped, whatever the style.
    pub trust: bool,
    /// The path to request, encoded; `None`: the path that the client sent.
    pub path: Option<&'a str>,
    /// The `Host`; `None`: the one that the client named.
    pub host: Option<&'a HeaderValue>,
    /// Fields to set and remove, after everything else.
    pub edits: &'a FieldEdits,
    /// Whether to add to `Via` (RFC 9110, section 7.6.3).
    pub via: bool,
    /// Whether to pass `Expect: 100-continue` on. A server that answers with 100 itself does not.
    pub expect: bool,
    /// Whether to pass `Upgrade` on, if [`upgrade()`] finds something to pass on.
    pub upgrade: bool,
}

/// Why a request, though valid, cannot be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForwardError {
    /// The status to answer with: 400 or 501.
    pub status: StatusCode,
    /// What is wrong, for the log.
    pub reason: &'static str,
}

impl ForwardError {
    const fn new(status: StatusCode, reason: &'static str) -> ForwardError {
        ForwardError { status, reason }
    }
}

impl fmt::Display for ForwardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status.as_str(), reason(self.status), self.reason)
    }
}

impl std::error::Error for ForwardError {}

/// The head to send to a backend: HTTP/1.1, the target in origin-form, `Host`, and the fields of
/// `request`, `received`, that concern more than the client's connection.
///
/// The framing is written anew from `request.body`, so that it can say nothing else than what the
/// server reads: `Content-Length` (also 0, for a method that usually has a body) or
/// `Transfer-Encoding: chunked`. Names in which `_` stands for the `-` of a field that this function
/// decides about are dropped, as servers that hand fields to programs as variables take them for
/// the same; so is `Proxy`, which such programs take for the setting of their own proxy.
///
/// A target with characters that no URI contains is passed on encoded, such as one with quotes in its
/// query.
///
/// `fields` is an empty map, whose memory is used for the result.
///
/// # Errors
///
/// 400 for a target of more than 64 KB, or whose path does not begin with a slash; 501 for CONNECT, and
/// for OPTIONS and TRACE that may go no further (RFC 9110, section 7.6.2).
pub fn request_head(
    request: &Request<'_>,
    received: &Fields<'_>,
    to: &RequestOptions<'_>,
    mut fields: HeaderMap,
) -> Result<Parts, ForwardError> {
    let method = request.method.clone();
    if method == Method::CONNECT {
        return Err(ForwardError::new(StatusCode::NOT_IMPLEMENTED, "CONNECT to a reverse proxy"));
    }
    let mut parts = http::Request::new(()).into_parts().0;
    parts.uri = target(request, to.path)?;
    fields.insert(header::HOST, host(request, to)?);
    let trailers = copy_fields(received, to, &mut fields)?;
    count_forwards(&method, &mut fields)?;
    write_connection(request, to, trailers, &mut fields);
    write_framing(&method, request.body, &mut fields);
    let client = ClientInfo {
        client: to.client.map(|it| it.to_canonical()),
        scheme: to.scheme,
        host: to.client_host.or(request.host),
    };
    client.add_to(&mut fields, to.style);
    if to.via {
        let received = match request.version {
            Version::HTTP_10 => "1.0 weir",
            _ => "1.1 weir",
        };
        fields.append(header::VIA, HeaderValue::from_static(received));
    }
    to.edits.apply(&mut fields);
    parts.method = method;
    parts.headers = fields;
    Ok(parts)
}

fn target(request: &Request<'_>, path: Option<&str>) -> Result<Uri, ForwardError> {
    if request.path == "*" {
        return Ok(Uri::from(PathAndQuery::from_static("*")));
    }
    let path = path.unwrap_or(request.path);
    let text = match request.query {
        Some(query) => [path, "?", query].concat(),
        None => path.to_owned(),
    };
    // Most are taken as they are: only of others it is looked what to encode.
    let target = PathAndQuery::try_from(text)
        .or_else(|_| PathAndQuery::try_from(encoded(path, request.query)));
    target.map(Uri::from).map_err(|_| {
        ForwardError::new(StatusCode::BAD_REQUEST, "the request target is not a valid URI")
    })
}

/// The target with all characters encoded that are [`NOT_TAKEN`], and those beyond ASCII.
fn encoded(path: &str, query: Option<&str>) -> String {
    let mut text: String = utf8_percent_encode(path, NOT_TAKEN).collect();
    if let Some(query) = query {
        text.push('?');
        text.extend(utf8_percent_encode(query, NOT_TAKEN));
    }
    text
}

fn host(request: &Request<'_>, to: &RequestOptions<'_>) -> Result<HeaderValue, ForwardError> {
    match to.host {
        Some(name) => Ok(name.clone()),
        None => HeaderValue::from_str(request.host.unwrap_or(to.local_host))
            .map_err(|_| ForwardError::new(StatusCode::BAD_REQUEST, "malformed host")),
    }
}

/// Copies the fields that are passed on unchanged. Returns whether the client accepts trailers.
fn copy_fields(
    received: &Fields<'_>,
    to: &RequestOptions<'_>,
    fields: &mut HeaderMap,
) -> Result<bool, ForwardError> {
    let mut trailers = false;
    let mut options: Vec<&[u8]> = Vec::new();
    let mut fits = true;
    for (name, value) in received.iter() {
        let Ok(key) = HeaderName::from_bytes(name.as_bytes()) else {
            fits = false;
            continue;
        };
        match key.as_str() {
            "connection" => options.push(value),
            "te" => trailers |= accepts_trailers(value),
            lower if is_dropped(lower, to) => {}
            _ => match HeaderValue::from_bytes(value) {
                Ok(value) => fits &= fields.try_append(key, value).is_ok(),
                Err(_) => fits = false,
            },
        }
    }
    if !fits {
        return Err(ForwardError::new(StatusCode::BAD_REQUEST, "malformed head"));
    }
    for name in options.into_iter().flat_map(members).filter_map(hop_by_hop::field_to_drop) {
        if name != header::HOST {
            fields.remove(name);
        }
    }
    Ok(trailers)
}

/// Whether a field is not passed on unchanged; `name` is in lower case.
fn is_dropped(name: &str, to: &RequestOptions<'_>) -> bool {
    let decided = |name: &str| {
        hop_by_hop::is_hop_by_hop(name)
            || matches!(name, "host" | "expect")
            || (!to.trust && is_forwarding_field(name))
    };
    let edited = |name: &str| {
        let set = to.edits.set.iter().map(|(set, _)| set);
        set.chain(&to.edits.remove).any(|other| other.as_str() == name)
    };
    if name == "proxy" || decided(name) {
        return true;
    }
    name.contains('_') && {
        let meant = name.replace('_', "-");
        decided(&meant) || is_forwarding_field(&meant) || edited(&meant)
    }
}

/// Whether `TE` has the member `trailers` (RFC 9110, section 10.1.4).
fn accepts_trailers(value: &[u8]) -> bool {
    members(value).any(|member| member.eq_ignore_ascii_case(b"trailers"))
}

/// Decrements `Max-Forwards` for the methods that have it (RFC 9110, section 7.6.2).
fn count_forwards(method: &Method, fields: &mut HeaderMap) -> Result<(), ForwardError> {
    if !matches!(*method, Method::OPTIONS | Method::TRACE) {
        return Ok(());
    }
    let Some(value) = fields.get(header::MAX_FORWARDS).and_then(|value| value.to_str().ok()) else {
        return Ok(());
    };
    match value.parse::<u64>() {
        Ok(0) => Err(ForwardError::new(StatusCode::NOT_IMPLEMENTED, "Max-Forwards is 0")),
        Ok(forwards) => {
            fields.insert(header::MAX_FORWARDS, HeaderValue::from(forwards - 1));
            Ok(())
        }
        Err(_) => Ok(()),
    }
}

/// Writes the fields that concern the connection to the backend.
fn write_connection(
    request: &Request<'_>,
    to: &RequestOptions<'_>,
    trailers: bool,
    fields: &mut HeaderMap,
) {
    let protocols = upgrade(request).filter(|_| to.upgrade);
    if let Some(protocols) = protocols.and_then(|text| HeaderValue::from_str(text).ok()) {
        fields.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        fields.insert(header::UPGRADE, protocols);
    } else if trailers {
        fields.insert(header::CONNECTION, HeaderValue::from_static("te"));
        fields.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    if to.expect && request.expects_continue {
        fields.insert(header::EXPECT, HeaderValue::from_static("100-continue"));
    }
}

fn write_framing(method: &Method, body: RequestBody, fields: &mut HeaderMap) {
    match body {
        RequestBody::Length(length) => {
            fields.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        RequestBody::Chunked => {
            fields.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        RequestBody::None => {
            if matches!(*method, Method::POST | Method::PUT | Method::PATCH) {
                fields.insert(header::CONTENT_LENGTH, HeaderValue::from(0_u64));
            }
        }
    }
}
