//! A whole connection: what a client and a backend send, in pieces and in any order, through the
//! server's own code between them. What the backend reads must be the requests of the client, whole
//! ones and no others, and what the client reads must be answers to them.
//!
//! The first byte chooses the configuration. What follows are steps between bytes 0xff, which no
//! message needs: `c` and what the client sends, `b` and what the backend does, `e` the end of the
//! client's side, `x` the end of the backend's. Capitals come in the same moment as what is before.

#![no_main]

use std::sync::Arc;

use http::Version;
use libfuzzer_sys::fuzz_target;
use weir_http::h1::chunked::{ChunkedDecoder, Piece};
use weir_http::h1::request::{Limits, parse_request};
use weir_http::message::RequestBody;
use weir_http::proxy_protocol;
use weir_server::fuzzing::{Bench, Step};

const SEPARATOR: u8 = 0xff;

/// Nothing here depends on how long things take, or on how often they are tried.
const ROUTE: &str = "backend_limit = 10\nretries = 0\nmax_fails = 0\nbackends = [\"BACKEND\"]\n";

const CONFIGURATIONS: [(&str, &str); 4] = [
    ("", "[[route]]\npath = \"/\"\n"),
    (
        "",
        "[[route]]\npath = \"/a\"\nredirect = \"/{rest}\"\n[[route]]\npath = \"/\"\nbuffer = 100\n\
         request_headers = { set = { X-Set = \"1\" }, remove = [\"X-Secret\"] }\n\
         response_headers = { set = { X-Set = \"1\" }, remove = [\"X-Secret\"] }\n",
    ),
    (
        "",
        "[[route]]\npath = \"/\"\nstrip_prefix = true\nmax_body = 20\nhost_header = \"backend\"\n\
         cancels_on_disconnect = true\nhalf_closed = \"gone\"\nforwarded = \"both\"\n",
    ),
    ("proxy_protocol = true\n", "[[route]]\npath = \"/\"\nhalf_closed = \"alive\"\n"),
];

thread_local! {
    static BENCHES: Vec<Bench> = CONFIGURATIONS
        .iter()
        .map(|(before, route)| Bench::new(&[before, *route, ROUTE].concat()).expect("it is valid"))
        .collect();
}

fuzz_target!(
    init: {
        // Writing to who has left is an error and no end; the handler takes the place of dying.
        let ignored = Arc::default();
        signal_hook::flag::register(signal_hook::consts::SIGPIPE, ignored).expect("a signal");
    },
    |data: &[u8]| {
        let Some((choice, script)) = data.split_first() else { return };
        let choice = usize::from(*choice) % CONFIGURATIONS.len();
        let (steps, client) = steps(script);
        let seen = BENCHES.with(|benches| benches[choice].play(steps)).expect("descriptors");
        let sent = if choice == 3 { after_proxy_header(&client) } else { &client };
        let (requests, is_malformed) = requests(sent);
        let edited = choice == 1;
        check_backends(&seen.to_backends, &requests, edited);
        check_client(&seen.to_client, &requests, is_malformed, edited);
        assert!(seen.has_ended, "it waits for nobody");
    }
);

/// The steps, and all that the client sends.
fn steps(script: &[u8]) -> (Vec<Step<'_>>, Vec<u8>) {
    let (mut steps, mut client, mut ended) = (Vec::new(), Vec::new(), false);
    for step in script.split(|byte| *byte == SEPARATOR) {
        let Some((kind, rest)) = step.split_first() else { continue };
        if !kind.is_ascii_uppercase() {
            steps.push(Step::Settle);
        }
        match kind.to_ascii_lowercase() {
            b'b' => steps.push(Step::Backend(rest)),
            b'x' => steps.push(Step::BackendCloses),
            b'e' => {
                ended = true;
                steps.push(Step::ClientEnds);
            }
            b'c' if !ended => {
                client.extend_from_slice(rest);
                steps.push(Step::Client(rest));
            }
            _ => {}
        }
    }
    (steps, client)
}

/// A request as the client sent it.
#[derive(Debug)]
struct Sent {
    method: String,
    query: Option<String>,
    version: Version,
    may_upgrade: bool,
    body: Vec<u8>,
    is_whole: bool,
}

fn after_proxy_header(client: &[u8]) -> &[u8] {
    match proxy_protocol::parse(client) {
        Ok(proxy_protocol::Parsed::Complete { length, .. }) => &client[length..],
        _ => b"",
    }
}

