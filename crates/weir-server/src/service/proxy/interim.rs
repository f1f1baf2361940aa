//! Interim answers of a backend (1xx), which come before its answer and go on to the client at once
//! (RFC 9110, section 15.2). Used while the head of the answer is waited for.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, Request, StatusCode};
use weir_http::forward::{self, FieldEdits};
use weir_http::message::Version;

use super::conn::LARGEST_HEAD;
use super::outgoing::Outgoing;
use crate::client::Client;

/// What one is counted as beside its fields, so that empty ones have an end, too.
const LINE: usize = 32;

/// What has come of them and was not passed on yet.
#[derive(Debug)]
pub(super) struct Interim {
    come: Counted,
    fate: Cell<Fate>,
}

/// Whether the call can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    GoesOn,
    /// The client has half of one, or takes nothing more: no answer can follow.
    Broken,
    /// Together they are larger than the head of an answer may be.
    TooMany,
}

/// What has come, for whoever waits for the end of the call. hyper brings it from whatever thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted(Arc<Mutex<Come>>);

#[derive(Debug, Default)]
struct Come {
    waiting: Vec<(StatusCode, HeaderMap)>,
    bytes: usize,
}

impl Come {
    fn add(&mut self, status: StatusCode, fields: &HeaderMap, is_passed_on: bool) {
        let lengths = fields.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
        self.bytes = self.bytes.saturating_add(LINE + lengths.sum::<usize>());
        // 100 is between hyper and the backend: the client has had its own.
        if is_passed_on && self.bytes <= LARGEST_HEAD && status != StatusCode::CONTINUE {
            self.waiting.push((status, fields.clone()));
        }
    }
}

impl Interim {
    /// Those that `request` will have, for a client that speaks `version`: HTTP/1.0 knows none.
    pub(super) fn of(request: &mut Request<Outgoing>, version: Version) -> Interim {
        let come = Counted::default();
        let (own, is_passed_on) = (come.clone(), version == Version::Http11);
        hyper::ext::on_informational(request, move |answer| {
            own.lock().add(answer.status(), answer.headers(), is_passed_on);
        });
        Interim { come, fate: Cell::new(Fate::GoesOn) }
    }

    /// Sends the client what has come, changed by `edits`. They are hints: one for which there is no
    /// room is left out.
    pub(super) fn pass_on(&self, client: &Client, edits: &FieldEdits) {
        let mut come = self.come.lock();
        for (status, fields) in come.waiting.drain(..) {
            let mut head = Vec::with_capacity(256);
            forward::interim_head(&mut head, status, &fields, edits);
            if self.fate.get() == Fate::GoesOn && !client.say(&head) {
                self.fate.set(Fate::Broken);
            }
        }
        if self.fate.get() == Fate::GoesOn && come.bytes > LARGEST_HEAD {
            self.fate.set(Fate::TooMany);
        }
    }

    pub(super) fn fate(&self) -> Fate {
        self.fate.get()
    }

    pub(super) fn counted(&self) -> Counted {
        self.come.clone()
    }
}

impl Counted {
    /// Whether they have become more than may be.
    pub(super) fn are_too_many(&self) -> bool {
        self.lock().bytes > LARGEST_HEAD
    }

    fn lock(&self) -> MutexGuard<'_, Come> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
