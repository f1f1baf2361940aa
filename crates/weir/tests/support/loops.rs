//! Clients that ask on and on, all at an address of their own, beside one download: for the test and
//! the benchmark of who gets what of the uplink.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Client, noise};

/// Where those who ask on and on come from.
const THEIR_ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 9));

/// Bytes of one range.
const RANGE: u64 = 16_384;

/// Bytes of the file that ranges are of.
const RANGED: u64 = 4_000_000;

/// Bytes of each of the files.
const FILE: usize = 300_000;

/// Requests that are on their way at once on a connection with HEADs.
const AHEAD: usize = 50;

/// How somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Ranges of one file, one after the other on one connection.
    Ranges,
    /// The same, each on a new connection.
    RangesAnew,
    /// HEADs, many ahead, on each connection.
    Heads,
    /// Whole files, each on a new connection.
    Files,
    /// [`Again::Ranges`]; before that, 100 requests for 1 GB were made and left.
    RangesAfterLeaving,
}

impl Again {
    /// Connections at once.
    pub fn connections(self) -> usize {
        match self {
            Again::Ranges | Again::RangesAnew | Again::RangesAfterLeaving => 1,
            Again::Heads => 5,
            Again::Files => 10,
        }
    }
}

/// Writes what is asked for: `victim` of `download` bytes and the files of the others.
pub fn write_site(directory: &Path, download: usize) {
    let write = |name: &str, bytes: usize| {
        std::fs::write(directory.join(name), noise(bytes as u64, bytes)).expect("a file");
    };
    write("victim", download);
    write("ranged", RANGED as usize);
    write("head", 1000);
    for number in 0..Again::Files.connections() {
        write(&format!("file{number}"), FILE);
    }
    let large = File::create(directory.join("large")).expect("a file");
    large.set_len(1_000_000_000).expect("a sparse file");
}

/// Those who ask on and on, until they are dropped.
#[derive(Debug)]
pub struct Loops {
    ended: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Loops {
    /// They have had their first bytes when this returns.
    pub fn begin(server: SocketAddr, again: Again) -> Loops {
        if again == Again::RangesAfterLeaving {
            ask_much_and_leave(server);
        }
        let (ended, received) = <(Arc<AtomicBool>, Arc<AtomicU64>)>::default();
        let threads = (0..again.connections()).map(|number| {
            let (ended, received) = (ended.clone(), received.clone());
            std::thread::spawn(move || ask_on(server, again, number, &ended, &received))
        });
        let loops = Loops { threads: threads.collect(), ended, received };
        super::eventually("those who ask on and on get something", || loops.received() > 0);
        loops
    }

    /// Bytes that all of them have had.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that failed has said so.
            let _ = thread.join();
        }
    }
}

/// What became of the download.
#[derive(Clone, Copy, Debug)]
pub struct Download {
    /// Bytes of its response; what had come when its time was up.
    pub received: u64,
    pub took: Duration,
    pub whole: bool,
}

/// Downloads `victim` from another address, for at most `longest`.
pub fn download(server: SocketAddr, longest: Duration) -> Download {
    let mut client = Client::connect(server);
    let asked = Instant::now();
    client.ask_with("/victim", "Connection: close\r\n");
    client.stream.set_read_timeout(Some(Duration::from_millis(100))).expect("a time-out");
    let (mut received, mut buffer) = (0, vec![0; 65_536]);
    while asked.elapsed() < longest {
        match client.stream.read(&mut buffer) {
            Ok(0) => return Download { received, took: asked.elapsed(), whole: true },
            Ok(count) => received += count as u64,
            Err(error) => assert!(is_a_pause(&error), "the download broke off: {error}"),
        }
    }
    Download { received, took: asked.elapsed(), whole: false }
}

