//! One connection of the client: a request goes out, its response is checked and
//! thrown away. Knows no clock and not why the request is made.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, recv, send,
    socket_with, sockopt,
};

use crate::response;
use crate::set::Target;

/// The connection ended before the response did.
pub(crate) const CUT_OFF: &str = "cut off";
const PIECE: usize = 4096;

/// How far a request is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Waiting,
    /// The response came whole; whether the connection stays.
    Done {
        keeps: bool,
    },
    Failed(&'static str),
}

pub(crate) struct Connection {
    socket: OwnedFd,
    sent: bool,
    /// An incomplete head; rarely used, heads come in one piece.
    start: Vec<u8>,
    body: Option<Body>,
}

struct Body {
    seen: u64,
    length: u64,
    keeps: bool,
}

impl Connection {
    /// Begin to connect; the request may be sent at once and waits if it must.
    pub(crate) fn open(server: SocketAddrV4, from: Option<Ipv4Addr>) -> Result<Connection, Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        if let Some(from) = from {
            bind(&socket, &SocketAddrV4::new(from, 0))?;
        }
        match connect(&socket, &server) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        Ok(Connection { socket, sent: false, start: Vec::new(), body: None })
    }

    /// Whether the request is on its way.
    pub(crate) fn sent(&self) -> bool {
        self.sent
    }

    /// Send a request; to be called again while it waits for the connection.
    pub(crate) fn send(&mut self, request: &[u8]) -> Progress {
        match send(&self.socket, request, SendFlags::NOSIGNAL) {
            Ok(sent) if sent == request.len() => self.sent = true,
            Ok(_) => return Progress::Failed("request sent in part"),
            Err(Errno::AGAIN | Errno::NOTCONN) => {}
            Err(Errno::CONNREFUSED) => return Progress::Failed("connection refused"),
            Err(_) => return Progress::Failed(CUT_OFF),
        }
        Progress::Waiting
    }

    /// Take what came of the response. Events are edges: a short read has
    /// emptied the socket, and the next arrival is a new event.
    pub(crate) fn receive(&mut self, target: &Target, scratch: &mut [u8]) -> Progress {
        loop {
            let (most, flags) = match &self.body {
                // The first bytes are looked at; the rest the kernel may discard.
                Some(body) if body.seen >= target.tag.len() as u64 => {
                    let left = body.length - body.seen;
                    (left.min(scratch.len() as u64) as usize, RecvFlags::TRUNC)
                }
                _ => (PIECE, RecvFlags::empty()),
            };
            let got = match recv(&self.socket, &mut scratch[..most], flags) {
                Ok((_, 0)) => return Progress::Failed(CUT_OFF),
                Ok((_, got)) => got,
                Err(Errno::AGAIN) => return Progress::Waiting,
                Err(Errno::INTR) => continue,
                Err(_) => return Progress::Failed(CUT_OFF),
            };
            let plain = flags.is_empty();
            if let Err(why) = self.take(target, &scratch[..got], plain) {
                return Progress::Failed(why);
            }
            if let Some(body) = &self.body
                && body.seen == body.length
            {
                let keeps = body.keeps;
                (self.sent, self.body) = (false, None);
                return Progress::Done { keeps };
            }
            if got < most {
                return Progress::Waiting;
            }
        }
    }

    fn take(&mut self, target: &Target, bytes: &[u8], plain: bool) -> Result<(), &'static str> {
        let Some(body) = &mut self.body else {
            let joined;
            let bytes = if self.start.is_empty() {
                bytes
            } else {
                self.start.extend_from_slice(bytes);
                joined = std::mem::take(&mut self.start);
                &joined
            };
            let Some(head) = response::parse(bytes)? else {
                self.start = bytes.to_vec();
                return Ok(());
            };
            match head.status {
                200 => {}
                _ => return Err("status other than 200"),
            }
            if head.length != target.length {
                return Err("wrong length");
            }
            let body = Body { seen: 0, length: head.length, keeps: head.keeps };
            self.body = Some(body);
            return self.take(target, &bytes[head.bytes..], true);
        };
        let end = body.seen + bytes.len() as u64;
        if end > body.length {
            return Err("more bytes than announced");
        }
        let tag = target.tag.get(body.seen as usize..).unwrap_or_default();
        if plain && tag.iter().zip(bytes).any(|(is, should)| is != should) {
            return Err("wrong content");
        }
        body.seen = end;
        Ok(())
    }

    /// Whether an idle connection is still good after an event on it.
    pub(crate) fn quiet(&self) -> bool {
        let mut byte = [0];
        recv(&self.socket, &mut byte[..], RecvFlags::PEEK) == Err(Errno::AGAIN)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};

    /// What a client makes of these bytes, sent in pieces, the end after them.
    fn answer(pieces: &[&[u8]]) -> Progress {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!() };
        let mut connection = Connection::open(address, None).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        while !connection.sent {
            assert_eq!(connection.send(b"GET"), Progress::Waiting);
        }
        peer.read_exact(&mut [0; 3]).unwrap();
        let target =
            Target { path: "/x".into(), length: 20, tag: *b"0123456789abcdef", hot: false };
        let mut scratch = vec![0; 1 << 16];
        for piece in pieces {
            peer.write_all(piece).unwrap();
            let mut progress = Progress::Waiting;
            // Until the piece is there and taken.
            while progress == Progress::Waiting && connection.quiet() {}
            while progress == Progress::Waiting && !connection.quiet() {
                progress = connection.receive(&target, &mut scratch);
            }
            if progress != Progress::Waiting {
                return progress;
            }
        }
        drop(peer);
        while connection.quiet() {}
        connection.receive(&target, &mut scratch)
    }

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n";

    #[test]
    fn a_response_in_any_pieces_is_taken() {
        let whole = [HEAD, b"0123456789abcdefghij"].concat();
        for cut in 1..whole.len() {
            let (a, b) = whole.split_at(cut);
            assert_eq!(answer(&[a, b]), Progress::Done { keeps: true }, "cut at {cut}");
        }
    }

    #[test]
    fn wrong_responses_are_told_apart() {
        let failed = |why| Progress::Failed(why);
        assert_eq!(answer(&[HEAD, b"0123456789abcdEfghij"]), failed("wrong content"));
        assert_eq!(answer(&[HEAD, b"0123456789abcdefghi"]), failed(CUT_OFF));
        assert_eq!(answer(&[HEAD, b"0123456789abcdefghijk"]), failed("more bytes than announced"));
        let short = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n01";
        assert_eq!(answer(&[short]), failed("wrong length"));
        let missing = b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n01";
        assert_eq!(answer(&[missing]), failed("status other than 200"));
    }
}
