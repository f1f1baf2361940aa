//! Slow clients: thousands of connections, of which each does a bit of its work a second. One thread has all
//! of them, and spreads their bits over each second, so that no two come at once.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use socket2::{Domain, Socket, Type};
use weir_peers::{Error, Result, interrupt};
use weir_stand::address;
use weir_workload::arrivals::document_path;

use crate::connections::SIZE;
use crate::options::CrowdKind;
use crate::variant::UPLOAD;

/// Bytes of the file that slow readers read.
pub(super) const LARGE: u64 = 10_000_000;
/// Seconds from one bit of a client's work to its next.
const PERIOD: f64 = 1.0;
/// Between two looks who has its bit to do.
const LOOK: Duration = Duration::from_micros(200);
/// The longest that a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// A reader's buffer, set before it connects, so that it is offered little from the start.
const BUFFER: usize = 4096;
/// Bytes that a reader reads, and that an upload sends, a second. Servers must keep both: weir cuts those who
/// are slower than 100 bytes a second.
const READ: usize = 1024;
const SENT: usize = 200;
/// Bytes of an upload.
const BODY: u64 = 1_000_000;

/// How many there are of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Numbers {
    pub(super) heads: usize,
    pub(super) uploads: usize,
    pub(super) readers: usize,
}

impl Numbers {
    /// Those of one kind alone.
    pub(super) fn only(self, kind: CrowdKind) -> Numbers {
        let none = Numbers { heads: 0, uploads: 0, readers: 0 };
        match kind {
            CrowdKind::Heads => Numbers { heads: self.heads, ..none },
            CrowdKind::Uploads => Numbers { uploads: self.uploads, ..none },
            CrowdKind::Readers => Numbers { readers: self.readers, ..none },
            CrowdKind::All => self,
        }
    }

    /// All of them.
    pub(super) fn total(self) -> usize {
        self.heads + self.uploads + self.readers
    }

    /// As many as there is room for, each kind in proportion.
    pub(super) fn within(self, room: usize) -> Numbers {
        let total = self.total();
        if total <= room {
            return self;
        }
        let part = |count: usize| count * room / total;
        Numbers {
            heads: part(self.heads),
            uploads: part(self.uploads),
            readers: part(self.readers),
        }
    }
}

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// It sends a byte of a head.
    Head,
    /// It sends some bytes of a body that goes to a backend.
    Upload,
    /// It reads some bytes of a large file.
    Reader,
}

impl Manner {
    /// What it sends as soon as it is connected.
    fn beginning(self) -> String {
        match self {
            Manner::Head => {
                let path = document_path(None, SIZE);
                format!("GET {path} HTTP/1.1\r\nHost: slow\r\nX-Slow: ")
            }
            Manner::Upload => {
                format!("POST {UPLOAD} HTTP/1.1\r\nHost: slow\r\nContent-Length: {BODY}\r\n\r\n")
            }
            Manner::Reader => {
                format!("GET {} HTTP/1.1\r\nHost: slow\r\n\r\n", document_path(None, LARGE))
            }
        }
    }
}

/// One client.
struct Slow {
    manner: Manner,
    from: IpAddr,
    stream: TcpStream,
}

/// All clients of a server.
pub(super) struct Crowd {
    server: SocketAddrV4,
    clients: Vec<Slow>,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Pace {
    /// Clients that the server cut off, and that came again, a second.
    pub(super) cut: f64,
    /// Of the bits that should have been done, those that were: less than 1 on a busy processor.
    pub(super) kept: f64,
}

impl Crowd {
    /// Connect so many, from many addresses, since servers share their memory among those.
    ///
    /// # Errors
    ///
    /// When the server does not take a connection.
    pub(super) fn gather(server: SocketAddrV4, numbers: Numbers) -> Result<Crowd> {
        let manners = [
            (Manner::Head, numbers.heads),
            (Manner::Upload, numbers.uploads),
            (Manner::Reader, numbers.readers),
        ];
        let manners = manners.into_iter().flat_map(|(manner, count)| vec![manner; count]);
        let addresses = address::clients(0);
        let mut clients = Vec::with_capacity(numbers.total());
        for (manner, &from) in manners.zip(addresses.iter().cycle()) {
            interrupt::check()?;
            clients.push(Slow { manner, from, stream: connect(server, manner, from)? });
        }
        Ok(Crowd { server, clients })
    }

