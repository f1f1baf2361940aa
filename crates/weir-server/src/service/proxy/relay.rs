//! Reads the rest of an answer from its backend and puts it, framed for the client, where the client
//! takes it from ([`crate::body::relayed`]). Started by [`super::answer`].

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::Incoming;
use tokio::time::{Instant, sleep_until};
use weir_http::forward::FieldEdits;
use weir_http::h1::chunked::{CHUNK_END, write_chunk_head, write_last_chunk};

use super::call::{Exchange, Piece};
use super::outgoing::Pipe;
use crate::body::Room;
use crate::body::{Broken, Relayed, Writer};

/// Puts data into the framing that the client gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coder {
    pub(super) in_chunks: bool,
}

impl Coder {
    pub(super) fn data(self, data: Bytes, to: &Relayed) {
        if !self.in_chunks || data.is_empty() {
            return to.push(data);
        }
        let mut head = Vec::with_capacity(18);
        write_chunk_head(data.len() as u64, &mut head);
        to.copy(&head);
        to.push(data);
        to.copy(CHUNK_END);
    }

    pub(super) fn end(self, trailers: Option<&HeaderMap>, to: &Relayed) {
        if self.in_chunks {
            let mut end = Vec::new();
            write_last_chunk(trailers, &mut end);
            to.copy(&end);
        }
    }
}

/// An answer that has been coming for so long is a stream, such as of events: it says nothing of how
/// much the backend has to do.
const LASTING: Duration = Duration::from_secs(10);

const TOO_LONG: Broken = Broken("the backend took too long");

/// How long the parts of an answer may take.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    /// The longest that the backend may send nothing.
    pub(super) idle: Duration,
    pub(super) total: Total,
}

/// When all of an answer must have come. Time in which the backend waits for the client, which is
/// slow to send or to take, does not count: it is not to blame for it.
#[derive(Clone, Debug)]
pub(super) struct Total {
    until: Option<Instant>,
    /// The request, whose rest may be slow to come.
    pipe: Option<Rc<Pipe>>,
}

impl Total {
    /// `longest` from now on, when the request begins to be sent; `None`: any time.
    pub(super) fn new(longest: Option<Duration>, pipe: Option<&Rc<Pipe>>) -> Total {
        let pipe = pipe.filter(|_| longest.is_some()).cloned();
        Total { until: longest.map(|longest| Instant::now() + longest), pipe }
    }

    /// When that is, as far as is known; it can become later.
    pub(super) fn until(&self) -> Option<Instant> {
        let starved = self.pipe.as_ref().map_or(Duration::ZERO, |pipe| pipe.starved());
        self.until.map(|until| until + starved)
    }

    /// The client held up the answer.
    fn put_off(&mut self, by: Duration) {
        self.until = self.until.map(|until| until + by);
    }
}

/// An answer that is being read.
pub(super) struct Relay {
    pub(super) exchange: Exchange,
    pub(super) body: Incoming,
    pub(super) coder: Coder,
    pub(super) relayed: Writer,
    pub(super) patience: Patience,
    /// What its trailers may not have.
    pub(super) edits: Arc<FieldEdits>,
}

impl Relay {
    /// Reads to the end. The slot is free as soon as the backend has sent everything, however slow
    /// the client is.
    pub(super) async fn run(mut self) {
        let mut trailers = None;
        let lasting = Instant::now() + LASTING;
        loop {
            match self.next(lasting).await {
                Ok(Next::Piece(Some(Piece::Data(data)))) => self.coder.data(data, &self.relayed),
                Ok(Next::Piece(Some(Piece::Trailers(mut fields)))) => {
                    self.edits.apply_to_trailers(&mut fields);
                    trailers = Some(fields);
                }
                Ok(Next::Piece(None)) => break,
                Ok(Next::Nobody) => return self.exchange.left_in_answer(self.body),
                // What is wrong is the request, not the answer.
                Err(_) if self.exchange.cut().is_some() => {
                    self.relayed.end(Err(Broken("its request was not sent to the end")));
                    return self.exchange.cut_short();
                }
                Err(broken) => {
                    let backend = self.exchange.backend();
                    tracing::warn!("backend {backend}: an answer was cut short: {}", broken.0);
                    self.relayed.end(Err(broken));
                    if broken == TOO_LONG {
                        // It may be at work still.
                        self.exchange.let_end(Some(self.body));
                    }
                    return;
                }
            }
        }
        self.exchange.ended();
        self.coder.end(trailers.as_ref(), &self.relayed);
        self.relayed.end(Ok(()));
    }

    /// The next piece of the answer, when there is a place for it.
    async fn next(&mut self, lasting: Instant) -> Result<Next, Broken> {
        match self.relayed.room().await {
            Room::Yes => {}
            Room::Gone => return Ok(Next::Nobody),
            Room::Full => {
                // From here on the client holds it up, and must not hold up others.
                self.exchange.free_slot();
                let since = Instant::now();
                if !self.relayed.has_room().await {
                    return Ok(Next::Nobody);
                }
                self.patience.total.put_off(since.elapsed());
            }
        }
        self.piece(lasting).await
    }

    /// The next piece, if it comes in time. From `lasting` on the slot is free.
    async fn piece(&mut self, lasting: Instant) -> Result<Next, Broken> {
        let relayed = Rc::clone(&self.relayed);
        let idle = Instant::now() + self.patience.idle;
        loop {
            let late = self.patience.total.until().map_or(idle, |until| until.min(idle));
            let wake = if self.exchange.holds_slot() { late.min(lasting) } else { late };
            tokio::select! {
                biased;
                piece = self.exchange.piece(&mut self.body) => return match piece {
                    Ok(piece) => Ok(Next::Piece(piece)),
                    Err(_) => Err(Broken("the backend's answer broke off")),
                },
                () = relayed.client_left() => return Ok(Next::Nobody),
                () = sleep_until(wake) => {}
            }
            let total = self.patience.total.until();
            let now = Instant::now();
            if now >= idle || total.is_some_and(|total| now >= total) {
                return Err(TOO_LONG);
            }
            if now >= lasting {
                self.exchange.free_slot();
            }
        }
    }
}

/// What comes next of an answer.
enum Next {
    /// `None`: its end.
    Piece(Option<Piece>),
    /// Its client has left.
    Nobody,
}
