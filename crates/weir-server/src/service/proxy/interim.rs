//! Interim responses (1xx) of a backend, which are passed on at once (RFC 9110, section 15.2). Used by
//! [`super::attempt`] and [`super::response_wait`] while the final response is awaited.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, Request, StatusCode};
use weir_http::forward::{FieldEdits, RelayedFields};

use super::connection::MAX_HEAD;
use super::request_body::OutgoingBody;
use crate::client::Requester;

/// What a response counts besides its fields, in bytes, so that empty ones are limited, too.
const OVERHEAD: usize = 32;

/// The interim responses of one call.
#[derive(Debug)]
pub(super) struct InterimResponses {
    received: InterimCount,
    state: Cell<InterimState>,
}

/// Whether a final response can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InterimState {
    Fine,
    /// The client got half of one, or takes nothing more.
    Broken,
    /// Together they are larger than the head of a response may be.
    TooLarge,
}

/// What has arrived. Shared with hyper, which may call from another thread, and with the call, which
/// may outlive the client.
#[derive(Clone, Debug, Default)]
pub(super) struct InterimCount(Arc<Mutex<Received>>);

#[derive(Debug, Default)]
struct Received {
    waiting: Vec<(StatusCode, HeaderMap)>,
    bytes: usize,
}

impl Received {
    fn add(&mut self, status: StatusCode, fields: &HeaderMap) {
        let lengths = fields.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
        self.bytes = self.bytes.saturating_add(OVERHEAD + lengths.sum::<usize>());
        // 100 is between weir and the backend: weir has sent the client its own.
        if self.bytes <= MAX_HEAD && status != StatusCode::CONTINUE {
            self.waiting.push((status, fields.clone()));
        }
    }
}

impl InterimResponses {
    /// Collects those of `request`.
    pub(super) fn of(request: &mut Request<OutgoingBody>) -> InterimResponses {
        let received = InterimCount::default();
        let own = received.clone();
        hyper::ext::on_informational(request, move |response| {
            own.lock().add(response.status(), response.headers());
        });
        InterimResponses { received, state: Cell::new(InterimState::Fine) }
    }

    /// Sends the client what has arrived, changed by `edits`. One for which the socket has no room is
    /// left out: they are hints.
    pub(super) fn pass_on(&self, client: &impl Requester, edits: &FieldEdits) {
        let mut received = self.received.lock();
        for (status, fields) in received.waiting.drain(..) {
            let fields = RelayedFields { received: &fields, edits };
            if self.state.get() == InterimState::Fine && !client.interim(status, &fields) {
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
    /// Whether together they are larger than the head of a response may be.
    pub(super) fn exceeds_limit(&self) -> bool {
        self.lock().bytes > MAX_HEAD
    }

    fn lock(&self) -> MutexGuard<'_, Received> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
