//! The uplink in virtual time: what each response of a log or a law would have waited for. [`Link`]
//! plays requests through the server's own gate, grant by grant, with packets, round trips and slow
//! clients; [`finishes`] plays a million of them in a second through the server's policies alone;
//! [`fullness`] tells when the link had no room. `weir-lab sim replay`, `promise` and `loops` and
//! the experiments use it.

mod client;
mod coarse;
mod fullness;
mod invalid;
mod lateness;
mod line;
mod link;
mod loops;
mod play;
#[cfg(test)]
mod promise_tests;
mod sharing;
#[cfg(test)]
mod sharing_tests;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use coarse::{Transfer, finishes, grant_for};
pub use fullness::{Fullness, backlog, fullness};
pub use invalid::Invalid;
pub use lateness::{Lateness, mean_response_time};
pub use link::{Finish, Link, Request};
pub use loops::{Again, Leaver, LoopResults, Looping, Scene, Single, Sizes};
pub use play::Impatient;
