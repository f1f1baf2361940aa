//! An application behind the server's own [`weir_sched::BackendGate`], with clients that lose
//! patience, in virtual time: what the gate's limit, order and refusals would reach.
//! `weir-lab sim backend` and the experiments run it.
//!
//! # The rules
//!
//! - Clients come in an open Poisson stream whose rate may follow a shape. Each asks for something
//!   of a size of the law (Carter & Cherkasova 1999, Figure 21), and the service time is in
//!   proportion to the size, scaled so that each worker of the application can just answer
//!   [`Model::service_rate`] a second. A load of 1 is what all workers can answer. Equal seeds give
//!   the clients of [`crate::dtoc`].
//! - A client waits for its patience, the same for all. Who has no answer by then leaves, and if it
//!   has retries left asks for the same again at once. The gate hears of a departure at the moment
//!   it happens.
//! - The gate answers some with 503 and a Retry-After. Such a client has its outcome, or, with
//!   [`Model::retry_refused`], comes again after that time if it has retries left.
//! - A call that the gate starts reaches the application after the hand-over gap. It joins the
//!   application's own queue, first come first served, in front of its workers. The application
//!   does not see who left and works on every call to the end. The end of the work is the answer:
//!   answers are small, so the first byte and the last come together, and the client has it at once.
//! - The gate knows what is asked (its kind is the size), not how long that takes: it has to learn
//!   it. Without [`Model::known`] it cannot tell requests apart.
//! - At one moment, the end of work comes before a client leaves, that before the gate is asked
//!   because a time limit passes, and that before a client comes: an answer exactly at the end of
//!   the patience is in time.
//! - Who counts are the clients that come in the window after a warm-up, followed until each has
//!   its outcome, while others go on coming. If nobody ever leaves, nobody comes after the window.
//!
//! # Recovery
//!
//! With a [`LoadDrop`] the load falls when all who count have their outcomes, and those who come
//! from then on are watched: see [`Recovery`].

mod application;
mod client;
mod model;
mod recovery;
mod repeat;
mod results;
mod run;
mod tally;

pub use model::{LoadDrop, Model, Prepared};
pub use recovery::{Newcomers, Recovery};
pub use results::Results;
pub use tally::Tally;

#[cfg(test)]
mod tests;
