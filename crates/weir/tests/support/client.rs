//! A client of HTTP/1.1 over a plain socket: it sends what the test says and hides nothing.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use socket2::{Domain, SockRef, Socket, Type};

use super::DEADLINE;
use super::wire::{self, Source};

/// One connection.
#[derive(Debug)]
pub struct Client {
    pub stream: TcpStream,
    /// Read from the socket and not yet part of a response.
    buffer: Vec<u8>,
}

/// One response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// The head as it came, with its empty line.
    pub head: String,
    /// Without its coding.
    pub body: Vec<u8>,
    /// The lines after the last chunk, without the empty one.
    pub trailers: String,
}

impl Response {
    /// The value of a field that comes once, or none.
    pub fn field(&self, name: &str) -> Option<&str> {
        let values = self.fields(name);
        assert!(values.len() < 2, "{name} came twice in {}", self.head);
        values.first().copied()
    }

    /// The values of a field, in their order.
    pub fn fields(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let named = lines.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value).collect()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    pub fn connect(to: SocketAddr) -> Client {
        Client::over(TcpStream::connect_timeout(&to, DEADLINE).expect("the server accepts"))
    }

    /// A client with an address of its own, such as 127.0.0.2.
    pub fn connect_from(from: IpAddr, to: SocketAddr) -> Client {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::new(from, 0).into()).expect("loopback has this address");
        socket.connect_timeout(&to.into(), DEADLINE).expect("the server accepts");
        Client::over(socket.into())
    }

    /// A client whose kernel takes little that is not read.
    pub fn with_small_buffer(to: SocketAddr) -> Client {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a receive buffer");
        socket.connect_timeout(&to.into(), DEADLINE).expect("the server accepts");
        Client::over(socket.into())
    }

    /// The same with an address of its own.
    pub fn with_small_buffer_from(from: IpAddr, to: SocketAddr) -> Client {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a receive buffer");
        socket.bind(&SocketAddr::new(from, 0).into()).expect("loopback has this address");
        socket.connect_timeout(&to.into(), DEADLINE).expect("the server accepts");
        Client::over(socket.into())
    }

    /// A client with a small buffer, and small segments, for which the server's kernel has little room, too.
    pub fn with_small_segments(to: SocketAddr) -> Client {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a receive buffer");
        socket.set_tcp_mss(536).expect("TCP_MAXSEG");
        socket.connect_timeout(&to.into(), DEADLINE).expect("the server accepts");
        Client::over(socket.into())
    }

    fn over(stream: TcpStream) -> Client {
        stream.set_nodelay(true).expect("TCP_NODELAY");
        stream.set_read_timeout(Some(DEADLINE)).expect("a read time-out");
        stream.set_write_timeout(Some(DEADLINE)).expect("a write time-out");
        Client { stream, buffer: Vec::new() }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).expect("the server takes the request");
    }

    /// The server may have closed already.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Asks for `path` and does not wait.
    pub fn ask(&mut self, path: &str) {
        self.ask_with(path, "");
    }

    /// The same with more lines of the head, each with its CRLF.
    pub fn ask_with(&mut self, path: &str, fields: &str) {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: weir\r\n{fields}\r\n"));
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.ask(path);
        self.response()
    }

    pub fn get_with(&mut self, path: &str, fields: &str) -> Response {
        self.ask_with(path, fields);
        self.response()
    }

    /// Reads one response to GET.
    pub fn response(&mut self) -> Response {
        self.try_response().expect("a whole response")
    }

    pub fn try_response(&mut self) -> io::Result<Response> {
        let start = Instant::now();
        let mut response = self.try_head()?;
        if let Some(coding) = response.field("Transfer-Encoding") {
            assert_eq!((coding, response.field("Content-Length")), ("chunked", None));
            let wire::Body { data, trailers } = wire::chunked(self)?;
            return Ok(Response { body: data, trailers, ..response });
        }
        let length = response
            .field("Content-Length")
            .map_or(0, |text| text.parse().expect("Content-Length is a number"));
        while self.buffer.len() < length {
            self.fill(start)?;
        }
        response.body = self.buffer.drain(..length).collect();
        Ok(response)
    }

    /// Reads the head of a response and nothing behind it.
    pub fn head(&mut self) -> Response {
        self.try_head().expect("the head of a response")
    }

    fn try_head(&mut self) -> io::Result<Response> {
        let start = Instant::now();
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            self.fill(start)?;
        };
        let head = String::from_utf8(self.buffer.drain(..end).collect()).expect("a head in ASCII");
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        let status = status.and_then(|digits| digits.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status line: {head}")))?;
        Ok(Response { status, head, body: Vec::new(), trailers: String::new() })
    }

    /// Reads some bytes for what began at `start` and must not take for ever, however steadily.
    fn fill(&mut self, start: Instant) -> io::Result<()> {
        let mut bytes = [0; 16 * 1024];
        if start.elapsed() > DEADLINE {
            return Err(io::Error::other("the server sends too slowly"));
        }
        match self.stream.read(&mut bytes)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.buffer.extend_from_slice(&bytes[..count]);
                Ok(())
            }
        }
    }

    /// Whether something has come, or the server has closed.
    pub fn has_answer(&self) -> bool {
        self.stream.set_nonblocking(true).expect("a socket that does not wait");
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false).expect("a socket that waits");
        !self.buffer.is_empty() || !peeked.is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock)
    }

    /// Reads until the server closes; a reset counts as closing.
    pub fn rest(&mut self) -> Vec<u8> {
        let start = Instant::now();
        let error = loop {
            if let Err(error) = self.fill(start) {
                break error;
            }
        };
        let ends = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
        let count = self.buffer.len();
        assert!(ends.contains(&error.kind()), "{error}: no end after {count} bytes");
        std::mem::take(&mut self.buffer)
    }

    /// Fails unless the server has closed, or closes soon, without another byte.
    pub fn assert_closed(&mut self) {
        let rest = self.rest();
        assert!(rest.is_empty(), "more came: {}", String::from_utf8_lossy(&rest));
    }

    /// Reads exactly so many bytes.
    pub fn read(&mut self, count: usize) -> Vec<u8> {
        let start = Instant::now();
        while self.buffer.len() < count {
            self.fill(start).expect("the server sends more");
        }
        self.buffer.drain(..count).collect()
    }

    /// Reads the rest of a response in chunks, of which only the head has been read.
    pub fn rest_of_chunks(&mut self) -> Vec<u8> {
        wire::chunked(self).expect("a whole body").data
    }

    /// The client has sent all; it still reads.
    pub fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).expect("the connection is open");
    }

    /// Reads until the server closes; fails if it does not end the connection with a reset.
    pub fn assert_reset(&mut self) {
        let start = Instant::now();
        let error = loop {
            if let Err(error) = self.fill(start) {
                break error;
            }
        };
        let count = self.buffer.len();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error} after {count} bytes");
    }

    /// Ends the connection with a reset.
    pub fn reset(self) {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).expect("SO_LINGER");
    }
}

impl Source for Client {
    fn until(&mut self, end: &[u8]) -> io::Result<Vec<u8>> {
        let start = Instant::now();
        loop {
            if let Some(found) = self.buffer.windows(end.len()).position(|bytes| bytes == end) {
                return Ok(self.buffer.drain(..found + end.len()).collect());
            }
            self.fill(start)?;
        }
    }

    fn exactly(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let start = Instant::now();
        while self.buffer.len() < count {
            self.fill(start)?;
        }
        Ok(self.buffer.drain(..count).collect())
    }
}

/// The answer to a request on a new connection. One that was closed before the request had come is
/// made again, as browsers do: this process may be held up between the two.
pub fn get_anew(to: SocketAddr, path: &str) -> Response {
    let ask = |_| {
        let mut client = Client::connect(to);
        client.try_send(format!("GET {path} HTTP/1.1\r\nHost: weir\r\n\r\n")).ok()?;
        client.try_response().ok()
    };
    (0..100).find_map(ask).expect("an answer for somebody new")
}
