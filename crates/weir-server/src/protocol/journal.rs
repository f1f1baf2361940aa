//! Counts and logs every response once: when it was sent, when it was cut, and when its request came to
//! nothing. Used by the connections of a worker.

use std::sync::Arc;

use weir_http::message::Request;
use weir_sched::Time;

use crate::identity::PeerAddress;
use crate::logs::access_log::{Details, Ending, Entry, LogHandle};
use crate::metrics::Metrics;
use crate::sys::clock;

/// The status of a request whose client left before it was answered, as others write it.
const LEFT_EARLY: u16 = 499;

/// The status of a request that the end of the server left without an answer.
const CUT: u16 = 503;

/// See the module.
#[derive(Debug)]
pub(crate) struct Journal {
    metrics: Arc<Metrics>,
    access_log: LogHandle,
}

/// A response that has ended.
pub(super) struct Ended<'a> {
    /// The client's address.
    pub(super) peer: PeerAddress,
    /// Who it is by its password, if that was asked for.
    pub(super) user: Option<&'a str>,
    /// `None`: what came was no request.
    pub(super) request: Option<&'a Request<'a>>,
    /// When the request had come.
    pub(super) begun: Time,
    pub(super) code: u16,
    /// Bytes of its head.
    pub(super) head: u64,
    /// Bytes that were sent, of head and body.
    pub(super) sent: u64,
    /// Why it ended.
    pub(super) ending: Ending,
    /// What was collected of the request.
    pub(super) details: Option<&'a Details>,
}

impl Journal {
    pub(crate) fn new(metrics: Arc<Metrics>, access_log: LogHandle) -> Journal {
        Journal { metrics, access_log }
    }

    /// Whether the log tells of what must be collected while a request is answered.
    pub(super) fn wants_details(&self) -> bool {
        self.access_log.wants_details()
    }

    /// Counts and logs a response.
    pub(super) fn note(&self, ended: &Ended<'_>) {
        let took = clock::now().since(ended.begun);
        let is_complete = ended.ending == Ending::Complete;
        self.metrics.responded(ended.code, ended.sent, took, is_complete);
        self.access_log.write(|| Entry {
            peer: ended.peer,
            user: ended.user,
            at: clock::since_1970(),
            request: ended.request,
            code: ended.code,
            sent: ended.sent.saturating_sub(ended.head),
            ending: ended.ending,
            took,
            details: ended.details,
        });
    }

    /// `request` waits for its response from now on. `details`: what is collected of it.
    pub(super) fn waiting<'a>(
        &'a self,
        peer: PeerAddress,
        user: Option<&'a str>,
        request: &'a Request<'a>,
        begun: Time,
        details: Option<&'a Details>,
    ) -> Waiting<'a> {
        Waiting { journal: self, peer, user, request, begun, details, is_over: false }
    }
}

/// A request without a response. Dropped before that is over, it was cut with the server: then it is
/// counted and logged.
pub(super) struct Waiting<'a> {
    journal: &'a Journal,
    peer: PeerAddress,
    user: Option<&'a str>,
    request: &'a Request<'a>,
    begun: Time,
    details: Option<&'a Details>,
    is_over: bool,
}

impl Waiting<'_> {
    /// There is a response, or else the client left before there was one: that is counted and logged.
    pub(super) fn over(mut self, is_answered: bool) {
        self.is_over = true;
        if !is_answered {
            self.note(LEFT_EARLY, Ending::ClientLeft);
        }
    }

    fn note(&self, code: u16, ending: Ending) {
        self.journal.note(&Ended {
            peer: self.peer,
            user: self.user,
            request: Some(self.request),
            begun: self.begun,
            code,
            head: 0,
            sent: 0,
            ending,
            details: self.details,
        });
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.note(CUT, Ending::Stopped);
        }
    }
}