fn is_a_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn ask_much_and_leave(server: SocketAddr) {
    let clients: Vec<Client> = (0..100)
        .map(|_| {
            let mut client = Client::connect_from(THEIR_ADDRESS, server);
            client.ask("/large");
            client
        })
        .collect();
    for mut client in clients {
        let mut first = [0];
        // Most will have had nothing: they leave as soon as they have asked.
        client.stream.set_nonblocking(true).expect("a socket that does not wait");
        let _ = client.stream.read(&mut first);
    }
}

fn ask_on(
    server: SocketAddr,
    again: Again,
    number: usize,
    ended: &AtomicBool,
    received: &AtomicU64,
) {
    let connect = || Client::connect_from(THEIR_ADDRESS, server).stream;
    let mut stream = connect();
    let mut from = 0;
    while !ended.load(Ordering::Relaxed) {
        let request = match again {
            Again::Heads => "HEAD /head HTTP/1.1\r\nHost: x\r\n\r\n".repeat(AHEAD),
            Again::Files => {
                format!("GET /file{number} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            }
            Again::Ranges | Again::RangesAnew | Again::RangesAfterLeaving => {
                from = (from + RANGE) % (RANGED - RANGE);
                let (to, close) = (from + RANGE - 1, again == Again::RangesAnew);
                let connection = if close { "close" } else { "keep-alive" };
                format!(
                    "GET /ranged HTTP/1.1\r\nHost: x\r\nRange: bytes={from}-{to}\r\n\
                     Connection: {connection}\r\n\r\n"
                )
            }
        };
        let answered =
            io::Write::write_all(&mut stream, request.as_bytes()).and_then(|()| match again {
                Again::Heads => {
                    read_heads(&mut stream, &request[..request.len() / AHEAD], ended, received)
                }
                Again::Files | Again::RangesAnew => read_to_the_end(&mut stream, ended, received),
                Again::Ranges | Again::RangesAfterLeaving => {
                    read_a_range(&mut stream, ended, received)
                }
            });
        if answered.is_err() || matches!(again, Again::Files | Again::RangesAnew) {
            stream = connect();
        }
    }
}

/// Reads something; 0 at the end of the connection or of the test.
fn read_some(
    stream: &mut TcpStream,
    buffer: &mut [u8],
    ended: &AtomicBool,
    received: &AtomicU64,
) -> io::Result<usize> {
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    while !ended.load(Ordering::Relaxed) {
        match stream.read(buffer) {
            Ok(count) => {
                received.fetch_add(count as u64, Ordering::Relaxed);
                return Ok(count);
            }
            Err(error) if is_a_pause(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(0)
}

fn read_to_the_end(
    stream: &mut TcpStream,
    ended: &AtomicBool,
    received: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = vec![0; 65_536];
    while read_some(stream, &mut buffer, ended, received)? > 0 {}
    Ok(())
}

fn read_a_range(
    stream: &mut TcpStream,
    ended: &AtomicBool,
    received: &AtomicU64,
) -> io::Result<()> {
    let (mut answer, mut buffer) = (Vec::new(), vec![0; 65_536]);
    loop {
        let count = read_some(stream, &mut buffer, ended, received)?;
        answer.extend_from_slice(&buffer[..count]);
        let head = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let whole = head.is_some_and(|head| answer.len() as u64 >= head as u64 + 4 + RANGE);
        if count == 0 || whole {
            return Ok(());
        }
    }
}

/// For each head that came, asks another, until the end.
fn read_heads(
    stream: &mut TcpStream,
    request: &str,
    ended: &AtomicBool,
    received: &AtomicU64,
) -> io::Result<()> {
    let (mut unread, mut buffer) = (Vec::new(), vec![0; 65_536]);
    loop {
        let count = read_some(stream, &mut buffer, ended, received)?;
        if count == 0 {
            return Ok(());
        }
        unread.extend_from_slice(&buffer[..count]);
        let mut heads = 0;
        while let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            unread.drain(..end + 4);
            heads += 1;
        }
        io::Write::write_all(stream, request.repeat(heads).as_bytes())?;
    }
}
