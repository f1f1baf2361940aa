//! One request on one connection, as a simple client such as wget makes it: what
//! to send, what has come back, and how it ended.

use std::io;
use std::net::{SocketAddrV4, TcpStream};

use rustix::io::Errno;
use socket2::{Domain, Socket, Type};

use crate::docroot;

/// A slow reader's. Set before connecting, so that the window offered is small
/// from the start.
const SLOW_BUFFER: usize = 4096;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Status 200, the right length, the right bytes.
    Ok,
    /// The server closed before the last byte.
    Short,
    /// The connection was refused or could not be made.
    Refused,
    /// Not complete when the run ended.
    Timeout,
    /// The server reset the connection.
    Reset,
    /// Another status, another length, or wrong bytes.
    Wrong,
}

impl Outcome {
    pub(crate) const ALL: [Outcome; 6] = [
        Outcome::Ok,
        Outcome::Short,
        Outcome::Refused,
        Outcome::Timeout,
        Outcome::Reset,
        Outcome::Wrong,
    ];

    /// The word used in files and summaries.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Short => "short",
            Outcome::Refused => "refused",
            Outcome::Timeout => "timeout",
            Outcome::Reset => "reset",
            Outcome::Wrong => "wrong",
        }
    }
}

/// What became of a request; times in seconds from the start of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) started: f64,
    pub(crate) finish: f64,
    pub(crate) outcome: Outcome,
    pub(crate) head: u64,
}

/// Begin to connect; the stream is writable when the connection stands.
pub(crate) fn open(address: SocketAddrV4, slow: bool) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None)?;
    if slow {
        socket.set_recv_buffer_size(SLOW_BUFFER)?;
    }
    match socket.connect(&address.into()) {
        Err(e) if e.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(e),
        _ => Ok(TcpStream::from(socket)),
    }
}

/// The bytes of the request for a document.
pub(crate) fn request(size: u64, host: &str) -> String {
    let path = docroot::path(size);
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: overload\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )
}

/// A response while it comes in.
pub(crate) struct Response {
    size: u64,
    head: Vec<u8>,
    head_complete: bool,
    body: u64,
}

impl Response {
    /// A response whose body should be the document of `size`.
    pub(crate) fn expected(size: u64) -> Response {
        Response { size, head: Vec::new(), head_complete: false, body: 0 }
    }

    /// Take bytes in. `Some` says how the response has ended by them.
    pub(crate) fn take(&mut self, bytes: &[u8], pool: &[u8]) -> Option<Outcome> {
        let mut bytes = bytes;
        if !self.head_complete {
            // The end may lie across two reads, so look in all that came.
            let before = self.head.len();
            self.head.extend_from_slice(bytes);
            let end = find(&self.head, b"\r\n\r\n")?;
            self.head.truncate(end + 4);
            self.head_complete = true;
            bytes = &bytes[end + 4 - before..];
            if !is_ok(&self.head) || content_length(&self.head) != Some(self.size) {
                return Some(Outcome::Wrong);
            }
        }
        let from = self.body as usize;
        self.body += bytes.len() as u64;
        if self.body > self.size || pool[from..from + bytes.len()] != *bytes {
            return Some(Outcome::Wrong);
        }
        (self.body == self.size).then_some(Outcome::Ok)
    }

    /// Bytes of the head so far.
    pub(crate) fn head_len(&self) -> u64 {
        self.head.len() as u64
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

fn is_ok(head: &[u8]) -> bool {
    head.starts_with(b"HTTP/1.1 200 ")
}

fn content_length(head: &[u8]) -> Option<u64> {
    let head = std::str::from_utf8(head).ok()?;
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n";

    #[test]
    fn a_response_may_come_in_pieces() {
        let mut whole = HEAD.to_vec();
        whole.extend_from_slice(b"abcd");
        for cut in 1..whole.len() {
            let mut response = Response::expected(4);
            assert_eq!(response.take(&whole[..cut], b"abcdefgh"), None);
            let end = response.take(&whole[cut..], b"abcdefgh");
            assert_eq!(end, Some(Outcome::Ok), "cut at {cut}");
            assert_eq!(response.head_len(), HEAD.len() as u64);
        }
    }

    #[test]
    fn wrong_status_length_or_bytes_are_wrong() {
        let take = |size, text: &[u8]| Response::expected(size).take(text, b"abcdefgh");
        let missing = b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nabcd";
        assert_eq!(take(4, missing), Some(Outcome::Wrong));
        assert_eq!(take(5, HEAD), Some(Outcome::Wrong));
        let mut other = HEAD.to_vec();
        other.extend_from_slice(b"abXd");
        assert_eq!(take(4, &other), Some(Outcome::Wrong));
    }
}
