//! The head of a request as its backend gets it: path rewritten, host and fields as the route says.
//! Used by [`mod@super::respond`] for each attempt.

use http::request::Parts;
use http::{HeaderName, StatusCode};
use weir_http::forward::{self, ForwardError, RequestOptions};

use super::backend::Backend;
use super::proxy_request::ProxyRequest;
use super::rewrite;
use crate::client::Requester;

/// Tells a backend the subject of the client's certificate. Nobody but a trusted proxy can send it.
const SUBJECT: HeaderName = HeaderName::from_static("x-client-certificate-subject");

/// The head for `backend`; an error is a path that must not be passed on.
pub(super) fn request(
    proxied: &ProxyRequest<'_, impl Requester>,
    backend: &Backend,
) -> Result<Parts, ForwardError> {
    let ProxyRequest { request, route, .. } = proxied;
    let config = &route.shared.config;
    let prefix = &route.shared.prefix;
    let path = match config.prefix_becomes() {
        // The route was found by the path without dot segments: the backend must see the same.
        None if !rewrite::has_dot_segments(request.path) => Ok(None),
        None => rewrite::replace_prefix(request.path, "/", "/").map(Some),
        Some(new) => rewrite::replace_prefix(request.path, prefix, new).map(Some),
    };
    let path = path.map_err(|_| invalid_path("the path cannot be rewritten"))?;
    if let (Some(path), Some(new)) = (&path, config.prefix_becomes())
        && !forward::is_below(path, new)
    {
        return Err(invalid_path("the rewritten path leads out of the prefix of the route"));
    }
    // To what everybody who connects may say, the end of the connection is added; otherwise the client is
    // named alone, as trusted proxies tell of it.
    let (named, client_host) = match config.trust_forwarded {
        true => (proxied.client.peer(), None),
        false => (proxied.client.address(), proxied.client.host()),
    };
    let options = RequestOptions {
        client: named.known_ip(),
        client_host,
        scheme: if proxied.client.is_secure() { "https" } else { "http" },
        local_host: "localhost",
        style: route.forwarded_style(),
        trust: config.trust_forwarded,
        path: path.as_deref(),
        host: route.host(backend),
        edits: route.request_edits(),
        via: true,
        expect: false,
        upgrade: true,
    };
    let mut head =
        forward::request_head(request, proxied.fields, &options, route.header_maps.take())?;
    proxied.tell_prefix(&mut head.headers);
    if let Some(subject) = proxied.client.subject() {
        head.headers.insert(SUBJECT, subject.clone());
    }
    Ok(head)
}

fn invalid_path(reason: &'static str) -> ForwardError {
    ForwardError { status: StatusCode::BAD_REQUEST, reason }
}
