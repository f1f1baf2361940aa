//! Reads the rest of a response from its backend and puts it into a [`crate::body::RelayedBody`]. A task of its own, started by [`super::response`].

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use tokio::time::{Instant, sleep_until};
use weir_http::forward::FieldEdits;

use super::call::{BackendCall, Piece};
use super::timeouts::{BodyProgress, ResponseTimeouts};
use crate::body::Room;
use crate::body::{Truncated, Writer};

/// How often to look whether the backend takes some of a request body that is still being sent.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

const TIMED_OUT: Truncated = Truncated("the backend took too long");
const NOT_SENT: Truncated = Truncated("the client did not send its whole request");
const LOST: Truncated = Truncated("the request body cannot be read from its temporary file");

/// A response that is being relayed.
pub(super) struct Relay {
    pub(super) call: BackendCall,
    pub(super) body: Incoming,
    pub(super) relayed: Writer,
    pub(super) timeouts: ResponseTimeouts,
    /// The edits of its fields, for its trailers.
    pub(super) edits: Arc<FieldEdits>,
}

impl Relay {
    /// Relays to the end. The slot is free as soon as the backend has sent everything, however
    /// slow the client is.
    pub(super) async fn run(mut self) {
        let mut trailers = None;
        let stream_from = self.call.stream_from();
        loop {
            match self.next(stream_from).await {
                Ok(Step::Piece(Some(Piece::Data(data)))) => self.relayed.push(data),
                Ok(Step::Piece(Some(Piece::Trailers(mut fields)))) => {
                    self.edits.apply_to_trailers(&mut fields);
                    trailers = Some(fields);
                }
                Ok(Step::Piece(None)) => break,
                Ok(Step::ClientLeft) => return self.call.client_left_while_sending(self.body),
                // The request failed, not the response.
                Err(_) if self.call.incomplete_body().is_some() => {
                    let body = self.timeouts.request_body();
                    let is_lost = body.is_some_and(|body| body.loss().is_some());
                    self.relayed.end(Err(if is_lost { LOST } else { NOT_SENT }));
                    return self.call.abort();
                }
                Err(broken) => {
                    let backend = self.call.backend();
                    tracing::warn!("backend {backend}: response cut short: {}", broken.0);
                    self.relayed.end(Err(broken));
                    if broken == TIMED_OUT {
                        // It may still be working on it.
                        self.call.drain(Some(self.body));
                    }
                    return;
                }
            }
        }
        self.call.ended();
        self.relayed.end_with(trailers);
    }

    /// The next piece, once there is room for it.
    async fn next(&mut self, stream_from: Instant) -> Result<Step, Truncated> {
        match self.relayed.room().await {
            Room::Yes => {}
            Room::Gone => return Ok(Step::ClientLeft),
            Room::Full => {
                // From here on the backend waits for the client: others must not.
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

    /// The next piece, if it arrives in time: while the request body is still being sent, the backend may
    /// take some of that instead. From `stream_from` on the slot is free.
    async fn piece(&mut self, stream_from: Instant) -> Result<Step, Truncated> {
        let relayed = Rc::clone(&self.relayed);
        let begun = Instant::now();
        let mut idle = begun + self.timeouts.idle;
        let mut body = self.timeouts.request_body().map(|body| BodyProgress::new(body, begun));
        loop {
            let late = self.timeouts.total.until().map_or(idle, |until| until.min(idle));
            let mut wake = if self.call.holds_slot() { late.min(stream_from) } else { late };
            if body.as_ref().is_some_and(BodyProgress::goes_on) {
                wake = wake.min(Instant::now() + CHECK_INTERVAL);
            }
            tokio::select! {
                biased;
                piece = self.call.piece(&mut self.body) => return match piece {
                    Ok(piece) => Ok(Step::Piece(piece)),
                    Err(_) => Err(Truncated("the backend's connection broke")),
                },
                () = relayed.client_left() => return Ok(Step::ClientLeft),
                () = sleep_until(wake) => {}
            }
            let total = self.timeouts.total.until();
            let now = Instant::now();
            if let Some(body) = &mut body {
                idle = body.look(now) + self.timeouts.idle;
            }
            if now >= idle || total.is_some_and(|total| now >= total) {
                return Err(TIMED_OUT);
            }
            if now >= stream_from {
                self.call.free_slot();
            }
        }
    }
}

/// What the relay got next.
enum Step {
    /// `None`: the end of the response.
    Piece(Option<Piece>),
    /// The client has left.
    ClientLeft,
}
