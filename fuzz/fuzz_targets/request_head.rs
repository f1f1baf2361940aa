//! Arbitrary bytes as a request head that arrives in pieces. The first two bytes choose the limits
//! and where the pieces end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_http::h1::request::{BadRequest, Limits, parse_request};
use weir_http::message::conditions::{ETag, Validators, not_modified, range_applies};
use weir_http::message::{Request, RequestBody, is_get_or_head};

fuzz_target!(|data: &[u8]| {
    let [choice, step, head @ ..] = data else {
        return;
    };
    let limits = match usize::from(*choice) {
        small @ 0..128 => {
            Limits { request_line: small % 8 * 8, head: small / 8 * 10, headers: small % 5 }
        }
        _ => Limits::default(),
    };
    let mut before: Result<Option<(Request<'_>, usize)>, BadRequest> = Ok(None);
    let steps = (0..head.len()).step_by(usize::from(*step).max(1));
    for end in steps.chain([head.len()]) {
        let now = parse_request(&head[..end], &limits);
        match before {
            Ok(None) => {}
            Ok(complete) => assert_eq!(now.clone(), Ok(complete), "a valid head changed"),
            Err(error) => {
                assert_eq!(
                    now.clone().map_err(|later| later.status),
                    Err(error.status),
                    "an error changed"
                )
            }
        }
        before = now;
    }
    match before.clone() {
        Ok(None) => assert!(head.len() < limits.head),
        Ok(Some((request, head_len))) => {
            assert!(head_len <= limits.head);
            assert!(head[..head_len].ends_with(b"\r\n\r\n"));
            let lines = head[..head_len].split(|&byte| byte == b'\n');
            assert!(lines.rev().skip(1).all(|line| line.ends_with(b"\r")), "LF alone");
            assert_eq!(parse_request(&head[..head_len], &limits), before);
            assert_eq!(parse_request(&head[..head_len - 1], &limits), Ok(None));
            check(&request);
        }
        Err(error) => assert!([400, 414, 431, 501, 505].contains(&error.status.as_u16())),
    }
});

fn check(request: &Request<'_>) {
    assert!(request.path.starts_with('/') || !is_get_or_head(&request.method));
    assert!(request.target.contains(request.path) || request.path == "/");
    assert!(!request.keep_alive || request.body == RequestBody::None);
    assert_ne!(request.body, RequestBody::Length(0));
    assert!(request.if_none_match.is_none() || request.if_modified_since.is_none());
    let texts =
        [request.host, request.user_agent, request.referer, request.range, request.if_range];
    for text in texts.into_iter().flatten().chain([request.target, request.method.as_str()]) {
        assert!(!text.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t'));
    }
    let validators =
        Validators { etag: ETag::new(784_111_777, 0, 64), modified: Some(784_111_777) };
    let conditional = request.if_none_match.is_some() || request.if_modified_since.is_some();
    assert!(conditional || !not_modified(request, &validators));
    assert!(request.if_range.is_some() || range_applies(request, &validators));
}
