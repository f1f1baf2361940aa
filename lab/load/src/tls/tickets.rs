//! The sessions that connections of a run can resume. [`Tls`](super::Tls) has one store for its server;
//! rustls puts tickets in and takes them out.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Tickets kept; the oldest is forgotten first. rustls's own store keeps eight, too few for the
/// connections that open at the same time.
const MOST: usize = 8192;

/// What was kept of the sessions with one server.
#[derive(Default)]
pub(super) struct Tickets(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// Each is for one connection (RFC 8446, appendix C.4), the newest last.
    tls13: VecDeque<Tls13ClientSessionValue>,
    /// For any number of connections.
    tls12: Option<Tls12ClientSessionValue>,
}

impl Tickets {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        // What is kept is whole whatever another thread's panic left.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").finish_non_exhaustive()
    }
}

impl ClientSessionStore for Tickets {
    // One group is offered, so there is nothing to remember.
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.kept().tls12 = Some(session);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.kept().tls12.clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.kept().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut kept = self.kept();
        if kept.tls13.len() >= MOST {
            kept.tls13.pop_front();
        }
        kept.tls13.push_back(ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().tls13.pop_back()
    }
}
