//! Sends a response: as fast as the kernel takes it, or grant by grant over the uplink. It does not
//! know which response goes next.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::content::ReadError;
use crate::metrics::note_event;
use crate::presence::{self, Left};
use crate::response::Response;
use crate::uplink::Flow;

/// Bytes handed to the kernel at once when nothing is paced.
const CHUNK: u64 = 128 * 1024;

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Complete,
    /// The client left, or took nothing for the time-out.
    ClientLeft,
    /// The content could not be read to its end; the connection must be closed.
    ContentFailed,
}

/// A response on its way.
#[derive(Debug)]
pub(crate) struct Sending<'a> {
    stream: &'a TcpStream,
    response: &'a Response,
    patience: Duration,
    sent: u64,
}

impl<'a> Sending<'a> {
    /// `patience`: how long the client may take nothing.
    pub(crate) fn new(stream: &'a TcpStream, response: &'a Response, patience: Duration) -> Self {
        Sending { stream, response, patience, sent: 0 }
    }

    /// Bytes the kernel has taken.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    fn left(&self) -> u64 {
        self.response.length() - self.sent
    }

    /// Sends without a gate.
    pub(crate) async fn directly(&mut self, scratch: &RefCell<Vec<u8>>) -> Outcome {
        while self.left() > 0 {
            let more = self.left() > CHUNK || self.response.close;
            match self.push(CHUNK, more, scratch).await {
                Ok(0) => {
                    if !self.until_writable().await {
                        return Outcome::ClientLeft;
                    }
                }
                Ok(_) => {}
                Err(outcome) => return outcome,
            }
        }
        Outcome::Complete
    }

    /// Sends what the gate grants, when it grants it.
    pub(crate) async fn over(&mut self, flow: &mut Flow, scratch: &RefCell<Vec<u8>>) -> Outcome {
        if flow.take_if_free(self.left()) {
            match self.push(self.left(), self.response.close, scratch).await {
                Ok(_) if self.left() == 0 => {
                    flow.sent_at_once(self.sent);
                    return Outcome::Complete;
                }
                Ok(_) => {}
                Err(outcome) => return outcome,
            }
        }
        flow.arrive(self.left(), self.response.range_of);
        let outcome = self.as_granted(flow, scratch).await;
        flow.leave(self.stream, outcome == Outcome::Complete);
        outcome
    }

    async fn as_granted(&mut self, flow: &mut Flow, scratch: &RefCell<Vec<u8>>) -> Outcome {
        let mut half_closed = false;
        while self.left() > 0 {
            let grant = tokio::select! {
                biased;
                grant = flow.granted() => grant,
                left = presence::left(self.stream), if !half_closed => {
                    if left == Left::Gone {
                        return Outcome::ClientLeft;
                    }
                    half_closed = true;
                    flow.probe();
                    continue;
                }
                () = presence::reset(self.stream), if half_closed => return Outcome::ClientLeft,
            };
            let last = grant.bytes >= self.left();
            let more = if last { self.response.close } else { grant.more };
            match self.push(grant.bytes, more, scratch).await {
                Ok(sent) => {
                    let blocked = sent < grant.bytes && self.left() > 0;
                    flow.used(&grant, sent, blocked);
                    flow.look(self.stream);
                    if blocked {
                        flow.charge_extra(self.stream);
                        if !self.until_writable().await {
                            return Outcome::ClientLeft;
                        }
                        flow.ready();
                    }
                }
                Err(outcome) => {
                    flow.used(&grant, 0, false);
                    return outcome;
                }
            }
        }
        Outcome::Complete
    }

    /// Hands up to `count` bytes to the kernel; returns how many it took. `more`: the kernel keeps
    /// what does not fill a segment for what follows, be it only the end of the connection: a FIN
    /// of its own would cost the uplink a packet.
    async fn push(
        &mut self,
        count: u64,
        more: bool,
        scratch: &RefCell<Vec<u8>>,
    ) -> Result<u64, Outcome> {
        let count = count.min(self.left());
        let resident = {
            let mut bytes = scratch.borrow_mut();
            bytes.clear();
            match self.take(count, &mut bytes) {
                Ok(()) => Some(self.write(&bytes, count, more)?),
                Err(ReadError::Cold) => None,
                Err(ReadError::Failed(error)) => return Err(content_failed(&error)),
            }
        };
        match resident {
            Some(sent) => Ok(sent),
            None => {
                let bytes = self.take_cold(count).await.map_err(|error| content_failed(&error))?;
                self.write(&bytes, count, more)
            }
        }
    }

    /// The next `count` bytes of the response, if they are in memory.
    fn take(&self, count: u64, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let (body_at, body_count) = self.take_head(count, out);
        if body_count == 0 {
            return Ok(());
        }
        self.response.body.read(body_at, body_count as usize, out)
    }

    async fn take_cold(&self, count: u64) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        let (body_at, body_count) = self.take_head(count, &mut out);
        out.extend(self.response.body.read_cold(body_at, body_count as usize).await?);
        Ok(out)
    }

    /// Appends what of the next `count` bytes is head; returns where in the object the rest is, and
    /// how much.
    fn take_head(&self, count: u64, out: &mut Vec<u8>) -> (u64, u64) {
        let head = &self.response.head;
        let head_sent = self.sent.min(head.len() as u64) as usize;
        let from_head = (head.len() - head_sent).min(count as usize);
        out.extend_from_slice(&head[head_sent..head_sent + from_head]);
        let body_sent = self.sent.saturating_sub(head.len() as u64);
        (self.response.body_at + body_sent, count - from_head as u64)
    }

    fn write(&mut self, bytes: &[u8], wanted: u64, more: bool) -> Result<u64, Outcome> {
        let short = (bytes.len() as u64) < wanted;
        if short && bytes.is_empty() {
            let error = io::Error::other("it became shorter while it was sent");
            return Err(content_failed(&error));
        }
        let mut flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        if more && !short {
            flags |= SendFlags::MORE;
        }
        let stream = self.stream;
        let result = stream.try_io(Interest::WRITABLE, || {
            loop {
                match send(stream, bytes, flags) {
                    Err(Errno::INTR) => {}
                    done => return Ok(done?),
                }
            }
        });
        match result {
            Ok(sent) => {
                self.sent += sent as u64;
                Ok(sent as u64)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(_) => Err(Outcome::ClientLeft),
        }
    }

    /// Waits until the client takes data again; false if it left or takes too long.
    async fn until_writable(&self) -> bool {
        let writable = timeout(self.patience, self.stream.writable()).await;
        note_event();
        matches!(writable, Ok(Ok(())))
    }
}

fn content_failed(error: &io::Error) -> Outcome {
    tracing::warn!("a response was cut short: {error}");
    Outcome::ContentFailed
}