/// The requests of a client, and whether something follows that is none.
fn requests(mut bytes: &[u8]) -> (Vec<Sent>, bool) {
    let mut requests = Vec::new();
    loop {
        let (request, head_len) = match parse_request(bytes, &Limits::default()) {
            Ok(Some((request, head_len))) => (request, head_len),
            Ok(None) => return (requests, false),
            Err(_) => return (requests, true),
        };
        let rest = &bytes[head_len..];
        let (body, length) = match request.body {
            RequestBody::None => (Vec::new(), Some(0)),
            RequestBody::Length(length) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                let whole = rest.get(..length);
                (whole.unwrap_or(rest).to_vec(), whole.map(<[u8]>::len))
            }
            RequestBody::Chunked => decoded(rest),
        };
        requests.push(Sent {
            method: request.method.to_string(),
            query: request.query.map(str::to_owned),
            version: request.version,
            may_upgrade: request.upgrade.is_some(),
            body,
            is_whole: length.is_some(),
        });
        match length {
            Some(length) if request.persistent => bytes = &rest[length..],
            _ => return (requests, false),
        }
    }
}

/// A body in chunks, and how long they are if they come to an end.
fn decoded(bytes: &[u8]) -> (Vec<u8>, Option<usize>) {
    let (mut chunked, mut body, mut at) = (ChunkedDecoder::strict(), Vec::new(), 0);
    loop {
        match chunked.decode(&bytes[at..]) {
            Piece::Data { skip, data } => {
                body.extend_from_slice(&bytes[at + skip..at + skip + data]);
                at += skip + data;
                if skip + data == 0 {
                    return (body, None);
                }
            }
            Piece::End(skip) => return (body, Some(at + skip)),
            Piece::Malformed => return (body, None),
        }
    }
}

/// The head of a message, read as strictly as there is.
struct Head<'a> {
    /// The words of the first line.
    start: Vec<&'a str>,
    fields: Vec<(String, &'a [u8])>,
    length: usize,
}

impl<'a> Head<'a> {
    /// `None`: it has no end yet.
    fn read(bytes: &'a [u8]) -> Option<Head<'a>> {
        let length = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let mut lines = bytes[..length - 4].split(|byte| *byte == b'\n').map(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            assert!(!line.iter().any(|byte| matches!(byte, b'\r' | 0)), "{}", show(bytes));
            line
        });
        assert!(bytes[..length].windows(2).all(|two| two[1] != b'\n' || two[0] == b'\r'));
        let start = std::str::from_utf8(lines.next()?).expect("the first line is text");
        let field = |line: &'a [u8]| {
            let colon = line.iter().position(|byte| *byte == b':').expect("a field has a colon");
            let name = std::str::from_utf8(&line[..colon]).expect("a name is text");
            let is_token =
                |byte| u8::is_ascii_alphanumeric(&byte) || b"!#$%&'*+-.^_`|~".contains(&byte);
            assert!(!name.is_empty() && name.bytes().all(is_token), "{name:?}");
            (name.to_ascii_lowercase(), line[colon + 1..].trim_ascii())
        };
        Some(Head {
            start: start.splitn(3, ' ').collect(),
            fields: lines.map(field).collect(),
            length,
        })
    }

    fn values(&self, name: &str) -> Vec<&'a [u8]> {
        let named = self.fields.iter().filter(|(other, _)| other == name);
        named.map(|(_, value)| *value).collect()
    }

    fn has(&self, name: &str, value: &[u8]) -> bool {
        self.values(name).iter().any(|found| found.eq_ignore_ascii_case(value))
    }

    /// The length of the body and whether it is in chunks; never both.
    fn framing(&self) -> (Option<usize>, bool) {
        let (lengths, codings) = (self.values("content-length"), self.values("transfer-encoding"));
        assert!(lengths.len() + codings.len() <= 1, "{:?}", self.fields);
        let number = |text: &[u8]| {
            let text = std::str::from_utf8(text).expect("digits");
            assert!(text.bytes().all(|byte| byte.is_ascii_digit()));
            text.parse().expect("a length")
        };
        codings.iter().for_each(|coding| assert_eq!(*coding, b"chunked"));
        (lengths.first().map(|text| number(text)), !codings.is_empty())
    }
}

/// Chunks as they are written here: the data and the trailer section, and what they are long, if they
/// come to an end.
fn plain_chunks(bytes: &[u8]) -> (Vec<u8>, &[u8], Option<usize>) {
    let (mut body, mut at) = (Vec::new(), 0);
    let unfinished = |body| (body, &b""[..], None);
    loop {
        let Some(line) = bytes[at..].windows(2).position(|two| two == b"\r\n") else {
            return unfinished(body);
        };
        let digits = std::str::from_utf8(&bytes[at..at + line]).expect("digits");
        let size = usize::from_str_radix(digits, 16).expect("a size and nothing else");
        at += line + 2;
        if size == 0 {
            let trailers = &bytes[at..];
            let end = match trailers.starts_with(b"\r\n") {
                true => Some(0),
                false => {
                    trailers.windows(4).position(|four| four == b"\r\n\r\n").map(|end| end + 2)
                }
            };
            let Some(end) = end else { return unfinished(body) };
            return (body, &trailers[..end], Some(at + end + 2));
        }
        let Some(data) = bytes.get(at..at + size) else {
            body.extend_from_slice(&bytes[at..]);
            return unfinished(body);
        };
        body.extend_from_slice(data);
        at += size;
        match bytes.get(at..at + 2) {
            Some(end) => assert_eq!(end, b"\r\n", "a chunk is longer than it says"),
            None => return unfinished(body),
        }
        at += 2;
    }
}

