//! Switching to another protocol, such as WebSocket, through a proxy (RFC 9110, section 7.8). Used by
//! [`super::request`] and by the proxy of `weir-server` when a backend answers 101.

use http::{HeaderMap, header};

use crate::message::fields::members;
use crate::message::{Request, RequestBody};

/// The protocols to pass on with a request, if its connection may become a tunnel.
///
/// `None` for a request with a body, which a backend might take for the new protocol, and for other
/// versions of HTTP and TLS: a tunnel would carry requests past weir that it never checks.
pub fn upgrade<'b>(request: &Request<'b>) -> Option<&'b str> {
    let tunnels = |protocols: &&str| members(protocols.as_bytes()).all(is_tunnelled);
    request.upgrade.filter(tunnels).filter(|_| request.body == RequestBody::None)
}

fn is_tunnelled(protocol: &[u8]) -> bool {
    let name = protocol.split(|&byte| byte == b'/').next().unwrap_or_default().trim_ascii();
    let refused = [&b""[..], b"h2", b"h2c", b"h3", b"http", b"tls"];
    !refused.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Whether a backend that answers 101 with these fields switches to what was `offered` to it
/// ([`upgrade()`] of the request that was sent), and to nothing else. If not, its response is bad.
pub fn is_switch_allowed(offered: Option<&str>, fields: &HeaderMap) -> bool {
    let chosen = fields.get_all(header::UPGRADE);
    let mut chosen = chosen.iter().flat_map(|value| members(value.as_bytes())).peekable();
    let is_offered = |protocol: &[u8]| {
        members(offered.unwrap_or_default().as_bytes())
            .any(|other| !other.is_empty() && other.eq_ignore_ascii_case(protocol))
    };
    chosen.peek().is_some() && chosen.all(is_offered)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::h1::request::{Limits, parse_request};

    fn asked(fields: &str) -> Option<String> {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        let Ok(Some((request, _))) = parse_request(text.as_bytes(), &Limits::default()) else {
            panic!("{text}")
        };
        upgrade(&request).map(String::from)
    }

    #[test]
    fn protocols_that_are_tunnelled() {
        let with = |protocols| asked(&format!("Connection: Upgrade\r\nUpgrade: {protocols}\r\n"));
        assert_eq!(with("websocket").as_deref(), Some("websocket"));
        assert_eq!(with("tcp, a/1").as_deref(), Some("tcp, a/1"));
        for refused in ["h2c", "H2C", "websocket, h2c", "TLS/1.0", "HTTP/2.0", "", "a,", "h2c "] {
            assert_eq!(with(refused), None, "{refused}");
        }
        assert_eq!(asked("Upgrade: websocket\r\n"), None);
        let body = "Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n";
        assert_eq!(asked(body), None);
    }

    #[test]
    fn a_backend_chooses_among_what_was_offered() {
        let allowed = |offered, chosen: &'static str| {
            let mut fields = HeaderMap::new();
            fields.insert(header::UPGRADE, HeaderValue::from_static(chosen));
            is_switch_allowed(offered, &fields)
        };
        assert!(allowed(Some("websocket"), "WebSocket"));
        assert!(allowed(Some("a, b"), "b"));
        assert!(!allowed(Some("a"), "b") && !allowed(Some("a"), "a, b"));
        assert!(!allowed(None, "a") && !allowed(None, "") && !allowed(Some(""), ""));
        assert!(!is_switch_allowed(Some("a"), &HeaderMap::new()));
    }
}
