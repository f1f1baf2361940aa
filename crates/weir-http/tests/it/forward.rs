//! Properties of messages passed on: the next reader understands what this one did, and nothing of
//! one connection gets into another.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};
use proptest::prelude::*;
use weir_http::forward::{
    FieldEdits, ForwardedStyle, RelayedFields, RequestOptions, ResponseLength, is_below,
    request_head, response_length,
};
use weir_http::h1::body_framing::BodyFraming;
use weir_http::h1::relayed::{ResponseOptions, response_head};
use weir_http::h1::request::{FieldSpace, Limits, Parsed, parse, parse_request};
use weir_http::h1::response::Connection;
use weir_http::message::date;

/// Fields that concern one connection only, apart from those a proxy writes itself.
const HOP: [&str; 5] = [
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "http2-settings",
];

fn lines() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "Content-Length: 5",
        "Content-Length: 0",
        "Transfer-Encoding: chunked",
        "Connection: close",
        "Connection: keep-alive, Upgrade",
        "Connection: Host, Content-Length, x-a, Transfer-Encoding",
        "Upgrade: websocket",
        "Upgrade: h2c",
        "TE: trailers",
        "TE: gzip",
        "X-A: b",
        "x_a: b",
        "Keep-Alive: 5",
        "Proxy-Authorization: x",
        "Proxy-Connection: x",
        "Expect: 100-continue",
        "X-Forwarded-For: 1.1.1.1",
        "Forwarded: for=a",
        "Content_Length: 7",
        "Transfer_Encoding: chunked",
        "HTTP2-Settings: a",
        "Max-Forwards: 3",
        "Trailer: a",
        "Cookie: \u{fc}",
        "Via: 1.1 a",
        "Proxy: http://a/",
    ]);
    prop::collection::vec(line, 0..8)
        .prop_map(|lines| lines.iter().map(|line| format!("{line}\r\n")).collect())
}

/// The path to ask for instead.
fn change() -> impl Strategy<Value = Option<String>> {
    prop::option::of("/[a-z/]{0,4}")
}

fn style() -> impl Strategy<Value = ForwardedStyle> {
    prop::sample::select(ForwardedStyle::ALL.to_vec())
}

