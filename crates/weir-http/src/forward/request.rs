//! The head of a request for a backend, made from that of a client. It does not know which backend,
//! nor how the body gets there.

use std::fmt;
use std::net::SocketAddr;

use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header, request::Parts};

use super::edits::FieldEdits;
use super::forwarded::ForwardedStyle;
use super::forwarded::{Asked, tells_who_asked};
use super::hop_by_hop;
use super::upgrade::upgrade;
use crate::h1::request::for_each_field;
use crate::message::fields::members;
use crate::message::{Request, RequestBody, Status, Version};

/// How a request is passed on.
#[derive(Debug, Clone, Copy)]
pub struct Onward<'a> {
    /// Who asked: the peer of the connection, or whom the PROXY protocol named.
    pub client: SocketAddr,
    /// The scheme of the request: `http` or `https`.
    pub scheme: &'static str,
    /// The host to name if neither `host` nor the client names one (HTTP/1.0).
    pub local_host: &'a str,
    /// How the backend is told who asked.
    pub style: ForwardedStyle,
    /// Whether the client is a proxy to be believed who asked: what it says is kept and added to.
    /// Otherwise its `Forwarded`, `X-Forwarded-*` and `X-Real-IP` are dropped, whatever the style.
    pub trust: bool,
    /// The path to ask for, encoded; `None`: as the client sent it.
    pub path: Option<&'a str>,
    /// The host to name; `None`: the one that the client named.
    pub host: Option<&'a HeaderValue>,
    /// Fields to set and remove, last of all.
    pub edits: &'a FieldEdits,
    /// Whether to add to `Via` (RFC 9110, section 7.6.3).
    pub via: bool,
    /// Whether to pass `Expect: 100-continue` on. A server that answers with 100 itself does not.
    pub expect: bool,
    /// Whether to pass `Upgrade` on, if [`upgrade()`] finds something to pass on.
    pub upgrade: bool,
}

/// Why a valid request cannot be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadForward {
    /// The status to answer with: 400 or 501.
    pub status: Status,
    /// What is wrong, for the log.
    pub reason: &'static str,
}

impl BadForward {
    const fn new(status: Status, reason: &'static str) -> BadForward {
        BadForward { status, reason }
    }
}

impl fmt::Display for BadForward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status.code(), self.status.reason(), self.reason)
    }
}

impl std::error::Error for BadForward {}

/// The head to send to a backend: HTTP/1.1, the target in origin-form, `Host`, and the fields of
/// `head`, from which `request` was parsed, that concern more than the client's connection.
///
/// The framing is written afresh from `request.body`, so that it can say nothing else than what the
/// server reads: `Content-Length` (also 0, for a method that usually has a body) or
/// `Transfer-Encoding: chunked`. Names in which `_` stands for the `-` of a field that this function
/// decides about are dropped, as servers that hand fields to programs as variables take them for
/// the same; so is `Proxy`, which such programs take for the setting of their own proxy.
///
/// `fields`: an empty map, for its memory.
///
/// # Errors
///
/// 400 for a target that no URI has; 501 for CONNECT, and for OPTIONS and TRACE that may go no further
/// (RFC 9110, section 7.6.2).
pub fn request(
    head: &[u8],
    request: &Request<'_>,
    to: &Onward<'_>,
    mut fields: HeaderMap,
) -> Result<Parts, BadForward> {
    let method = match Method::from_bytes(request.method_text.as_bytes()) {
        Ok(Method::CONNECT) => {
            return Err(BadForward::new(Status::NotImplemented, "CONNECT to a reverse proxy"));
        }
        Ok(method) => method,
        Err(_) => return Err(BadForward::new(Status::BadRequest, "malformed method")),
    };
    let mut parts = http::Request::new(()).into_parts().0;
    parts.uri = target(request, to.path)?;
    fields.insert(header::HOST, host(request, to)?);
    let trailers = copy_fields(head, to, &mut fields)?;
    count_forwards(&method, &mut fields)?;
    write_connection(request, to, trailers, &mut fields);
    write_framing(&method, request.body, &mut fields);
    let asked =
        Asked { client: to.client.ip().to_canonical(), scheme: to.scheme, host: request.host };
    asked.tell(&mut fields, to.style);
    if to.via {
        let received = match request.version {
            Version::Http10 => "1.0 weir",
            Version::Http11 => "1.1 weir",
        };
        fields.append(header::VIA, HeaderValue::from_static(received));
    }
    to.edits.apply(&mut fields);
    parts.method = method;
    parts.headers = fields;
    Ok(parts)
}