/// Whole requests must be those of the client, in their order; one at the end may be cut.
fn check_backends(read: &[(usize, Vec<u8>)], sent: &[Sent], edited: bool) {
    let mut connections: Vec<(Vec<u8>, bool)> = Vec::new();
    let mut left = sent.iter();
    for (number, bytes) in read {
        while connections.len() <= *number {
            connections.push((Vec::new(), false));
        }
        let (buffer, is_tunnel) = &mut connections[*number];
        if *is_tunnel {
            continue;
        }
        buffer.extend_from_slice(bytes);
        while let Some(head) = Head::read(buffer) {
            let (body, trailers, end) = match head.framing() {
                (_, true) => plain_chunks(&buffer[head.length..]),
                (length, false) => {
                    let rest = &buffer[head.length..];
                    let whole = rest.get(..length.unwrap_or(0));
                    (whole.unwrap_or_default().to_vec(), &b""[..], whole.map(<[u8]>::len))
                }
            };
            assert_eq!((head.start.len(), head.start.last()), (3, Some(&"HTTP/1.1")));
            assert_eq!(head.values("host").len(), 1);
            check_removed(&head, trailers, edited);
            let Some(end) = end else { break };
            let query = head.start[1].split_once('?').map(|(_, query)| query);
            let is_same = |sent: &&Sent| {
                let alike = sent.method == head.start[0] && sent.query.as_deref() == query;
                alike && sent.is_whole && sent.body == body
            };
            let found = left.find(is_same);
            assert!(found.is_some(), "nobody asked for {}", show(buffer));
            // Whether it was switched is for the other side to say.
            *is_tunnel = !head.values("upgrade").is_empty();
            let consumed = head.length + end;
            buffer.drain(..consumed);
            if *is_tunnel {
                break;
            }
        }
    }
}

/// Answers, one to a request, in their order, and nothing between them or behind the last.
fn check_client(mut bytes: &[u8], sent: &[Sent], is_malformed: bool, edited: bool) {
    let mut left = sent.iter();
    let mut request = left.next();
    let mut is_over = false;
    while !bytes.is_empty() {
        assert!(!is_over, "more than answers: {}", show(bytes));
        let head = Head::read(bytes).unwrap_or_else(|| panic!("half a head: {}", show(bytes)));
        assert_eq!(head.start[0], "HTTP/1.1");
        let status: u16 = head.start[1].parse().expect("a status");
        if (100..200).contains(&status) {
            let asked = request.expect("an interim answer is to a request");
            assert_eq!((asked.version, head.framing()), (Version::HTTP_11, (None, false)));
            check_removed(&head, b"", edited);
            if status == 101 {
                assert!(asked.may_upgrade);
                return;
            }
            bytes = &bytes[head.length..];
            continue;
        }
        if request.is_none() {
            assert!(is_malformed && status >= 400, "{status} answers nothing");
            is_over = true;
        }
        let has_none = matches!(status, 204 | 304) || request.is_some_and(|it| it.method == "HEAD");
        let (length, in_chunks) = head.framing();
        let rest = &bytes[head.length..];
        let (trailers, end) = match (length, in_chunks) {
            _ if has_none => (&b""[..], Some(0)),
            (_, true) => {
                assert!(request.is_none_or(|it| it.version == Version::HTTP_11));
                let (_, trailers, end) = plain_chunks(rest);
                (trailers, end)
            }
            (Some(length), _) => (&b""[..], (length <= rest.len()).then_some(length)),
            (None, _) => {
                assert!(head.has("connection", b"close"), "nothing tells its end");
                (&b""[..], Some(rest.len()))
            }
        };
        check_removed(&head, trailers, edited);
        is_over |= head.has("connection", b"close");
        // One that was cut is the last.
        bytes = end.map_or(&b""[..], |end| &rest[end..]);
        request = left.next();
    }
}

/// What is removed comes neither in a head nor in trailers; what is set, in the head alone.
fn check_removed(head: &Head<'_>, trailers: &[u8], edited: bool) {
    let lines = || trailers.split(|byte| *byte == b'\n');
    for line in lines().filter(|line| !line.is_empty()) {
        assert!(line.ends_with(b"\r") && line.contains(&b':'), "{}", show(trailers));
    }
    if !edited {
        return;
    }
    assert!(head.values("x-secret").is_empty());
    assert!(head.values("x-set").iter().all(|value| *value == b"1"));
    for line in lines() {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        assert!(lower != b"x-secret" && lower != b"x-set", "{}", show(trailers));
    }
}

fn show(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}
