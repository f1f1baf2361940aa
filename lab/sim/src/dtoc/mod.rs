//! Carter & Cherkasova 1999, "Detecting timed-out client requests for avoiding livelock and
//! improving web server performance" (HPL-98-164 R.1): one server with a listen queue whose clients
//! give up, and what is lost on requests that nobody waits for. `weir-lab sim dtoc` and the
//! experiments run it; it stands beside [`crate::backend`] as the server without a gate.
//!
//! # The paper's rules (section 3)
//!
//! - Requests come in an open stream; each is for a file of the law (Figure 21), and its service
//!   time is in proportion to the size, scaled so that the server can just answer 100 a second.
//! - The listen queue holds 1024 requests beside the one in service. A client that finds it full
//!   is refused: it is *unsuccessful* at once, whether it came for the first time or again.
//! - A client that has no answer after the timeout leaves and, if it has retries left, asks for the
//!   same file again. What it asked for before stays in the queue.
//! - The server answers one request at a time, in order of arrival, to the end, even if the client
//!   leaves meanwhile.
//! - With the check, a request is looked at when it is taken from the queue, which takes 0.5 % of
//!   the mean service time; if its client has left it is dropped. The check is made only while the
//!   server was busy for more than 95 % of the last whole second.
//!
//! # What the paper leaves open, and what is done here
//!
//! - Arrivals are Poisson (it says "open model"; section 5.1 assumes this).
//! - Figure 21 prints probabilities to four digits; they give a mean of 14 724.5 bytes, not the
//!   14 675 of appendix A.2. Service times are scaled by the mean of what is drawn, so a load of
//!   100 % is exactly the server's capacity.
//! - The check sees what is so when it begins; a client that leaves during it or later has left
//!   during service. Its time counts as busy. A utilisation of exactly 95 % leaves it as it was.
//! - At one moment, a response comes before a client leaves, and that before a client comes: an
//!   answer exactly at the timeout is in time.
//! - Throughput counts clients by when they came: those of the window after a warm-up, followed
//!   until each has its outcome, while others go on coming.
//!
//! # Beyond the paper
//!
//! See [`Strategy`]. Those that stop or purge at the moment when a client leaves do so at all
//! times and free of charge (the kernel tells them, nothing is looked at); all but the regular one
//! also pay for the check at dequeue while it is on.

mod day;
mod line;
mod meter;
mod model;
mod request;
mod results;
mod server;
mod strategy;
mod tally;

pub use day::{DAYS, day};
pub use model::{Model, Prepared};
pub use results::Results;
pub use strategy::Strategy;
pub use tally::Tally;

#[cfg(test)]
mod tests;
