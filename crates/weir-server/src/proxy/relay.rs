//! Reads the rest of an answer from its backend and puts it, framed for the client, where the client
//! takes it from: as fast as that goes, or by way of a file. It does not know the client.

use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use hyper::body::Incoming;
use tokio::time::{Instant, sleep_until};
use weir_http::chunked::{CHUNK_END, chunk_head, last_chunk};
use weir_http::forward::FieldEdits;

use super::call::{Exchange, Piece};
use super::relayed::{Broken, Relayed};
use super::spool::Spool;

/// Puts data into the framing that the client gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coder {
    pub(super) in_chunks: bool,
}

impl Coder {
    pub(super) fn data(self, data: Bytes) -> Bytes {
        if !self.in_chunks || data.is_empty() {
            return data;
        }
        let mut head = Vec::with_capacity(18);
        chunk_head(data.len() as u64, &mut head);
        let mut coded = BytesMut::with_capacity(head.len() + data.len() + CHUNK_END.len());
        coded.extend_from_slice(&head);
        coded.extend_from_slice(&data);
        coded.extend_from_slice(CHUNK_END);
        coded.freeze()
    }

    pub(super) fn end(self, trailers: Option<&HeaderMap>) -> Bytes {
        let mut end = Vec::new();
        if self.in_chunks {
            last_chunk(trailers, &mut end);
        }
        end.into()
    }
}

/// An answer that has been coming for so long is a stream, such as of events: it says nothing of how
/// much the backend has to do.
const LASTING: Duration = Duration::from_secs(10);

const TOO_LONG: Broken = Broken("the backend took too long");

/// How long the parts of an answer may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// The longest that the backend may send nothing.
    pub(super) idle: Duration,
    /// When all must have come.
    pub(super) until: Option<Instant>,
}

impl Patience {
    /// When the next piece, waited for from now on, is late.
    fn next(&self) -> Instant {
        let late = Instant::now() + self.idle;
        self.until.map_or(late, |until| until.min(late))
    }
}

/// An answer that is being read.
pub(super) struct Relay {
    pub(super) exchange: Exchange,
    pub(super) body: Incoming,
    pub(super) coder: Coder,
    pub(super) relayed: Writer,
    pub(super) patience: Patience,
    /// What the client's memory has no room for goes to a file; else the backend waits.
    pub(super) spills: bool,
    /// What its trailers may not have.
    pub(super) edits: Arc<FieldEdits>,
}

impl Relay {
    /// Reads to the end. The slot is free as soon as the backend has sent everything, however slow
    /// the client is.
    pub(super) async fn run(mut self) {
        let mut spool = Spool::default();
        let mut trailers = None;
        let lasting = Instant::now() + LASTING;
        loop {
            let piece = match self.next(&mut spool, lasting).await {
                Ok(Next::Piece(piece)) => piece,
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
            };
            match piece {
                Some(Piece::Data(data)) => {
                    let data = self.coder.data(data);
                    if spool.is_empty() && (!self.spills || self.relayed.has_room_now()) {
                        self.relayed.push(data);
                    } else if let Err(error) = spool.append(data).await {
                        return self.fail(&error);
                    }
                }
                Some(Piece::Trailers(mut fields)) => {
                    self.edits.apply_to_trailers(&mut fields);
                    trailers = Some(fields);
                }
                None => break,
            }
        }
        let Relay { exchange, coder, relayed, .. } = self;
        exchange.ended();
        while !spool.is_empty() {
            if !relayed.has_room().await {
                return;
            }
            match spool.take().await {
                Ok(bytes) => relayed.push(bytes),
                Err(_) => return relayed.end(Err(Broken("its temporary file cannot be read"))),
            }
        }
        relayed.push(coder.end(trailers.as_ref()));
        relayed.end(Ok(()));
    }

    /// The next piece of the answer, when there is a place for it; the client gets meanwhile what
    /// was put aside for it.
    async fn next(&mut self, spool: &mut Spool, lasting: Instant) -> Result<Next, Broken> {
        let relayed = Rc::clone(&self.relayed);
        if !self.spills {
            if !relayed.has_room_now() {
                // From here on the client holds it up, and must not hold up others.
                self.exchange.free_slot();
            }
            if !relayed.has_room().await {
                return Ok(Next::Nobody);
            }
            let late = self.patience.next();
            return self.piece(lasting, late).await;
        }
        let mut late = self.patience.next();
        loop {
            let full = spool.is_full();
            if full {
                self.exchange.free_slot();
            }
            tokio::select! {
                biased;
                room = relayed.has_room(), if !spool.is_empty() => {
                    if !room {
                        return Ok(Next::Nobody);
                    }
                    let bytes = spool.take().await;
                    relayed.push(bytes.map_err(|_| Broken("its temporary file cannot be read"))?);
                    if full {
                        // So far the client held it up.
                        late = self.patience.next();
                    }
                }
                piece = self.piece(lasting, late), if !full => return piece,
            }
        }
    }

    /// The next piece, if it comes before it is `late`. From `lasting` on the slot is free.
    async fn piece(&mut self, lasting: Instant, late: Instant) -> Result<Next, Broken> {
        let relayed = Rc::clone(&self.relayed);
        loop {
            let wake = if self.exchange.holds_slot() { late.min(lasting) } else { late };
            tokio::select! {
                biased;
                piece = self.exchange.piece(&mut self.body) => return match piece {
                    Ok(piece) => Ok(Next::Piece(piece)),
                    Err(_) => Err(Broken("the backend's answer broke off")),
                },
                () = relayed.client_left() => return Ok(Next::Nobody),
                () = sleep_until(wake) => if wake == late {
                    return Err(TOO_LONG);
                },
            }
            self.exchange.free_slot();
        }
    }

    fn fail(self, error: &std::io::Error) {
        tracing::warn!("an answer cannot be put into a temporary file: {error}");
        self.relayed.end(Err(Broken("there is no room for it")));
        self.exchange.let_end(Some(self.body));
    }
}

/// The backend's side of an answer: when it is dropped, nothing more comes.
#[derive(Debug)]
pub(super) struct Writer(pub(super) Rc<Relayed>);

impl Deref for Writer {
    type Target = Rc<Relayed>;

    fn deref(&self) -> &Rc<Relayed> {
        &self.0
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // An end that was told stays.
        self.0.end(Err(Broken("it was given up")));
    }
}

/// What comes next of an answer.
enum Next {
    /// `None`: its end.
    Piece(Option<Piece>),
    /// Its client has left.
    Nobody,
}