fn target(request: &Request<'_>, path: Option<&str>) -> Result<Uri, BadForward> {
    if request.path == "*" {
        return Ok(Uri::from(PathAndQuery::from_static("*")));
    }
    let path = path.unwrap_or(request.path);
    let text = match request.query {
        Some(query) => [path, "?", query].concat(),
        None => path.to_owned(),
    };
    match PathAndQuery::try_from(text) {
        Ok(target) => Ok(Uri::from(target)),
        Err(_) => Err(BadForward::new(Status::BadRequest, "a target that no URI has")),
    }
}

fn host(request: &Request<'_>, to: &Onward<'_>) -> Result<HeaderValue, BadForward> {
    match to.host {
        Some(name) => Ok(name.clone()),
        None => HeaderValue::from_str(request.host.unwrap_or(to.local_host))
            .map_err(|_| BadForward::new(Status::BadRequest, "malformed host")),
    }
}

/// Copies what is passed on as it is. Returns whether the client accepts trailers.
fn copy_fields(head: &[u8], to: &Onward<'_>, fields: &mut HeaderMap) -> Result<bool, BadForward> {
    let mut trailers = false;
    let mut options: Vec<&[u8]> = Vec::new();
    let mut fits = true;
    let complete = for_each_field(head, |name, value| {
        let Ok(key) = HeaderName::from_bytes(name.as_bytes()) else {
            fits = false;
            return;
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
    });
    if !complete || !fits {
        return Err(BadForward::new(Status::BadRequest, "malformed head"));
    }
    for name in options.into_iter().flat_map(members).filter_map(hop_by_hop::named) {
        if name != header::HOST {
            fields.remove(name);
        }
    }
    Ok(trailers)
}

/// Whether a field is not passed on as it is; `name` is in lower case.
fn is_dropped(name: &str, to: &Onward<'_>) -> bool {
    let decided = |name: &str| {
        hop_by_hop::is_hop_by_hop(name)
            || matches!(name, "host" | "expect")
            || (!to.trust && tells_who_asked(name))
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
        decided(&meant) || tells_who_asked(&meant) || edited(&meant)
    }
}

/// Whether `TE` has the member `trailers` (RFC 9110, section 10.1.4).
fn accepts_trailers(value: &[u8]) -> bool {
    members(value).any(|member| member.eq_ignore_ascii_case(b"trailers"))
}

/// Takes one off `Max-Forwards` where it counts (RFC 9110, section 7.6.2).
fn count_forwards(method: &Method, fields: &mut HeaderMap) -> Result<(), BadForward> {
    if !matches!(*method, Method::OPTIONS | Method::TRACE) {
        return Ok(());
    }
    let Some(value) = fields.get(header::MAX_FORWARDS).and_then(|value| value.to_str().ok()) else {
        return Ok(());
    };
    match value.parse::<u64>() {
        Ok(0) => Err(BadForward::new(Status::NotImplemented, "Max-Forwards is 0")),
        Ok(forwards) => {
            fields.insert(header::MAX_FORWARDS, HeaderValue::from(forwards - 1));
            Ok(())
        }
        Err(_) => Ok(()),
    }
}

/// The fields of the backend's connection.
fn write_connection(
    request: &Request<'_>,
    to: &Onward<'_>,
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
