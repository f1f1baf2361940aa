//! How the certificates are. Each keeper writes its line of the [`Board`]; whoever wants to know, such as
//! the metrics, reads its [`Status`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// All certificates, at one moment, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// One for each name.
    pub certificates: Vec<CertificateStatus>,
}

/// One certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateStatus {
    /// The name that it is for.
    pub name: String,
    /// What is being done about it.
    pub phase: Phase,
    /// When the one that is served ends; `None`: there is none.
    pub not_after: Option<SystemTime>,
    /// It is served, but could not be written to the storage: a restart loses it.
    pub unsaved: bool,
    /// When it is renewed, as far as is known.
    pub renewal: Option<SystemTime>,
    /// Certificates obtained since the start.
    pub obtained: u64,
    /// Certificates taken over from other processes, or found at the start.
    pub taken_over: u64,
    /// Attempts failed since the start.
    pub failed: u64,
    /// Attempts failed since the last success.
    pub failed_in_a_row: u32,
    /// The last failed attempt; kept after a success.
    pub last_failure: Option<LastFailure>,
}

/// What is being done about a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Nothing until its renewal.
    Waiting,
    /// It is being ordered.
    Ordering,
    /// Another process that shares the storage orders it, or waits after a refusal.
    OrderedElsewhere,
    /// It is due, but an attempt failed; the next one comes after a pause.
    Retrying,
}

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFailure {
    /// When it failed.
    pub at: SystemTime,
    /// Why, in a sentence.
    pub text: String,
}

impl CertificateStatus {
    /// A certificate that nothing is known of yet.
    pub fn new(name: &str) -> CertificateStatus {
        CertificateStatus {
            name: name.to_owned(),
            phase: Phase::Waiting,
            not_after: None,
            unsaved: false,
            renewal: None,
            obtained: 0,
            taken_over: 0,
            failed: 0,
            failed_in_a_row: 0,
            last_failure: None,
        }
    }
}

/// The status while it changes. Clones share it.
#[derive(Clone, Debug)]
pub struct Board(Arc<Mutex<Status>>);

/// One keeper's line of the board.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    board: Board,
    index: usize,
}

impl Board {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Board {
        let certificates = names.map(CertificateStatus::new).collect();
        Board(Arc::new(Mutex::new(Status { certificates })))
    }

    /// How the certificates are now.
    pub fn status(&self) -> Status {
        self.locked().clone()
    }

    /// The line of the certificate number `index`.
    pub(crate) fn line(&self, index: usize) -> Line {
        Line { board: self.clone(), index }
    }

    fn locked(&self) -> MutexGuard<'_, Status> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    pub(crate) fn change(&self, change: impl FnOnce(&mut CertificateStatus)) {
        if let Some(certificate) = self.board.locked().certificates.get_mut(self.index) {
            change(certificate);
        }
    }
}
