//! Worked lines of each format, and whatever a client sends is one line that says just that.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use weir_http::h1::request::{Limits, parse_request};
use weir_http::message::Request;
use weir_sched::Time;

use super::*;
use crate::identity::PeerAddress;

const FORMATS: [LogFormat; 4] =
    [LogFormat::Weir, LogFormat::Combined, LogFormat::Common, LogFormat::Json];

fn handle(format: LogFormat, has_fields: bool) -> LogHandle {
    LogHandle { format, has_fields, ..LogHandle::default() }
}

/// At half past a second of 1994, after 1.5 ms.
fn entry<'a>(request: Option<&'a Request<'a>>, details: Option<&'a Details>) -> Entry<'a> {
    Entry {
        peer: PeerAddress::Ip(([10, 0, 0, 1], 1234).into()),
        user: None,
        at: Duration::from_millis(784_111_777_500),
        request,
        code: 200,
        sent: 12,
        ending: Ending::Complete,
        took: Duration::from_micros(1500),
        details,
    }
}

fn with_request<T>(head: &[u8], check: impl FnOnce(&Request<'_>) -> T) -> T {
    let Ok(Some((request, _))) = parse_request(head, &Limits::default()) else {
        panic!("a valid head")
    };
    check(&request)
}

/// A quote and bytes beyond ASCII, which Apache and nginx escape each in its own way.
const HEAD: &[u8] = b"GET /a\"b?q HTTP/1.1\r\nHost: x.test\r\nUser-Agent: t\\\xc3\xa9\r\n\r\n";

#[test]
fn a_line_is_as_apache_and_nginx_write_it() {
    let begin = "10.0.0.1 - - [06/Nov/1994:08:49:37 +0000] ";
    with_request(HEAD, |request| {
        let line = |format| handle(format, false).line(&entry(Some(request), None));
        assert_eq!(line(LogFormat::Common), format!("{begin}\"GET /a\\\"b?q HTTP/1.1\" 200 12\n"));
        assert_eq!(
            line(LogFormat::Combined),
            format!("{begin}\"GET /a\\x22b?q HTTP/1.1\" 200 12 \"-\" \"t\\x5C\\xC3\\xA9\"\n")
        );
        assert_eq!(
            line(LogFormat::Weir),
            format!(
                "{begin}\"GET /a\\\"b?q HTTP/1.1\" 200 12 \"-\" \"t\\\\\\xc3\\xa9\" 0.001500 -\n"
            )
        );
        let nothing = Entry { sent: 0, code: 304, ..entry(Some(request), None) };
        let end = |format: LogFormat| {
            let line = handle(format, false).line(&nothing);
            line.split_once("HTTP/1.1\" ").unwrap().1.to_owned()
        };
        assert_eq!(end(LogFormat::Common), "304 -\n");
        assert!(end(LogFormat::Combined).starts_with("304 0 \"-\" \""));
    });
    let cut = Entry { ending: Ending::ClientLeft, code: 400, ..entry(None, None) };
    let weir = handle(LogFormat::Weir, false).line(&cut);
    assert_eq!(weir, format!("{begin}\"-\" 400 12 \"-\" \"-\" 0.001500 cut\n"));
}

#[test]
fn a_user_cannot_forge_columns() {
    for (user, apache, nginx) in [
        ("me", "me", "me"),
        ("me [6/Nov] \"GET", "me\\x20[6/Nov]\\x20\\\"GET", "me\\x20[6/Nov]\\x20\\x22GET"),
        ("é\n", "\\xc3\\xa9\\x0a", "\\xC3\\xA9\\x0A"),
    ] {
        let entry = Entry { user: Some(user), ..entry(None, None) };
        for (format, column) in
            [(LogFormat::Common, apache), (LogFormat::Combined, nginx), (LogFormat::Weir, apache)]
        {
            let line = handle(format, false).line(&entry);
            assert!(line.starts_with(&format!("10.0.0.1 - {column} [06/Nov/1994:")), "{line}");
        }
        let read: Value =
            serde_json::from_str(&handle(LogFormat::Json, false).line(&entry)).unwrap();
        assert_eq!(read["user"], user);
        let fields = handle(LogFormat::Weir, true).line(&entry);
        assert_eq!(read_fields(&fields)["WEIR_USER"], user.replace('\n', " "));
    }
}

#[test]
fn json_has_every_value_with_its_name() {
    let details = Details::default();
    details.begin(Time::ZERO, Some("x.test/a".into()));
    details.calls(&"http://127.0.0.1:9000".into());
    details.has_begun_to_send(Time::from_nanos(1_000_000));
    details.has_waited(GateKind::Uplink, Duration::from_micros(20));
    with_request(HEAD, |request| {
        let line = handle(LogFormat::Json, false).line(&entry(Some(request), Some(&details)));
        let expected = "{\"time\":\"1994-11-06T08:49:37.500Z\",\"client\":\"10.0.0.1\",\
                        \"user\":null,\"method\":\"GET\",\"path\":\"/a\\\"b\",\"query\":\"q\",\
                        \"protocol\":\"HTTP/1.1\",\"host\":\"x.test\",\"route\":\"x.test/a\",\
                        \"backend\":\"http://127.0.0.1:9000\",\"status\":200,\"bytes\":12,\
                        \"referer\":null,\"user_agent\":\"t\\\\é\",\"first_byte\":0.001000,\
                        \"total\":0.001500,\"wait_uplink\":0.000020,\"wait_disk\":0.000000,\
                        \"wait_backend\":0.000000,\"ended\":\"complete\"}\n";
        assert_eq!(line, expected);
    });
    let unix = Entry { peer: PeerAddress::Unix, ..entry(None, None) };
    let line = handle(LogFormat::Json, false).line(&unix);
    let read: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(read["client"], "unix:");
    assert!(read["method"].is_null() && read["wait_disk"].is_null());
}

#[test]
fn why_a_response_ended_is_said_in_words() {
    let endings = [
        (Ending::Complete, "complete"),
        (Ending::ClientLeft, "client left"),
        (Ending::TimedOut, "timed out"),
        (Ending::Failed, "error"),
        (Ending::Stopped, "server stopped"),
    ];
    for (ending, words) in endings {
        let line = handle(LogFormat::Json, false).line(&Entry { ending, ..entry(None, None) });
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["ended"], words);
    }
}

