//! Properties of response heads and dates: what is written can be read back.

use http::StatusCode;
use proptest::prelude::*;
use weir_http::h1::response::{Connection, write_head};
use weir_http::message::coding::Coding;
use weir_http::message::conditions::{ETag, Validators};
use weir_http::message::range::ContentRange;
use weir_http::message::status::{OWN, reason};
use weir_http::message::{ResponseFields, date};

fn status() -> impl Strategy<Value = StatusCode> {
    prop::sample::select(&OWN[..])
}

fn content_range() -> impl Strategy<Value = ContentRange> {
    let part = any::<(u64, u64, u64)>().prop_map(|(first, last, total)| ContentRange::Part {
        first,
        last,
        total,
    });
    prop_oneof![part, any::<u64>().prop_map(|total| ContentRange::Unsatisfied { total })]
}

fn connection() -> impl Strategy<Value = Connection> {
    prop::sample::select(vec![Connection::Default, Connection::Close, Connection::KeepAlive])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_head_reads_back_as_written(
        (status, seconds, length) in (status(), 0..4_000_000_000_i64, any::<Option<u64>>()),
        (modified, nanoseconds) in (any::<Option<i64>>(), 0..1_000_000_000_u32),
        content_type in prop::option::of(prop_oneof!["[a-z]{1,8}/[a-z]{1,8}", ".{1,10}/x"]),
        (content_range, connection) in (prop::option::of(content_range()), connection()),
        location in prop::option::of("/(\\PC|[\r\n\0 %a]){0,20}"),
        (accept_ranges, allow, retry_after) in any::<(bool, bool, Option<u32>)>(),
        coding in prop::option::of(prop::sample::select(Coding::ALL.to_vec())),
        varies in any::<bool>(),
    ) {
        let tag = ETag::new(modified.unwrap_or(0), nanoseconds, length.unwrap_or(0));
        let validators = Validators { etag: tag, modified };
        let fields = ResponseFields {
            length, content_type: content_type.as_deref(),
            validators: modified.is_some().then_some(&validators), content_range, accept_ranges,
            location: location.as_deref(), allow, retry_after, coding, varies,
            authenticate: None, changes: None,
        };
        let mut out = b"before".to_vec();
        write_head(&mut out, status, &date::format(seconds), &fields, connection);
        prop_assert!(out.starts_with(b"before"));
        let written = &out[6..];

        let mut space = [httparse::EMPTY_HEADER; 16];
        let mut response = httparse::Response::new(&mut space);
        prop_assert_eq!(response.parse(written), Ok(httparse::Status::Complete(written.len())));
        prop_assert_eq!((response.version, response.code), (Some(1), Some(status.as_u16())));
        prop_assert_eq!(response.reason, Some(reason(status)));
        let value = |name: &str| {
            let mut found = response.headers.iter().filter(|header| header.name == name);
            let value = found.next().map(|header| String::from_utf8(header.value.to_vec()).unwrap());
            assert!(found.next().is_none(), "{name} twice");
            value
        };

        let sends_content = ![StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);
        let text = |bytes: [u8; 29]| String::from_utf8(bytes.to_vec()).unwrap();
        prop_assert_eq!(value("Date"), Some(text(date::format(seconds))));
        prop_assert_eq!(value("Content-Length"), length.filter(|_| sends_content).map(|n| n.to_string()));
        let plain = content_type.filter(|text| sends_content && !text.contains(char::is_control));
        prop_assert_eq!(value("Content-Type"), plain.map(|text| text.trim_matches([' ', '\t']).to_owned()));
        prop_assert_eq!(value("ETag"), modified.map(|_| tag.as_str().to_owned()));
        let last_modified = modified.filter(|_| sends_content).map(date::format).map(text);
        prop_assert_eq!(value("Last-Modified"), last_modified);
        let range = content_range.filter(|_| sends_content).map(|range| range.to_string());
        prop_assert_eq!(value("Content-Range"), range);
        prop_assert_eq!(value("Accept-Ranges"), (accept_ranges && sends_content).then(|| "bytes".to_owned()));
        let content_encoding = coding.filter(|_| sends_content).map(|coding| coding.name().to_owned());
        prop_assert_eq!(value("Content-Encoding"), content_encoding);
        prop_assert_eq!(value("Vary"), varies.then(|| "Accept-Encoding".to_owned()));
        prop_assert_eq!(value("Allow"), allow.then(|| "GET, HEAD, OPTIONS".to_owned()));
        prop_assert_eq!(value("Retry-After"), retry_after.map(|seconds| seconds.to_string()));
        let expected = match connection {
            Connection::Default => None,
            Connection::Close => Some("close".to_owned()),
            Connection::KeepAlive => Some("keep-alive".to_owned()),
        };
        prop_assert_eq!(value("Connection"), expected);
        let sent = value("Location");
        prop_assert_eq!(sent.is_some(), location.is_some());
        prop_assert!(sent.is_none_or(|sent| sent.bytes().all(|byte| byte.is_ascii_graphic())));
    }

    #[test]
    fn dates_survive(seconds in 0..=253_402_300_799_i64) {
        let text = date::format(seconds);
        prop_assert_eq!(date::parse(std::str::from_utf8(&text).unwrap()), Some(seconds));
    }

    #[test]
    fn dates_out_of_range_are_dates(seconds: i64) {
        let text = date::format(seconds);
        prop_assert!(date::parse(std::str::from_utf8(&text).unwrap()).is_some());
    }

    #[test]
    fn no_text_breaks_the_date_parser(text in "\\PC{0,40}|[A-Za-z]{3,9}, [0-9]{2}[ -][A-Z][a-z]{2}[ -][0-9]{2,4} [0-9:]{8} GMT") {
        let _ = date::parse(&text);
    }

    #[test]
    fn media_types_are_field_values(name in prop::collection::vec(any::<u8>(), 0..20)) {
        let media_type = weir_http::message::media::content_type(&name);
        prop_assert!(media_type.contains('/') && media_type.is_ascii());
    }
}
