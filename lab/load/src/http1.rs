//! HTTP/1.1 as a client speaks it: the bytes of a request, and what a response is, fed in whatever
//! pieces it comes in. Every connection of the engine has a [`Response`]; a fuzz target feeds one
//! through [`outcome_of`].

use std::mem::MaybeUninit;

use weir_http::h1::chunked::{ChunkedDecoder, Piece};
use weir_stats::Outcome;

use crate::plan::Body;

/// Bytes a head may have before it is called wrong.
const LONGEST_HEAD: usize = 32_768;
const MOST_FIELDS: usize = 100;

/// The parts of a request that are the same for all of a run.
pub(crate) struct Template {
    stay: Vec<u8>,
    close: Vec<u8>,
}

impl Template {
    /// `headers` are further header lines, each ending in CRLF.
    pub(crate) fn new(host: &str, headers: &str) -> Template {
        let common = format!(" HTTP/1.1\r\nHost: {host}\r\n{headers}");
        Template {
            stay: format!("{common}\r\n").into_bytes(),
            close: format!("{common}Connection: close\r\n\r\n").into_bytes(),
        }
    }

    /// Put a request for `path` into `out`; with `last`, it asks the server to close afterwards.
    pub(crate) fn write(&self, out: &mut Vec<u8>, path: &str, last: bool) {
        out.clear();
        out.extend_from_slice(b"GET ");
        out.extend_from_slice(path.as_bytes());
        out.extend_from_slice(if last { &self.close } else { &self.stay });
    }
}

/// How far a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is more to come.
    More,
    /// It has ended so.
    Done(Ending),
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    /// The connection can carry another request.
    pub(crate) reusable: bool,
}

/// How the end of the body is told.
#[derive(Clone, Debug)]
enum BodyFraming {
    /// The head is not complete.
    Head,
    Length(u64),
    Chunked(ChunkedDecoder),
    /// When the server closes.
    Close,
}

/// A response while it comes in.
#[derive(Debug)]
pub(crate) struct Response {
    /// Body bytes there should be, if that is known.
    size: Option<u64>,
    framing: BodyFraming,
    /// What has come of a head that is not complete.
    head: Vec<u8>,
    status: u16,
    persistent: bool,
    head_bytes: u64,
    body_bytes: u64,
}

impl Response {
    pub(crate) fn new(size: Option<u64>) -> Response {
        Response {
            size,
            framing: BodyFraming::Head,
            head: Vec::new(),
            status: 0,
            persistent: false,
            head_bytes: 0,
            body_bytes: 0,
        }
    }

    /// Begin anew for the next response on the same connection, with the memory there is.
    pub(crate) fn reset(&mut self, size: Option<u64>) {
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        *self = Response { head, ..Response::new(size) };
    }

    /// Of the last head that has come whole; 0 before.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// Bytes of heads so far, of interim responses too.
    pub(crate) fn head_bytes(&self) -> u64 {
        self.head_bytes
    }

    /// Bytes of the body so far, without its framing.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Take bytes in; the body is compared with `body`. Bytes after the end are not this
    /// response's, and make the connection unfit for another request.
    pub(crate) fn take(&mut self, bytes: &[u8], body: &Body) -> Progress {
        let mut bytes = bytes;
        while matches!(self.framing, BodyFraming::Head) {
            let used = match self.take_head(bytes) {
                Ok(Some(used)) => used,
                Ok(None) => return Progress::More,
                Err(NotHttp) => return wrong(),
            };
            bytes = &bytes[used..];
            if let Some(ending) = self.begin_body() {
                return self.end_with(ending, bytes);
            }
        }
        self.take_body(bytes, body)
    }

    /// The server has closed its side.
    pub(crate) fn closed(&self) -> Outcome {
        match self.framing {
            BodyFraming::Close if self.is_asked_status() => match self.size {
                Some(size) if self.body_bytes < size => Outcome::Short,
                _ => Outcome::Ok,
            },
            BodyFraming::Close => Outcome::Status,
            _ => Outcome::Short,
        }
    }

    fn is_asked_status(&self) -> bool {
        self.status == 200
    }

    /// Look for the end of the head; how many of `bytes` belong to it, if it is there.
    fn take_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, NotHttp> {
        // httparse passes over empty lines before a head; no server sends them.
        if self.head.is_empty() && bytes.first().is_some_and(|first| *first != b'H') {
            return Err(NotHttp);
        }
        // Mostly the whole head comes at once and need not be kept.
        if self.head.is_empty()
            && holds_end(bytes)
            && let Some(used) = self.parse_head(bytes)?
        {
            return Ok(Some(used));
        }
        let before = self.head.len();
        let room = LONGEST_HEAD.saturating_sub(before);
        self.head.extend_from_slice(&bytes[..bytes.len().min(room + 1)]);
        let head = std::mem::take(&mut self.head);
        let found = match holds_end(&head[before.saturating_sub(3)..]) {
            true => self.parse_head(&head)?,
            false => None,
        };
        self.head = head;
        match found {
            Some(length) => {
                self.head.clear();
                Ok(Some(length.saturating_sub(before)))
            }
            None if self.head.len() > LONGEST_HEAD => Err(NotHttp),
            None => Ok(None),
        }
    }

