//! Requests on their way to a backend.

use http::HeaderMap;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Version};

use crate::forward::{FieldEdits, ForwardError, ForwardedStyle, RequestOptions, request_head};
use crate::h1::request::{FieldSpace, Limits, Parsed, parse};

const PLAIN: RequestOptions<'static> = RequestOptions {
    client: Some(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7))),
    client_host: None,
    scheme: "http",
    local_host: "local",
    style: ForwardedStyle::XForwarded,
    trust: false,
    path: None,
    host: None,
    edits: &FieldEdits { set: Vec::new(), remove: Vec::new() },
    via: false,
    expect: false,
    upgrade: false,
};

fn forward(head: &str, to: &RequestOptions<'_>) -> Result<Parts, ForwardError> {
    let mut space = FieldSpace::new();
    let Ok(Parsed::Complete { request, fields, .. }) =
        parse(head.as_bytes(), &Limits::default(), &mut space)
    else {
        panic!("not a request: {head:?}")
    };
    request_head(&request, &fields.to_fields(), to, HeaderMap::new())
}

/// The fields of a passed on GET with these fields, sorted, without `Host` and what is the same for
/// all.
fn passed(fields: &str, to: &RequestOptions<'_>) -> Vec<String> {
    let parts = forward(&format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"), to).unwrap();
    let mut lines: Vec<String> = parts
        .headers
        .iter()
        .filter(|(name, _)| *name != "host" && !name.as_str().starts_with("x-forwarded"))
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    lines.sort();
    lines
}

fn forwarded(fields: &str, to: &RequestOptions<'_>) -> Vec<String> {
    let parts = forward(&format!("GET / HTTP/1.1\r\nHost: a:80\r\n{fields}\r\n"), to).unwrap();
    let names = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded"];
    let text = |name| {
        let values: Vec<_> = parts.headers.get_all(name).iter().collect();
        assert!(values.len() < 2);
        values.first().map_or("", |value| value.to_str().unwrap()).to_owned()
    };
    names.map(text).to_vec()
}

#[test]
fn a_request_of_a_browser() {
    let head = "GET http://b:81/x%20y?a=%20 HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nCookie: a=b\r\n\
                Cookie: c=\u{fc}\r\n\r\n";
    let parts = forward(head, &PLAIN).unwrap();
    assert_eq!((&parts.method, parts.version), (&Method::GET, Version::HTTP_11));
    assert_eq!(parts.uri.to_string(), "/x%20y?a=%20");
    assert_eq!(parts.uri.authority(), None);
    assert_eq!(parts.headers["host"], "b:81");
    assert_eq!(parts.headers["accept"], "*/*");
    assert_eq!(parts.headers.get_all("cookie").iter().count(), 2);
    assert_eq!(parts.headers["x-forwarded-for"], "192.0.2.7");
    assert_eq!(parts.headers["x-forwarded-proto"], "http");
    assert_eq!(parts.headers["x-forwarded-host"], "b:81");
    assert_eq!(parts.headers.len(), 7);
}

#[test]
fn what_concerns_the_connection_stays_behind() {
    let hop = "Connection: close, X-A, x-b\r\nKeep-Alive: timeout=5\r\nProxy-Connection: close\r\n\
               Proxy-Authorization: x\r\nX-A: 1\r\nX-B: 2\r\nX-C: 3\r\nUpgrade: a\r\nTE: gzip\r\n\
               HTTP2-Settings: x\r\nProxy: http://evil/\r\nTrailer: x-sum\r\n";
    assert_eq!(passed(hop, &PLAIN), ["trailer: x-sum", "x-c: 3"]);
    assert_eq!(passed("Connection: host, cookie\r\nCookie: a\r\n", &PLAIN), [""; 0]);
    let trailers = passed("Connection: TE\r\nTE: gzip, Trailers\r\n", &PLAIN);
    assert_eq!(trailers, ["connection: te", "te: trailers"]);
}

#[test]
fn the_framing_is_written_afresh() {
    let framing = |method: &str, fields: &str| {
        let head = format!("{method} / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        let fields = forward(&head, &PLAIN).unwrap().headers;
        let text = |name| {
            assert!(fields.get_all(name).iter().count() < 2);
            fields.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
        };
        (text("content-length"), text("transfer-encoding"))
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(framing("GET", ""), pair("", ""));
    assert_eq!(framing("GET", "Content-Length: 0\r\n"), pair("", ""));
    assert_eq!(framing("POST", ""), pair("0", ""));
    assert_eq!(framing("POST", "Content-Length: 05\r\n"), pair("5", ""));
    assert_eq!(framing("GET", "Transfer-Encoding: Chunked\r\n"), pair("", "chunked"));
    let named = "Connection: Content-Length, Transfer-Encoding\r\nContent-Length: 5\r\n";
    assert_eq!(framing("POST", named), pair("5", ""));
}

#[test]
fn names_that_programs_take_for_others_are_dropped() {
    let fields = "Content_Length: 5\r\nTransfer_Encoding: chunked\r\nX_Forwarded_For: 1\r\nHost_: b\r\n\
                  X_Real_IP: 1\r\nX_User: root\r\nx_other: 1\r\nX-Forwarded_Proto: https\r\n";
    let user = (HeaderName::from_static("x-user"), HeaderValue::from_static("me"));
    let edits = FieldEdits { set: vec![user], remove: Vec::new() };
    let to = RequestOptions { edits: &edits, ..PLAIN };
    assert_eq!(passed(fields, &to), ["host_: b", "x-user: me", "x_other: 1"]);
    assert!(forwarded(fields, &RequestOptions { trust: true, ..PLAIN })[1] == "http");
}

#[test]
fn only_a_trusted_proxy_says_who_asked() {
    let claims = "X-Forwarded-For: 1.1.1.1, 2.2.2.2\r\nX-Forwarded-Proto: https\r\n\
                  X-Forwarded-Host: c\r\nForwarded: for=1.1.1.1\r\nX-Real-IP: 1.1.1.1\r\nX-Forwarded-Port: 1\r\n";
    let told = |style, trust| forwarded(claims, &RequestOptions { style, trust, ..PLAIN });
    let element = "for=192.0.2.7;host=\"a:80\";proto=http";
    let all = |rows: [&str; 4]| rows.map(String::from).to_vec();
    use ForwardedStyle::{Both, Forwarded, Off, XForwarded};
    assert_eq!(told(XForwarded, false), all(["192.0.2.7", "http", "a:80", ""]));
    assert_eq!(told(Forwarded, false), all(["", "", "", element]));
    assert_eq!(told(Both, false), all(["192.0.2.7", "http", "a:80", element]));
    assert_eq!(told(Off, false), all(["", "", "", ""]));
    let chain = "1.1.1.1, 2.2.2.2, 192.0.2.7";
    let element = format!("for=1.1.1.1, {element}");
    assert_eq!(told(XForwarded, true), all([chain, "https", "c", "for=1.1.1.1"]));
    assert_eq!(told(Forwarded, true), all(["1.1.1.1, 2.2.2.2", "https", "c", &element]));
    // What a proxy says that is believed in another way takes the place of the request's own host.
    let told = RequestOptions { client_host: Some("c:81"), style: Both, ..PLAIN };
    let element = "for=192.0.2.7;host=\"c:81\";proto=http";
    assert_eq!(forwarded(claims, &told), all(["192.0.2.7", "http", "c:81", element]));
    let parts = forward(&format!("GET / HTTP/1.1\r\nHost: a\r\n{claims}\r\n"), &told).unwrap();
    assert_eq!(parts.headers["host"], "a");
    assert!(!parts.headers.contains_key("x-real-ip"));
    assert!(!parts.headers.contains_key("x-forwarded-port"));
}

#[test]
fn hosts() {
    let host = |head, rule: Option<&HeaderValue>| {
        forward(head, &RequestOptions { host: rule, ..PLAIN })
            .map(|parts| parts.headers["host"].clone())
    };
    let name = HeaderValue::from_static("app:9000");
    let http_1_0 = "GET / HTTP/1.0\r\n\r\n";
    let http_1_1 = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(host(http_1_1, None).unwrap(), "a");
    assert_eq!(host(http_1_0, None).unwrap(), "local");
    for head in [http_1_1, http_1_0] {
        assert_eq!(host(head, Some(&name)).unwrap(), "app:9000");
    }
}

#[test]
fn paths() {
    let uri = |head, path| {
        forward(head, &RequestOptions { path, ..PLAIN })
            .map(|parts| parts.uri.to_string())
            .map_err(|bad| bad.status.as_u16())
    };
    let ok = |text: &str| Ok(text.to_owned());
    let changed = Some("/v2/a%20b");
    assert_eq!(uri("GET /api/a?b=/api HTTP/1.0\r\n\r\n", changed), ok("/v2/a%20b?b=/api"));
    assert_eq!(uri("OPTIONS * HTTP/1.0\r\n\r\n", changed), ok("*"));
    assert_eq!(uri("GET / HTTP/1.0\r\n\r\n", Some("a")), Err(400));
    assert_eq!(uri("GET http://h?q HTTP/1.0\r\n\r\n", None), ok("/?q"));
    assert_eq!(uri("GET //h/a HTTP/1.0\r\n\r\n", None), ok("//h/a"));
    assert_eq!(uri("CONNECT h:443 HTTP/1.0\r\n\r\n", None), Err(501));
}

#[test]
fn what_no_uri_contains_is_encoded() {
    for (target, path, expected) in [
        ("/search?q=\"exact\"", None, "/search?q=%22exact%22"),
        ("/?a<b>`c", None, "/?a%3Cb%3E%60c"),
        ("/a<b>`c?d", None, "/a%3Cb%3E%60c?d"),
        ("/?<ü?%3C+\u{a0}", None, "/?%3C%C3%BC?%3C+%C2%A0"),
        ("/?\"", Some("/v2/a<b"), "/v2/a%3Cb?%22"),
        // What is taken stays as the client wrote it.
        ("/a\"{}|?ü{}[]^\\|`", None, "/a\"{}|?ü{}[]^\\|`"),
    ] {
        let to = RequestOptions { path, ..PLAIN };
        let parts = forward(&format!("GET {target} HTTP/1.0\r\n\r\n"), &to).unwrap();
        assert_eq!(parts.uri.to_string(), expected, "{target}");
    }
}

#[test]
fn options_of_a_route() {
    let to = RequestOptions { via: true, expect: true, upgrade: true, ..PLAIN };
    assert_eq!(passed("Via: 1.1 x\r\n", &to), ["via: 1.1 weir", "via: 1.1 x"]);
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nTE: trailers\r\n";
    assert_eq!(
        passed(upgrade, &to),
        ["connection: upgrade", "upgrade: websocket", "via: 1.1 weir"]
    );
    assert_eq!(passed(upgrade, &PLAIN), ["connection: te", "te: trailers"]);
    assert_eq!(passed("Connection: upgrade\r\nUpgrade: h2c\r\n", &to), ["via: 1.1 weir"]);
    let expect = "Expect: 100-continue\r\nContent-Length: 1\r\n";
    assert_eq!(passed(expect, &PLAIN), ["content-length: 1"]);
    assert_eq!(passed(expect, &to)[1], "expect: 100-continue");
}

#[test]
fn forwards_are_counted() {
    let forwards = |method: &str, count: &str| {
        let head = format!("{method} / HTTP/1.1\r\nHost: a\r\nMax-Forwards: {count}\r\n\r\n");
        forward(&head, &PLAIN)
            .map(|parts| parts.headers["max-forwards"].clone())
            .map_err(|bad| bad.status.as_u16())
    };
    let ok = |text| Ok(HeaderValue::from_static(text));
    assert_eq!(forwards("TRACE", "2"), ok("1"));
    assert_eq!(forwards("OPTIONS", "0"), Err(501));
    assert_eq!(forwards("GET", "0"), ok("0"));
    assert_eq!(forwards("TRACE", "x"), ok("x"));
}
