//! Messages on a connection, read strictly: whatever two readers could understand differently is an
//! error, so that a test sees it.

use std::io::{self, Read, Write};
use std::time::Duration;

use socket2::Socket;

use super::DEADLINE;

/// What carries the bytes of a connection: a socket, or something over one, such as TLS.
pub trait Carrier: Read + Write + std::fmt::Debug + Send {
    /// The socket below.
    fn socket(&self) -> &Socket;

    /// Says that nothing follows, if it can say so apart from closing the socket.
    fn end(&mut self) {}
}

impl Carrier for Socket {
    fn socket(&self) -> &Socket {
        self
    }
}

/// The other side has ended the connection as it should.
#[derive(Debug)]
pub struct Ended;

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection has ended")
    }
}

impl std::error::Error for Ended {}

/// One end of a connection.
#[derive(Debug)]
pub struct Wire {
    pub carrier: Box<dyn Carrier>,
    /// Read from the socket and not yet part of a message.
    buffer: Vec<u8>,
}

/// The body of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// Without its coding.
    pub data: Vec<u8>,
    /// The lines after the last chunk, without the empty one.
    pub trailers: String,
}

impl Wire {
    pub fn new(carrier: impl Carrier + 'static) -> Wire {
        let socket = carrier.socket();
        // A connection that was kept may be idle for as long as a test takes.
        let _ = socket.set_read_timeout(Some(4 * DEADLINE));
        let _ = socket.set_write_timeout(Some(DEADLINE));
        let _ = socket.set_tcp_nodelay(true);
        Wire { carrier: Box::new(carrier), buffer: Vec::new() }
    }

    /// Reads some bytes; an error at the end.
    pub fn fill(&mut self) -> io::Result<()> {
        let mut bytes = [0; 16 * 1024];
        match self.carrier.read(&mut bytes)? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, Ended)),
            count => {
                self.buffer.extend_from_slice(&bytes[..count]);
                Ok(())
            }
        }
    }

    /// What comes next, as it comes; `None` at the end.
    pub fn some_bytes(&mut self) -> Option<Vec<u8>> {
        if self.buffer.is_empty() {
            self.fill().ok()?;
        }
        Some(std::mem::take(&mut self.buffer))
    }

    /// Reads a head with its empty line.
    pub fn head(&mut self) -> io::Result<String> {
        let text = self.until(b"\r\n\r\n")?;
        String::from_utf8(text).map_err(io::Error::other)
    }

    /// Reads the body that `head` announces.
    pub fn body(&mut self, head: &str) -> io::Result<Body> {
        let values = |name: &str| -> Vec<String> {
            let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
            let named = lines.filter(|(field, _)| field.eq_ignore_ascii_case(name));
            named.map(|(_, value)| value.trim().to_ascii_lowercase()).collect()
        };
        let (lengths, codings) = (values("Content-Length"), values("Transfer-Encoding"));
        match (&lengths[..], &codings[..]) {
            ([], []) => Ok(Body::default()),
            ([length], []) => {
                let length = length.parse().map_err(io::Error::other)?;
                Ok(Body { data: self.exactly(length)?, trailers: String::new() })
            }
            ([], [coding]) if coding == "chunked" => chunked(self),
            _ => Err(io::Error::other(format!("no clear length: {head}"))),
        }
    }

    /// Ends the connection with a reset.
    pub fn reset(self) {
        let _ = self.carrier.socket().set_linger(Some(Duration::ZERO));
    }
}

/// Where bytes of messages come from.
pub trait Source {
    /// Reads up to and with `end`.
    fn until(&mut self, end: &[u8]) -> io::Result<Vec<u8>>;

    fn exactly(&mut self, count: usize) -> io::Result<Vec<u8>>;
}

impl Source for Wire {
    fn until(&mut self, end: &[u8]) -> io::Result<Vec<u8>> {
        loop {
            if let Some(found) = self.buffer.windows(end.len()).position(|bytes| bytes == end) {
                return Ok(self.buffer.drain(..found + end.len()).collect());
            }
            self.fill()?;
        }
    }

    fn exactly(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < count {
            self.fill()?;
        }
        Ok(self.buffer.drain(..count).collect())
    }
}

/// Reads a chunked body to its end.
pub fn chunked(source: &mut impl Source) -> io::Result<Body> {
    let mut body = Body::default();
    loop {
        let size = line(source)?;
        let size = usize::from_str_radix(size.trim_end_matches("\r\n"), 16);
        match size.map_err(io::Error::other)? {
            0 => break,
            size => body.data.extend(source.exactly(size)?),
        }
        if source.exactly(2)? != b"\r\n" {
            return Err(io::Error::other("a chunk is longer than it says"));
        }
    }
    loop {
        match line(source)? {
            empty if empty == "\r\n" => return Ok(body),
            field => body.trailers += &field,
        }
    }
}

fn line(source: &mut impl Source) -> io::Result<String> {
    String::from_utf8(source.until(b"\r\n")?).map_err(io::Error::other)
}
