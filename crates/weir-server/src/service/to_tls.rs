//! Requests in clear text that are to come with TLS: where they are sent instead, and which are answered
//! all the same. Used by [`super::Service`] for ports that redirect.

use http::{Method, StatusCode};
use percent_encoding::{CONTROLS, utf8_percent_encode};
use weir_acme::token_of;
use weir_http::message::{Request, is_get_or_head};

use super::destination::Destination;

/// The port that `https` means.
const USUAL: u16 = 443;

/// Whether the request is answered without TLS, too: a certificate authority asks in clear text for the
/// answer to its challenge (RFC 8555, section 8.3). A path that only begins like one may lead anywhere.
/// And what CONNECT asks for, there is nowhere.
pub(super) fn needs_none(request: &Request<'_>) -> bool {
    let is_challenge = is_get_or_head(&request.method) && token_of(request.path).is_some();
    is_challenge || request.method == Method::CONNECT
}

/// The same request at `port` with TLS; `None`: the usual one.
pub(super) fn destination(request: &Request<'_>, port: Option<u16>) -> Destination {
    match location(request, port) {
        Some(location) => {
            Destination::Redirect { location, status: StatusCode::PERMANENT_REDIRECT }
        }
        None => Destination::Nowhere(StatusCode::BAD_REQUEST),
    }
}

/// `None`: the request names no host, or nothing that is at a host.
fn location(request: &Request<'_>, port: Option<u16>) -> Option<String> {
    let host = host(request.host?).filter(|_| request.path.starts_with('/'))?;
    let port = port.filter(|port| *port != USUAL).map(|port| format!(":{port}"));
    let query = request.query.map(|query| format!("?{query}"));
    let (port, query) = (port.unwrap_or_default(), query.unwrap_or_default());
    let rest = format!("{}{query}", request.path);
    Some(format!("https://{host}{port}{}", utf8_percent_encode(&rest, CONTROLS)))
}

/// The host without its port.
fn host(authority: &str) -> Option<&str> {
    let host = match authority.split_once(']') {
        Some((literal, _)) => authority.get(..=literal.len())?,
        None => authority.split(':').next()?,
    };
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte);
    (!host.is_empty() && host.bytes().all(is_part)).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_http::h1::request::{Limits, parse_request};

    fn to(line: &str, host: &str, port: Option<u16>) -> Option<String> {
        let head = format!("{line}\r\n{host}\r\n");
        let (request, _) = parse_request(head.as_bytes(), &Limits::default()).unwrap().unwrap();
        location(&request, port)
    }

    #[test]
    fn the_same_host_and_target_with_tls() {
        for (line, host, port, location) in [
            ("GET / HTTP/1.1", "Host: a.test\r\n", None, "https://a.test/"),
            ("GET / HTTP/1.1", "Host: a.test:80\r\n", Some(443), "https://a.test/"),
            ("GET /b?c=d HTTP/1.1", "Host: a.test\r\n", Some(8443), "https://a.test:8443/b?c=d"),
            ("POST /b HTTP/1.1", "Host: [::1]:8080\r\n", Some(8443), "https://[::1]:8443/b"),
            ("GET http://b.test/c HTTP/1.1", "Host: b.test\r\n", None, "https://b.test/c"),
            ("GET /\u{e4} HTTP/1.1", "Host: a.test\r\n", None, "https://a.test/%C3%A4"),
        ] {
            assert_eq!(to(line, host, port).as_deref(), Some(location), "{line}");
        }
        assert_eq!(to("GET / HTTP/1.0", "", None), None);
        assert_eq!(to("OPTIONS * HTTP/1.1", "Host: a.test\r\n", None), None);
    }
}