    /// Read the head that `bytes` begin with; its length, if it is complete.
    fn parse_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, NotHttp> {
        let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
        let mut head = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut head,
            bytes,
            &mut fields,
        );
        let length = match parsed {
            Ok(httparse::Status::Complete(length)) if length <= LONGEST_HEAD => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            _ => return Err(NotHttp),
        };
        self.status = head.code.unwrap_or(0);
        self.head_bytes += length as u64;
        self.persistent = head.version == Some(1);
        self.framing = BodyFraming::Close;
        let mut announced = None;
        let mut coded = false;
        for field in head.headers.iter() {
            if field.name.eq_ignore_ascii_case("content-length") {
                let value = length_value(field.value).ok_or(NotHttp)?;
                if announced.is_some_and(|other| other != value) {
                    return Err(NotHttp);
                }
                announced = Some(value);
            } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
                coded = true;
                // The last coding counts, and none may follow chunked (RFC 9112, section 6.1).
                if tokens(field.value).last().is_some_and(|t| t.eq_ignore_ascii_case(b"chunked")) {
                    self.framing = BodyFraming::Chunked(ChunkedDecoder::lenient());
                }
            } else if field.name.eq_ignore_ascii_case("connection") {
                for token in tokens(field.value) {
                    if token.eq_ignore_ascii_case(b"close") {
                        self.persistent = false;
                    } else if token.eq_ignore_ascii_case(b"keep-alive") && head.version == Some(0) {
                        self.persistent = true;
                    }
                }
            }
        }
        if let (Some(length), false) = (announced, coded) {
            self.framing = BodyFraming::Length(length);
        }
        Ok(Some(length))
    }

    /// What the head says of the body. `Some` if the response has ended by it.
    fn begin_body(&mut self) -> Option<Outcome> {
        match self.status {
            // Switching protocols was not asked for.
            101 => return Some(Outcome::Wrong),
            100..=199 => {
                self.framing = BodyFraming::Head;
                return None;
            }
            204 | 304 => return Some(Outcome::Status),
            _ => {}
        }
        let BodyFraming::Length(length) = self.framing else { return None };
        if self.is_asked_status() && self.size.is_some_and(|size| size != length) {
            return Some(Outcome::Wrong);
        }
        (length == 0).then(|| self.complete())
    }

    /// The outcome of a response that has come to its end.
    fn complete(&self) -> Outcome {
        match self.size {
            _ if !self.is_asked_status() => Outcome::Status,
            Some(size) if size != self.body_bytes => Outcome::Wrong,
            _ => Outcome::Ok,
        }
    }

    fn take_body(&mut self, bytes: &[u8], body: &Body) -> Progress {
        let mut bytes = bytes;
        loop {
            let (skip, data) = match &mut self.framing {
                BodyFraming::Head => return Progress::More,
                BodyFraming::Close => (0, bytes.len()),
                BodyFraming::Length(length) => {
                    let left = *length - self.body_bytes;
                    (0, bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX)))
                }
                BodyFraming::Chunked(chunked) => match chunked.decode(bytes) {
                    Piece::Data { skip, data } => (skip, data),
                    Piece::End(used) => return self.end_with(self.complete(), &bytes[used..]),
                    Piece::Malformed => return wrong(),
                },
            };
            if !self.take_data(&bytes[skip..skip + data], body) {
                return wrong();
            }
            bytes = &bytes[skip + data..];
            if matches!(self.framing, BodyFraming::Length(length) if length == self.body_bytes) {
                return self.end_with(self.complete(), bytes);
            }
            if bytes.is_empty() {
                return Progress::More;
            }
        }
    }

    /// Count data of the body; false if they are not what they should be.
    fn take_data(&mut self, data: &[u8], body: &Body) -> bool {
        let from = self.body_bytes;
        self.body_bytes += data.len() as u64;
        if !self.is_asked_status() {
            return true;
        }
        if self.size.is_some_and(|size| self.body_bytes > size) {
            return false;
        }
        match body {
            Body::Any => true,
            Body::Prefix(whole) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX).min(whole.len());
                let rest = &whole[from..];
                let known = rest.len().min(data.len());
                data[..known] == rest[..known]
            }
        }
    }

    fn end_with(&self, outcome: Outcome, rest: &[u8]) -> Progress {
        let reusable = self.persistent && rest.is_empty() && outcome != Outcome::Wrong;
        Progress::Done(Ending { outcome, reusable })
    }
}

/// How a request would be recorded whose response comes in these pieces, after which the server
/// closes. For fuzzing, which has no sockets.
#[doc(hidden)]
pub fn outcome_of<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    size: Option<u64>,
    body: &Body,
) -> Outcome {
    let mut response = Response::new(size);
    for piece in pieces {
        if let Progress::Done(ending) = response.take(piece, body) {
            return ending.outcome;
        }
    }
    response.closed()
}

fn wrong() -> Progress {
    Progress::Done(Ending { outcome: Outcome::Wrong, reusable: false })
}

/// What came is not an HTTP/1 response that can be understood.
struct NotHttp;

/// Whether a head may end here; lines may end in a bare LF.
fn holds_end(bytes: &[u8]) -> bool {
    let ends =
        |at: usize| bytes[at + 1..].starts_with(b"\n") || bytes[at + 1..].starts_with(b"\r\n");
    bytes.iter().enumerate().any(|(at, byte)| *byte == b'\n' && ends(at))
}

fn length_value(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests;