    /// Have all do their bits until `end` is set. Who is cut off comes again.
    ///
    /// # Errors
    ///
    /// When one cannot come again, or on Ctrl-C.
    pub(super) fn go_on(&mut self, end: &AtomicBool) -> Result<Pace> {
        let (count, begun) = (self.clients.len(), Instant::now());
        let due = || (begun.elapsed().as_secs_f64() / PERIOD * count as f64) as usize;
        let (mut done, mut cut) = (0, 0_u32);
        while !end.load(Ordering::Relaxed) {
            interrupt::check()?;
            while done < due() && !end.load(Ordering::Relaxed) {
                let client = &mut self.clients[done % count];
                if !client.does_its_bit() {
                    client.stream = connect(self.server, client.manner, client.from)?;
                    cut += 1;
                }
                done += 1;
            }
            std::thread::sleep(LOOK);
        }
        let seconds = begun.elapsed().as_secs_f64();
        let kept = if due() == 0 { 1.0 } else { done as f64 / due() as f64 };
        Ok(Pace { cut: f64::from(cut) / seconds.max(1e-9), kept })
    }
}

impl Slow {
    /// One bit of its work; false if the server has cut it off.
    fn does_its_bit(&mut self) -> bool {
        let done = match self.manner {
            Manner::Head => self.stream.write(b"x"),
            Manner::Upload => self.stream.write(&[b'y'; SENT]),
            Manner::Reader => self.stream.read(&mut [0; READ]),
        };
        match done {
            Ok(count) => count > 0,
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }
}

/// A connection on which the beginning of the request is sent.
fn connect(server: SocketAddrV4, manner: Manner, from: IpAddr) -> Result<TcpStream> {
    let connected = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        if manner == Manner::Reader {
            socket.set_recv_buffer_size(BUFFER)?;
        }
        socket.bind(&SocketAddr::new(from, 0).into())?;
        socket.connect_timeout(&SocketAddr::from(server).into(), CONNECT)?;
        let mut stream = TcpStream::from(socket);
        stream.write_all(manner.beginning().as_bytes())?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    };
    connected().map_err(|e: std::io::Error| {
        Error(format!("a slow client cannot connect from {from}: {e}"))
    })
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Shutdown, TcpListener};
    use std::sync::atomic::AtomicU32;
    use std::sync::mpsc::channel;

    use super::*;

    const NUMBERS: Numbers = Numbers { heads: 10_000, uploads: 4000, readers: 8000 };

    #[test]
    fn a_crowd_that_is_too_large_is_less_of_each_kind() {
        assert_eq!(NUMBERS.within(22_000), NUMBERS);
        let half = Numbers { heads: 5000, uploads: 2000, readers: 4000 };
        assert_eq!(NUMBERS.within(11_000), half);
        assert_eq!(NUMBERS.only(CrowdKind::Uploads).within(100).total(), 100);
        assert_eq!(NUMBERS.only(CrowdKind::All), NUMBERS);
    }

    /// Has a crowd go on until the server has seen what it wants to see. Connections stay open.
    fn run(numbers: Numbers, serve: impl Fn(&mut TcpStream) -> bool + Send + 'static) -> Pace {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let SocketAddr::V4(server) = listener.local_addr().expect("an address") else { panic!() };
        let (seen, is_seen) = channel();
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let is_enough = serve(&mut stream);
                open.push(stream);
                if is_enough && seen.send(()).is_err() {
                    return;
                }
            }
        });
        let mut crowd = Crowd::gather(server, numbers).expect("they connect");
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let pace = scope.spawn(|| crowd.go_on(&end));
            is_seen.recv().expect("the server sees it");
            end.store(true, Ordering::Relaxed);
            pace.join().expect("no panic").expect("it goes on")
        })
    }

    /// The next so many bytes, which are waited for.
    fn read(stream: &mut TcpStream, count: usize) -> String {
        let mut bytes = vec![0; count];
        stream.read_exact(&mut bytes).expect("it sends on");
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn a_head_and_an_upload_go_on_bit_by_bit() {
        let one = Numbers { heads: 1, uploads: 0, readers: 0 };
        let beginning = Manner::Head.beginning();
        let pace = run(one, move |stream| {
            assert_eq!(read(stream, beginning.len() + 2), format!("{beginning}xx"));
            true
        });
        assert_eq!(pace.cut, 0.0);
        let one = Numbers { heads: 0, uploads: 1, readers: 0 };
        let beginning = Manner::Upload.beginning();
        run(one, move |stream| {
            let text = read(stream, beginning.len() + SENT);
            text.starts_with(&beginning) && text.ends_with('y')
        });
    }

    #[test]
    fn a_reader_that_is_cut_off_comes_again() {
        let one = Numbers { heads: 0, uploads: 0, readers: 1 };
        let beginning = Manner::Reader.beginning();
        let times = AtomicU32::new(0);
        let pace = run(one, move |stream| {
            assert_eq!(read(stream, beginning.len()), beginning);
            let is_first = times.fetch_add(1, Ordering::Relaxed) == 0;
            if is_first {
                stream.shutdown(Shutdown::Both).expect("it is open");
            }
            !is_first
        });
        assert!(pace.cut > 0.0);
    }
}
