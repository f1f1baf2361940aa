//! What is wrong with a certificate, its chain or its key, and what to do about it. Made by the readers
//! of this module; the server puts the names of the files in front.

use std::fmt;

/// What is wrong with a certificate, and the remedy: a sentence without its full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateError(String);

impl CertificateError {
    pub(crate) fn new(what: impl fmt::Display) -> CertificateError {
        CertificateError(what.to_string())
    }

    /// The same, with `place` in front: a file, or the name of an authority.
    pub(crate) fn at(self, place: impl fmt::Display) -> CertificateError {
        CertificateError(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CertificateError {}
