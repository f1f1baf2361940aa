//! Which requests can be played, and the error for those that cannot: times must be numbers in order.

use std::fmt;

/// A hundred years: nanoseconds of it fit a word.
pub(super) const LATEST: f64 = 3.2e9;

/// Requests that cannot be played.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid(pub(super) String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// Times must be numbers from 0 on, in order; says which is not.
pub(super) fn in_order(times: impl Iterator<Item = f64>) -> Result<(), Invalid> {
    let mut last = 0.0;
    for (index, at) in times.enumerate() {
        if !(at >= last && at < LATEST) {
            return Err(Invalid(format!(
                "request {}: the time is {at} s; expected seconds from 0 to {LATEST}, not before \
                 the request in front of it",
                index + 1
            )));
        }
        last = at;
    }
    Ok(())
}
