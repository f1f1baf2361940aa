//! Properties of request parsing over arbitrary and over nearly valid bytes.

use proptest::prelude::*;
use weir_http::h1::request::{BadRequest, Limits, parse_request};
use weir_http::message::conditions::{ETag, Validators, not_modified, range_applies};
use weir_http::message::{Request, RequestBody, is_get_or_head};

/// Pieces of heads: joined at random they often make a valid one, or nearly.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "\r\n",
        "\n",
        "\r",
        " ",
        ":",
        ",",
        "\t",
        "\0",
        "GET",
        "HEAD",
        "OPTIONS",
        "*",
        "/a?b",
        "http://h/a",
        "HTTP/1.1",
        "HTTP/1.0",
        "HTTP/2.0",
        "GET / HTTP/1.1\r\n",
        "HEAD /a%20b HTTP/1.0\r\n",
        "Host: a\r\n",
        "Range: bytes=0-1\r\n",
        "If-None-Match: *\r\n",
        "If-Range: \"a\"\r\n",
        "Connection: close\r\n",
        "Connection: upgrade\r\n",
        "Upgrade: websocket\r\n",
        "Expect: 100-continue\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: 0\r\n",
        "Transfer-Encoding: chunked\r\n",
        "User-Agent: x\r\n",
        "\r\n\r\n",
    ]);
    prop_oneof![
        8 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ]
}

fn heads() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let start = b"GET / HTTP/1.1\r\nHost: a\r\n";
    let with_start = heads().prop_map(move |rest| [start.as_slice(), &rest].concat());
    prop_oneof![heads(), with_start, prop::collection::vec(any::<u8>(), 0..200)]
}

fn limits() -> impl Strategy<Value = Limits> {
    let small = (0..60_usize, 0..120_usize, 0..6_usize);
    prop_oneof![
        Just(Limits::default()),
        small.prop_map(|(request_line, head, headers)| Limits { request_line, head, headers }),
    ]
}

/// Whether LF comes after CR wherever it comes.
fn has_only_crlf(head: &[u8]) -> bool {
    head.iter().enumerate().all(|(at, byte)| *byte != b'\n' || (at > 0 && head[at - 1] == b'\r'))
}

fn check_request(request: &Request<'_>) -> Result<(), TestCaseError> {
    let form = request.path.starts_with('/') || !is_get_or_head(&request.method);
    prop_assert!(form, "{:?}", request);
    prop_assert_eq!(request.keep_alive, request.persistent && request.body == RequestBody::None);
    prop_assert!(!matches!(request.body, RequestBody::Length(0)));
    prop_assert!(request.if_none_match.is_none() || request.if_modified_since.is_none());
    let texts =
        [Some(request.target), request.host, request.user_agent, request.referer, request.range];
    for text in texts.into_iter().flatten() {
        prop_assert!(!text.contains(['\r', '\n', '\0']));
    }
    Ok(())
}

/// What a result on a prefix allows for every longer buffer: anything after `Partial`, the same
/// request after `Complete`, an error of the same status after an error.
fn check_extension(
    shorter: Result<Option<(Request<'_>, usize)>, BadRequest>,
    longer: Result<Option<(Request<'_>, usize)>, BadRequest>,
) -> Result<(), TestCaseError> {
    match shorter {
        Ok(None) => {}
        Ok(complete) => prop_assert_eq!(longer, Ok(complete)),
        Err(error) => prop_assert_eq!(longer.map_err(|later| later.status), Err(error.status)),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn results_never_contradict_those_of_a_prefix(bytes in bytes(), limits in limits()) {
        let mut before = Ok(None);
        for end in 0..=bytes.len() {
            let now = parse_request(&bytes[..end], &limits);
            check_extension(before.clone(), now.clone())?;
            match now.clone() {
                Ok(None) => prop_assert!(end < limits.head),
                Ok(Some((request, head_len))) => {
                    prop_assert!(head_len <= end && head_len <= limits.head);
                    prop_assert!(before != Ok(None) || head_len == end, "not seen at once");
                    prop_assert!(has_only_crlf(&bytes[..head_len]));
                    check_request(&request)?;
                }
                Err(error) => prop_assert!(error.status.as_u16() >= 400),
            }
            before = now;
        }
    }

    #[test]
    fn what_follows_the_head_changes_nothing(
        target in "/[a-z/.%0-9]{0,20}",
        host in "([a-z]{1,4}(\\.[a-z]{1,4}){0,2}\\.?)?(:[0-9]{1,5})?",
        agent in "[!-~][ -~]{0,20}[!-~]",
        rest in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let head = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\n\r\n");
        let buf = [head.as_bytes(), &rest].concat();
        let parsed = parse_request(&buf, &Limits::default());
        let Ok(Some((request, head_len))) = parsed else {
            return Err(TestCaseError::fail(format!("{parsed:?}")));
        };
        prop_assert_eq!(head_len, head.len());
        prop_assert_eq!(request.target, target.as_str());
        prop_assert_eq!(request.host, Some(host.as_str()));
        prop_assert_eq!(request.user_agent, Some(agent.as_str()));
        prop_assert!(request.keep_alive);
    }

    #[test]
    fn own_validators_are_recognised(
        seconds in 0..253_402_300_800_i64, nanoseconds in 0..1_000_000_000_u32, length: u64, later in 0..1000_i64,
    ) {
        let validators = Validators { etag: ETag::new(seconds, nanoseconds, length), modified: Some(seconds) };
        let tag = validators.etag.as_str();
        prop_assert!(tag.len() <= 26 && tag.starts_with('"') && tag.ends_with('"'));
        let date = weir_http::message::date::format(seconds.saturating_add(later));
        let date = std::str::from_utf8(&date).unwrap();
        let ask = |fields: String| {
            let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
            match parse_request(text.as_bytes(), &Limits::default()) {
                Ok(Some((request, _))) => {
                    (not_modified(&request, &validators), range_applies(&request, &validators))
                }
                other => panic!("{other:?}"),
            }
        };
        prop_assert_eq!(ask(format!("If-None-Match: \"x\", W/{tag}")), (true, true));
        prop_assert_eq!(ask(format!("If-Modified-Since: {date}")), (true, true));
        prop_assert_eq!(ask(format!("If-Range: {tag}")), (false, true));
        let same = weir_http::message::date::parse(date) == Some(seconds);
        prop_assert_eq!(ask(format!("If-Range: {date}")), (false, same));
    }
}
