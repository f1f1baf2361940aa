//! The gate of the uplink, which says which response is sent next and how much of it, the pacer that
//! bounds what leaves, and the identities and packet sizes that both count with. Used by the server's
//! uplink task and by the simulator's link.

mod gate;
mod ids;
mod pacer;
mod wire;

pub use gate::{FairnessRecord, FlowSpec, Gate, GateConfig, Grant, JobSpec, LEASE, Next};
pub use ids::{ClientId, FlowId, JobId, ObjectId};
pub use pacer::Pacer;
pub use wire::{Packets, WireOverhead};
