//! The uplink in virtual time: what each response of a log or a law would have waited for. [`Link`]
//! plays requests through the server's own gate, grant by grant, with packets, round trips and slow
//! clients; [`finishes`] plays a million of them in a second through the server's policies alone;
//! [`fullness`] tells when the link had no room. `weir-lab sim replay`, `promise` and `loops` and
//! the experiments use it.

mod client;
mod coarse;
mod fullness;
mod line;
mod link;
mod loops;
#[cfg(test)]
mod promise_tests;
mod sharing;
#[cfg(test)]
mod sharing_tests;
#[cfg(test)]
mod tests;

use std::fmt;

pub use client::Client;
pub use coarse::{Asked, finishes, grant_for};
pub use fullness::{Fullness, backlog, fullness};
pub use link::{Finish, Impatient, Link, Request};
pub use loops::{Again, Leaver, Looped, Looping, Scene, Single, Sizes};

/// Requests that cannot be played.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid(String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// Times must be numbers from 0 on, in order; says which is not.
fn in_order(times: impl Iterator<Item = f64>) -> Result<(), Invalid> {
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

/// A hundred years: nanoseconds of it fit a word.
const LATEST: f64 = 3.2e9;
