//! The queue and the exclusive server: one request after the other, each for exactly its service
//! time. The connections put requests into it.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, mpsc};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use tokio::net::TcpStream;

use super::request::WorkRequest;
use crate::backend::clock;
use crate::backend::service::{BODY, Service};
use crate::backend::service_log::ServedRequest;

/// A request in the queue.
pub(super) struct QueuedRequest {
    pub(super) stream: Arc<TcpStream>,
    pub(super) request: WorkRequest,
    /// When it was read, in nanoseconds.
    pub(super) arrived: u64,
}

/// The server.
pub(super) struct Queue {
    service: Service,
    checks: bool,
    log: File,
}

impl Queue {
    pub(super) fn new(service: Service, checks: bool, log: File) -> Queue {
        Queue { service, checks, log }
    }

    /// Answer everybody, in turn, until nobody can come any more.
    ///
    /// # Errors
    ///
    /// When the log cannot be written.
    pub(super) fn run(mut self, queue: &mpsc::Receiver<QueuedRequest>) -> io::Result<()> {
        // On a clock of its own: a wake-up that comes late delays one answer, and no others.
        let mut free = 0;
        for waiting in queue {
            free = self.answer(&waiting, free)?;
        }
        Ok(())
    }

    /// Answer one; when the server is free again, after it was at `free`.
    fn answer(&mut self, waiting: &QueuedRequest, free: u64) -> io::Result<u64> {
        let QueuedRequest { stream, request, arrived } = waiting;
        if self.checks && has_left(stream) {
            return Ok(free);
        }
        let Some(bytes) = request.bytes else {
            send(stream, &head("404 Not Found", 0, request.close));
            return Ok(free);
        };
        let begin = free.max(*arrived);
        let service = self.service.of(bytes);
        let end = begin + service;
        clock::sleep_until(end);
        let mut answer = head("200 OK", BODY.len(), request.close);
        answer.extend_from_slice(&BODY);
        send(stream, &answer);
        let late = clock::now().saturating_sub(end);
        let served = ServedRequest { id: request.id, begin, service, late };
        // In one piece, so that whoever reads it now has whole lines.
        self.log.write_all(format!("{served}\n").as_bytes())?;
        Ok(end)
    }
}

/// No cache in between may answer in the application's place.
fn head(status: &str, length: usize, close: bool) -> Vec<u8> {
    let close = if close { "Connection: close\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/octet-stream\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\n{close}\r\n"
    )
    .into_bytes()
}

/// Send to whoever is there; nobody may be.
fn send(stream: &TcpStream, bytes: &[u8]) {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    if rustix::net::send(stream, bytes, flags) != Ok(bytes.len()) {
        let _ = rustix::net::shutdown(stream, Shutdown::Both);
    }
}

/// Whether the client has closed its side (Carter 1999, section 2, method 1).
fn has_left(stream: &TcpStream) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    match rustix::net::recv(stream, &mut [0_u8; 1], flags) {
        Ok((_, count)) => count == 0,
        Err(Errno::AGAIN | Errno::INTR) => false,
        Err(_) => true,
    }
}
