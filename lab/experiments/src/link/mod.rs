//! Cells with an emulated or plain link of a certain rate: a server of documents in a network
//! namespace of its own, users in another, and what both sides and the link show. The runner runs them.

pub(crate) mod counters;
pub(crate) mod demand;
pub mod initial_rto;
pub(crate) mod namespace;
pub(crate) mod network;
mod run;
mod sampling;
pub(crate) mod systems;

pub(crate) use run::run;