fn map(fields: &[(String, String)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        map.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    map
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_request_passed_on_means_what_it_meant(
        (method, target) in ("GET|HEAD|POST|OPTIONS|TRACE|x", "/a?(/|%2e|\\.|b|;|\\?){0,6}|http://h/a/b|\\*"),
        (minor, fields, client) in (0..2_u8, lines(), any::<Option<IpAddr>>()),
        (change, style, flags) in (change(), style(), any::<[bool; 4]>()),
    ) {
        let head = format!("{method} {target} HTTP/1.{minor}\r\nHost: a:8\r\n{fields}\r\n");
        let mut space = FieldSpace::new();
        let parsed = parse(head.as_bytes(), &Limits::default(), &mut space);
        let Ok(Parsed::Complete { request: read, fields, .. }) = parsed else {
            return Ok(());
        };
        let [trust, via, expect, upgrade] = flags;
        let to = RequestOptions {
            client, client_host: None, scheme: "http", local_host: "local", style, trust,
            path: change.as_deref(), host: None, edits: &FieldEdits::default(), via, expect, upgrade,
        };
        let parts = request_head(&read, &fields.to_fields(), &to, HeaderMap::new()).map_err(|bad| TestCaseError::fail(bad.to_string()))?;
        let mut sent = format!("{} {} HTTP/1.1\r\n", parts.method, parts.uri).into_bytes();
        for (name, value) in &parts.headers {
            prop_assert!(!HOP.contains(&name.as_str()));
            sent.extend_from_slice(name.as_str().as_bytes());
            sent.extend_from_slice(b": ");
            sent.extend_from_slice(value.as_bytes());
            sent.extend_from_slice(b"\r\n");
        }
        sent.extend_from_slice(b"\r\n");
        let Ok(Some((again, head_len))) = parse_request(&sent, &Limits::default()) else {
            return Err(TestCaseError::fail(format!("{:?}", String::from_utf8_lossy(&sent))));
        };
        prop_assert_eq!(head_len, sent.len());
        prop_assert_eq!((again.body, &again.method), (read.body, &read.method));
        prop_assert_eq!((again.version, again.host), (Version::HTTP_11, read.host));
        prop_assert!(again.persistent, "the client does not close the backend's connection");
        prop_assert_eq!(again.query, read.query);
        prop_assert!(upgrade || again.upgrade.is_none());
        prop_assert!(again.upgrade.is_none() || read.upgrade.is_some());
        let path = change.as_deref().filter(|_| read.path != "*");
        prop_assert_eq!(again.path, path.unwrap_or(read.path));
        let for_client = parts.headers.get_all("x-forwarded-for").iter().count();
        prop_assert!(for_client <= 1 || trust);
    }

    #[test]
    fn what_is_below_a_prefix_stays_below(path in "(/|a|b|\\.|%2e|%2F|%61|;){0,10}") {
        let path = format!("/a{path}");
        if is_below(&path, "/a") {
            for slash in ["/", "%2F"] {
                let decoded = path.replace("%2e", ".").replace("%2F", slash).replace("%61", "a");
                let mut depth = 0_i32;
                for segment in decoded.split('/').skip(2).filter(|segment| !segment.is_empty()) {
                    depth += match segment { "." => 0, ".." => -1, _ => 1 };
                    prop_assert!(depth >= 0, "{}", path);
                }
            }
        }
    }

    #[test]
    fn a_response_head_frames_its_body_once(
        code in 200..600_u16,
        fields in prop::collection::vec((
            "content-length|transfer-encoding|connection|keep-alive|date|x-a|x-b|trailer|upgrade",
            "5|chunked|close|x-a|[!-~]([ -~]{0,10}[!-~])?",
        ), 0..8),
        (head_only, minor, seconds) in (any::<bool>(), 0..2_u8, 0..1_000_000_i64),
        connection in prop::sample::select(vec![Connection::Default, Connection::Close, Connection::KeepAlive]),
    ) {
        let fields = map(&fields);
        let status = StatusCode::from_u16(code).unwrap();
        let Ok(length) = response_length(status, head_only, &fields) else { return Ok(()) };
        let version = if minor == 0 { Version::HTTP_10 } else { Version::HTTP_11 };
        let framing = match length {
            ResponseLength::None => BodyFraming::None,
            ResponseLength::Length(length) => BodyFraming::of(Some(length), version),
            ResponseLength::Unknown => BodyFraming::of(None, version),
        };
        let edits = FieldEdits::default();
        let how = ResponseOptions { framing, connection, date: date::format(seconds) };
        let mut out = b"before".to_vec();
        response_head(&mut out, status, &RelayedFields { received: &fields, edits: &edits }, &how);
        let written = out.strip_prefix(b"before").unwrap();
        let mut space = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut space);
        prop_assert_eq!(response.parse(written), Ok(httparse::Status::Complete(written.len())));
        prop_assert_eq!(response.code, Some(code));
        let values = |name: &str| -> Vec<&[u8]> {
            response.headers.iter().filter(|h| h.name == name).map(|h| h.value).collect()
        };
        let (lengths, codings) = (values("content-length"), values("transfer-encoding"));
        match framing {
            BodyFraming::Length(length) => {
                let length = length.to_string();
                prop_assert_eq!(lengths, vec![length.as_bytes()]);
                prop_assert!(codings.is_empty());
            }
            BodyFraming::Chunked => {
                prop_assert!(lengths.is_empty());
                prop_assert_eq!(codings, vec![b"chunked"]);
            }
            BodyFraming::UntilClose => {
                prop_assert!(lengths.is_empty() && codings.is_empty());
                prop_assert_eq!(values("connection"), vec![b"close"]);
            }
            BodyFraming::None => prop_assert!(codings.is_empty() && lengths.len() <= 1),
        }
        prop_assert!(values("connection").len() <= 1 && values("keep-alive").is_empty());
        prop_assert!(values("upgrade").is_empty());
    }
}