#[test]
fn details_are_collected_only_for_what_tells_them() {
    for format in FORMATS {
        // Nobody reads it.
        assert!(!handle(format, false).wants_details());
        let directory = tempfile::tempdir().unwrap();
        let file = AccessLog::File(directory.path().join("log"));
        let log = open(&file, format).unwrap();
        assert_eq!(log.wants_details(), format == LogFormat::Json, "{format}");
    }
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let missing = open(&AccessLog::Journal(socket.clone()), LogFormat::Weir).unwrap_err();
    assert!(missing.to_string().contains("so write stderr, stdout or a file"), "{missing}");
    let _journal = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    let log = open(&AccessLog::Journal(socket), LogFormat::Weir).unwrap();
    assert!(log.wants_details());
}

/// What the fields of an entry in the journal say.
fn read_fields(entry: &str) -> HashMap<&str, &str> {
    assert!(entry.ends_with('\n'));
    let fields = entry.lines().map(|line| line.split_once('=').expect("NAME=value"));
    let mut read = HashMap::new();
    for (name, value) in fields {
        assert!(name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{name}");
        assert_eq!(read.insert(name, value), None, "{name} comes twice");
    }
    read
}

/// A head of what clients may put into it: no parser lets line ends and other controls through.
fn heads() -> impl Strategy<Value = (String, String, String)> {
    let odd = "[ -~é\u{80}\u{2028}\u{1f600}]{0,20}";
    ("/[!-~é\u{85}]{0,20}", odd, odd)
}

proptest! {
    #[test]
    fn whatever_a_client_sends_is_one_line((target, agent, referer) in heads(), format in select(FORMATS.to_vec())) {
        let head = format!(
            "GET {target} HTTP/1.1\r\nHost: a\r\nUser-Agent: {agent}\r\nReferer: {referer}\r\n\r\n"
        );
        let Ok(Some((request, _))) = parse_request(head.as_bytes(), &Limits::default()) else {
            return Ok(());
        };
        let entry = entry(Some(&request), None);
        let line = handle(format, false).line(&entry);
        prop_assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{line}");
        prop_assert!(!line.trim_end_matches('\n').bytes().any(|byte| byte.is_ascii_control()));
        if format == LogFormat::Json {
            let read: Value = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(read["path"].as_str(), Some(request.path));
            prop_assert_eq!(read["user_agent"].as_str(), request.user_agent);
            prop_assert_eq!(read["referer"].as_str(), request.referer);
        } else {
            // Quotes come in pairs, unless they are escaped.
            let bare = line.replace("\\\\", "").replace("\\\"", "");
            let quotes = if format == LogFormat::Common { 2 } else { 6 };
            prop_assert_eq!(bare.matches('"').count(), quotes, "{}", line);
        }
        let fields = handle(format, true).line(&entry);
        let read = read_fields(&fields);
        prop_assert_eq!(read["MESSAGE"], line.trim_end_matches('\n'));
        prop_assert_eq!(read["WEIR_PATH"], request.path);
        prop_assert_eq!(read.get("WEIR_USER_AGENT").copied(), request.user_agent);
    }
}
