//! Interim answers of a backend (1xx), which come before its answer and go on to the client at once
//! (RFC 9110, section 15.2). Used while the head of the answer is waited for.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, Request, StatusCode};
use weir_http::forward::{self, FieldEdits};
use weir_http::message::Version;

use super::conn::MAX_HEAD;
use super::outgoing::OutgoingBody;
use crate::client::Client;

/// What one is counted as beside its fields, so that empty ones have an end, too.
const OVERHEAD: usize = 32;

/// What has come of them and was not passed on yet.
#[derive(Debug)]
pub(super) struct InterimResponses {
    received: InterimCount,
    state: Cell<InterimState>,
}

/// Whether the call can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InterimState {
    Fine,
    /// The client has half of one, or takes nothing more: no answer can follow.
    Broken,
    /// Together they are larger than the head of an answer may be.
    TooLarge,
}

/// What has come, for whoever waits for the end of the call. hyper brings it from whatever thread.
#[derive(Clone, Debug, Default)]
pub(super) struct InterimCount(Arc<Mutex<Received>>);

#[derive(Debug, Default)]
struct Received {
    waiting: Vec<(StatusCode, HeaderMap)>,
    bytes: usize,
}

impl Received {
    fn add(&mut self, status: StatusCode, fields: &HeaderMap, is_passed_on: bool) {
        let lengths = fields.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
        self.bytes = self.bytes.saturating_add(OVERHEAD + lengths.sum::<usize>());
        // 100 is between hyper and the backend: the client has had its own.
        if is_passed_on && self.bytes <= MAX_HEAD && status != StatusCode::CONTINUE {
            self.waiting.push((status, fields.clone()));
        }
    }
}

impl InterimResponses {
    /// Those that `request` will have, for a client that speaks `version`: HTTP/1.0 knows none.
    pub(super) fn of(request: &mut Request<OutgoingBody>, version: Version) -> InterimResponses {
        let received = InterimCount::default();
        let (own, is_passed_on) = (received.clone(), version == Version::Http11);
        hyper::ext::on_informational(request, move |answer| {
            own.lock().add(answer.status(), answer.headers(), is_passed_on);
        });
        InterimResponses { received, state: Cell::new(InterimState::Fine) }
    }

    /// Sends the client what has come, changed by `edits`. They are hints: one for which there is no
    /// room is left out.
    pub(super) fn pass_on(&self, client: &Client, edits: &FieldEdits) {
        let mut received = self.received.lock();
        for (status, fields) in received.waiting.drain(..) {
            let mut head = Vec::with_capacity(256);
            forward::interim_head(&mut head, status, &fields, edits);
            if self.state.get() == InterimState::Fine && !client.say(&head) {
                self.state.set(InterimState::Broken);
            }
        }
        if self.state.get() == InterimState::Fine && received.bytes > MAX_HEAD {
            self.state.set(InterimState::TooLarge);
        }
    }

    pub(super) fn state(&self) -> InterimState {
        self.state.get()
    }

    pub(super) fn count(&self) -> InterimCount {
        self.received.clone()
    }
}

impl InterimCount {
    /// Whether they have become more than may be.
    pub(super) fn exceeds_limit(&self) -> bool {
        self.lock().bytes > MAX_HEAD
    }

    fn lock(&self) -> MutexGuard<'_, Received> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
