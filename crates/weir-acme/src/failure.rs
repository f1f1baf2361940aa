//! What went wrong with an attempt, in words. Returned by the authority and the storage, told by the
//! keeper.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::schedule::retry::Setback;

/// Letters of a failure at most, so that one fits into a log: two names, what the server says of them, and
/// the remedy.
const LONGEST: usize = 2000;

/// Why a certificate was not obtained: on one line and bounded, whatever the server wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    text: String,
    setback: Setback,
}

impl Failure {
    /// The ACME server was not reached, or something here failed: nothing was counted there.
    pub(crate) fn unjudged(text: impl Into<String>) -> Failure {
        Failure::new(&text.into(), false)
    }

    /// The ACME server judged the attempt.
    pub(crate) fn refused(text: impl Into<String>) -> Failure {
        Failure::new(&text.into(), true)
    }

    fn new(text: &str, is_refusal: bool) -> Failure {
        let setback = Setback { is_refusal, retry_after: None };
        Failure { text: printable(text, LONGEST), setback }
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

/// A text that somebody else wrote, safe for a log: on one line, and of `longest` letters at most.
pub(crate) fn printable(text: &str, longest: usize) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let mut letters = text.chars().map(plain);
    let mut start: String = letters.by_ref().take(longest).collect();
    if letters.next().is_some() {
        start.pop();
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_server_wrote_is_one_line_that_fits_into_a_log() {
        let long = format!("one\ntwo\x1B[2J{}", "é".repeat(1_000_000));
        for failure in [Failure::refused(&long), Failure::unjudged(&long)] {
            let text = failure.to_string();
            assert!(text.starts_with("one two [2Jéé") && text.ends_with("é…"));
            assert_eq!(text.chars().count(), LONGEST);
        }
        assert_eq!(printable("short", 5), "short");
        assert_eq!(printable("longer", 5), "long…");
    }
}
