//! Reads request heads from a connection into its buffer. It does not know what they say.

use std::future::Future;
use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::metrics::note_event;

/// Room that is made for a read; an ordinary head fits several times.
const ROOM: usize = 4096;

/// How a wait for more of a request ended.
#[derive(Debug)]
pub(crate) enum Read {
    More,
    /// The client will send nothing more, or the connection broke.
    End,
    TimedOut,
    /// The server is stopping.
    Stopped,
}

/// Waits for more bytes and appends them.
pub(crate) async fn more(
    stream: &TcpStream,
    buffer: &mut Vec<u8>,
    wait: Duration,
    stop: impl Future<Output = ()>,
) -> Read {
    // Readiness may have been cleared while the last response was sent.
    match receive(stream, buffer) {
        Err(Errno::AGAIN) => {}
        done => return ended(done),
    }
    let arrival = async {
        loop {
            stream.readable().await?;
            note_event();
            match stream.try_io(Interest::READABLE, || Ok(receive(stream, buffer)?)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    };
    tokio::select! {
        biased;
        read = timeout(wait, arrival) => match read {
            Ok(Ok(count)) if count > 0 => Read::More,
            Ok(_) => Read::End,
            Err(_) => Read::TimedOut,
        },
        () = stop => Read::Stopped,
    }
}

/// Reads and discards until the client closes.
pub(crate) async fn drain(stream: &TcpStream) {
    let mut waste = Vec::new();
    while stream.readable().await.is_ok() {
        waste.clear();
        match stream.try_io(Interest::READABLE, || Ok(receive(stream, &mut waste)?)) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

fn receive(stream: &TcpStream, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
    let start = buffer.len();
    buffer.resize(start + ROOM, 0);
    let received = loop {
        match recv(stream, &mut buffer[start..], RecvFlags::DONTWAIT) {
            Err(Errno::INTR) => {}
            done => break done,
        }
    };
    let count = received.map(|(count, _)| count);
    buffer.truncate(start + count.unwrap_or(0));
    count
}

fn ended(read: Result<usize, Errno>) -> Read {
    match read {
        Ok(count) if count > 0 => Read::More,
        _ => Read::End,
    }
}
