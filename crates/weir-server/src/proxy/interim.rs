//! Interim answers of a backend (1xx), which come before its answer and go on to the client at once
//! (RFC 9110, section 15.2).

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, StatusCode};
use weir_http::forward;

use super::outgoing::Outgoing;
use crate::client::Client;

/// Interim answers that were not passed on yet, as bytes. hyper gives them to whatever thread.
#[derive(Debug)]
pub(super) struct Interim {
    waiting: Arc<Mutex<Vec<u8>>>,
    /// The client's connection does not take them.
    failed: Cell<bool>,
}

impl Interim {
    /// Those that `request` will have.
    pub(super) fn of(request: &mut Request<Outgoing>) -> Interim {
        let waiting = Arc::new(Mutex::new(Vec::new()));
        let own = waiting.clone();
        hyper::ext::on_informational(request, move |answer| {
            // 100 is between hyper and the backend: the client has had its own.
            if answer.status() != StatusCode::CONTINUE {
                let mut waiting = own.lock().unwrap_or_else(PoisonError::into_inner);
                forward::interim_head(&mut waiting, answer.status(), answer.headers());
            }
        });
        Interim { waiting, failed: Cell::new(false) }
    }

    /// Sends the client what has come. They are hints: one that does not fit is left out.
    pub(super) fn pass_on(&self, client: &Client) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.is_empty() {
            self.failed.set(self.failed.get() || !client.say(&waiting));
            waiting.clear();
        }
    }

    /// Whether nothing more can be sent to the client.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.get()
    }
}
