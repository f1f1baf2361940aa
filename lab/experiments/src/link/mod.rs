//! Cells with an emulated or plain link of a certain rate: a server of documents in a network
//! namespace of its own, users in another, and what both sides and the link show. The runner runs them.

mod counters;
pub(crate) mod demand;
pub(crate) mod initial_rto;
mod network;
mod probe;
mod run;
mod sampling;
mod secure;
mod systems;
mod users;

pub(crate) use run::run;
