//! Reads the rest of an answer from its backend and puts it, framed for the client, where the client
//! takes it from ([`super::relayed`]). Started by [`super::answer`].

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::Incoming;
use tokio::time::{Instant, sleep_until};
use weir_http::forward::FieldEdits;
use weir_http::h1::chunked::{CHUNK_END, write_chunk_head, write_last_chunk};

use super::buffer::Room;
use super::call::{BackendCall, Piece};
use super::outgoing::Pipe;
use super::relayed::{RelayedBody, Truncated, Writer};

/// Puts data into the framing that the client gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyEncoder {
    pub(super) in_chunks: bool,
}

impl BodyEncoder {
    pub(super) fn data(self, data: Bytes, to: &RelayedBody) {
        if !self.in_chunks || data.is_empty() {
            return to.push(data);
        }
        let mut head = Vec::with_capacity(18);
        write_chunk_head(data.len() as u64, &mut head);
        to.copy(&head);
        to.push(data);
        to.copy(CHUNK_END);
    }

    pub(super) fn end(self, trailers: Option<&HeaderMap>, to: &RelayedBody) {
        if self.in_chunks {
            let mut end = Vec::new();
            write_last_chunk(trailers, &mut end);
            to.copy(&end);
        }
    }
}

/// An answer that has been coming for so long is a stream, such as of events: it says nothing of how
/// much the backend has to do.
const STREAM_AFTER: Duration = Duration::from_secs(10);

const TIMED_OUT: Truncated = Truncated("the backend took too long");

/// How long the parts of an answer may take.
#[derive(Clone, Debug)]
pub(super) struct ResponseTimeouts {
    /// The longest that the backend may send nothing.
    pub(super) idle: Duration,
    pub(super) total: TotalDeadline,
}

/// When all of an answer must have come. Time in which the backend waits for the client, which is
/// slow to send or to take, does not count: it is not to blame for it.
#[derive(Clone, Debug)]
pub(super) struct TotalDeadline {
    until: Option<Instant>,
    /// The request, whose rest may be slow to come.
    pipe: Option<Rc<Pipe>>,
}

impl TotalDeadline {
    /// `longest` from now on, when the request begins to be sent; `None`: any time.
    pub(super) fn new(limit: Option<Duration>, pipe: Option<&Rc<Pipe>>) -> TotalDeadline {
        let pipe = pipe.filter(|_| limit.is_some()).cloned();
        TotalDeadline { until: limit.map(|limit| Instant::now() + limit), pipe }
    }

    /// When that is, as far as is known; it can become later.
    pub(super) fn until(&self) -> Option<Instant> {
        let starved = self.pipe.as_ref().map_or(Duration::ZERO, |pipe| pipe.starved_time());
        self.until.map(|until| until + starved)
    }

    /// The client held up the answer.
    fn extend(&mut self, by: Duration) {
        self.until = self.until.map(|until| until + by);
    }
}

/// An answer that is being read.
pub(super) struct Relay {
    pub(super) call: BackendCall,
    pub(super) body: Incoming,
    pub(super) encoder: BodyEncoder,
    pub(super) relayed: Writer,
    pub(super) timeouts: ResponseTimeouts,
    /// What its trailers may not have.
    pub(super) edits: Arc<FieldEdits>,
}

impl Relay {
    /// Reads to the end. The slot is free as soon as the backend has sent everything, however slow
    /// the client is.
    pub(super) async fn run(mut self) {
        let mut trailers = None;
        let stream_from = Instant::now() + STREAM_AFTER;
        loop {
            match self.next(stream_from).await {
                Ok(Step::Piece(Some(Piece::Data(data)))) => self.encoder.data(data, &self.relayed),
                Ok(Step::Piece(Some(Piece::Trailers(mut fields)))) => {
                    self.edits.apply_to_trailers(&mut fields);
                    trailers = Some(fields);
                }
                Ok(Step::Piece(None)) => break,
                Ok(Step::ClientLeft) => return self.call.client_left_while_sending(self.body),
                // What is wrong is the request, not the answer.
                Err(_) if self.call.incomplete_body().is_some() => {
                    self.relayed.end(Err(Truncated("its request was not sent to the end")));
                    return self.call.abort();
                }
                Err(broken) => {
                    let backend = self.call.backend();
                    tracing::warn!("backend {backend}: an answer was cut short: {}", broken.0);
                    self.relayed.end(Err(broken));
                    if broken == TIMED_OUT {
                        // It may be at work still.
                        self.call.drain(Some(self.body));
                    }
                    return;
                }
            }
        }
        self.call.ended();
        self.encoder.end(trailers.as_ref(), &self.relayed);
        self.relayed.end(Ok(()));
    }

    /// The next piece of the answer, when there is a place for it.
    async fn next(&mut self, stream_from: Instant) -> Result<Step, Truncated> {
        match self.relayed.room().await {
            Room::Yes => {}
            Room::Gone => return Ok(Step::ClientLeft),
            Room::Full => {
                // From here on the client holds it up, and must not hold up others.
                self.call.free_slot();
                let since = Instant::now();
                if !self.relayed.has_room().await {
                    return Ok(Step::ClientLeft);
                }
                self.timeouts.total.extend(since.elapsed());
            }
        }
        self.piece(stream_from).await
    }

    /// The next piece, if it comes in time. From `lasting` on the slot is free.
    async fn piece(&mut self, stream_from: Instant) -> Result<Step, Truncated> {
        let relayed = Rc::clone(&self.relayed);
        let idle = Instant::now() + self.timeouts.idle;
        loop {
            let late = self.timeouts.total.until().map_or(idle, |until| until.min(idle));
            let wake = if self.call.holds_slot() { late.min(stream_from) } else { late };
            tokio::select! {
                biased;
                piece = self.call.piece(&mut self.body) => return match piece {
                    Ok(piece) => Ok(Step::Piece(piece)),
                    Err(_) => Err(Truncated("the backend's answer broke off")),
                },
                () = relayed.client_left() => return Ok(Step::ClientLeft),
                () = sleep_until(wake) => {}
            }
            let total = self.timeouts.total.until();
            let now = Instant::now();
            if now >= idle || total.is_some_and(|total| now >= total) {
                return Err(TIMED_OUT);
            }
            if now >= stream_from {
                self.call.free_slot();
            }
        }
    }
}

/// What comes next of an answer.
enum Step {
    /// `None`: its end.
    Piece(Option<Piece>),
    /// Its client has left.
    ClientLeft,
}
