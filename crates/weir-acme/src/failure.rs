//! What went wrong with an attempt, in words. Returned by the authority and the storage, told by the
//! keeper.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::schedule::retry::Setback;

/// Why a certificate was not obtained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    text: String,
    setback: Setback,
}

impl Failure {
    /// The ACME server was not reached, or something here failed: nothing was counted there.
    pub(crate) fn unjudged(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), setback: Setback { is_refusal: false, retry_after: None } }
    }

    /// The ACME server judged the attempt.
    pub(crate) fn refused(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), setback: Setback { is_refusal: true, retry_after: None } }
    }

    /// With what the server said about when to come again.
    pub(crate) fn with_retry_after(mut self, retry_after: Option<Duration>) -> Failure {
        self.setback.retry_after = retry_after;
        self
    }

    pub(crate) fn setback(&self) -> Setback {
        self.setback
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An error with its causes, each once: "client error: connection refused".
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}
