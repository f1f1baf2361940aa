//! Arbitrary bytes as a request to pass on, and, after the first NUL, as the fields of the response.
//! What is sent on must be understood as what was read, and a prefix that was put before paths stays one.

#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};
use libfuzzer_sys::fuzz_target;
use weir_http::forward::{
    FieldEdits, ForwardedStyle, Mount, MountNames, RelayedFields, RequestOptions, ResponseLength,
    request_head, response_length,
};
use weir_http::h1::body_framing::BodyFraming;
use weir_http::h1::relayed::{
    ResponseOptions, interim_head, response_head, switching_protocols_head,
};
use weir_http::h1::request::{FieldSpace, Limits, Parsed, parse, parse_request};
use weir_http::h1::response::Connection;
use weir_http::message::hops::{HopField, origin};

fuzz_target!(|data: &[u8]| {
    let [choice, code, rest @ ..] = data else {
        return;
    };
    let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
    let (head, fields) = rest.split_at(end);
    pass_request(*choice, head);
    pass_response(
        *choice,
        u16::from(*code) * 4 + 100,
        fields.strip_prefix(b"\0").unwrap_or(fields),
    );
});

fn pass_request(choice: u8, head: &[u8]) {
    let mut space = FieldSpace::new();
    let parsed = parse(head, &Limits::default(), &mut space);
    let Ok(Parsed::Complete { request: read, fields, .. }) = parsed else {
        return;
    };
    let fields = fields.to_fields();
    let peer = IpAddr::from(Ipv4Addr::LOCALHOST);
    for field in [HopField::XForwardedFor, HopField::Forwarded] {
        assert_eq!(origin(&fields, field, peer, |_| false).address, peer);
        let _ = origin(&fields, field, peer, |address| address.is_loopback());
    }
    let path = (choice & 3 == 0).then_some("/v2/a%20b");
    let to = RequestOptions {
        client: Some(Ipv4Addr::LOCALHOST.into()),
        client_host: (choice & 3 == 1).then_some("told"),
        scheme: "http",
        local_host: "local",
        style: ForwardedStyle::ALL[usize::from(choice >> 2 & 3)],
        trust: choice & 16 != 0,
        path,
        host: None,
        edits: &FieldEdits::default(),
        via: choice & 32 != 0,
        expect: choice & 64 != 0,
        upgrade: choice & 128 != 0,
    };
    let Ok(parts) = request_head(&read, &fields, &to, HeaderMap::new()) else {
        return;
    };
    let mut sent = format!("{} {} HTTP/1.1\r\n", parts.method, parts.uri).into_bytes();
    for (name, value) in &parts.headers {
        sent.extend_from_slice(
            &[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat(),
        );
    }
    sent.extend_from_slice(b"\r\n");
    let roomy = Limits { request_line: 1 << 20, head: 1 << 20, headers: 128 };
    match parse_request(&sent, &roomy) {
        Ok(Some((again, head_len))) => {
            assert_eq!(head_len, sent.len());
            assert_eq!((again.body, &again.method), (read.body, &read.method));
            assert_eq!(again.host, read.host.or(Some("local")));
            assert_eq!(decoded(again.query), decoded(read.query));
            assert!(again.persistent);
            assert!(again.upgrade.is_none() || (to.upgrade && read.upgrade.is_some()));
        }
        Err(error) => assert_eq!(error.status.as_u16(), 431, "{}", String::from_utf8_lossy(&sent)),
        Ok(None) => panic!("cut: {}", String::from_utf8_lossy(&sent)),
    }
}

/// The bytes that a query stands for: some characters are passed on encoded that came as they are.
fn decoded(query: Option<&str>) -> Option<Vec<u8>> {
    let mut rest = query?.as_bytes();
    let mut bytes = Vec::new();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let octet = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(octet.unwrap_or(*byte));
        rest = if octet.is_some() { &after[2..] } else { after };
    }
    Some(bytes)
}

fn pass_response(choice: u8, code: u16, text: &[u8]) {
    let Ok(status) = StatusCode::from_u16(code) else {
        return;
    };
    let mut fields = HeaderMap::new();
    for line in text.split(|&byte| byte == b'\n').take(32) {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = HeaderValue::from_bytes(value.strip_prefix(b":").unwrap_or(value));
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), value) {
            fields.append(name, value);
        }
    }
    if let Some(mount) = Mount::new("/app") {
        let outer = (choice & 1 != 0).then_some("/outer");
        let (client, told, backend) = (Some("weir"), Some("told"), Some("local:9"));
        let names = MountNames { client, told, backend, outer };
        let mut once = fields.clone();
        mount.restore(&mut once, &names);
        let mut twice = once.clone();
        mount.restore(&mut twice, &names);
        assert_eq!((once.len(), &once), (fields.len(), &twice));
    }
    let mut out = Vec::new();
    let edits = FieldEdits::default();
    let relayed = RelayedFields { received: &fields, edits: &edits };
    interim_head(&mut out, status, &relayed);
    assert!(out.is_empty() || read(&out) == (0, 0));
    out.clear();
    switching_protocols_head(&mut out, &relayed);
    assert_eq!(read(&out), (0, 0));
    let Ok(length) = response_length(status, choice & 1 != 0, &fields) else {
        return;
    };
    let version = if choice & 2 != 0 { Version::HTTP_10 } else { Version::HTTP_11 };
    let framing = match length {
        ResponseLength::None => BodyFraming::None,
        ResponseLength::Length(length) => BodyFraming::of(Some(length), version),
        ResponseLength::Unknown => BodyFraming::of(None, version),
    };
    let edits = FieldEdits::default();
    let how = ResponseOptions { framing, connection: Connection::Default, date: [b'x'; 29] };
    out.clear();
    response_head(&mut out, status, &RelayedFields { received: &fields, edits: &edits }, &how);
    let framed = read(&out);
    match framing {
        BodyFraming::Length(_) => assert_eq!(framed, (1, 0)),
        BodyFraming::Chunked => assert_eq!(framed, (0, 1)),
        BodyFraming::UntilClose => assert_eq!(framed, (0, 0)),
        BodyFraming::None => assert!(framed == (0, 0) || framed == (1, 0)),
    }
}

/// How many `Content-Length` and `Transfer-Encoding` fields a whole head has.
fn read(head: &[u8]) -> (usize, usize) {
    let mut space = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut space);
    assert_eq!(response.parse(head), Ok(httparse::Status::Complete(head.len())));
    let count = |name| response.headers.iter().filter(|field| field.name == name).count();
    (count("content-length"), count("transfer-encoding"))
}
