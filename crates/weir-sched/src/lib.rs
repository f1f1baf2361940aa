//! Which response goes next over a scarce thing: jobs, policies, gates and pacing.
//!
//! A [`Gate`] holds the waiting jobs, asks a [`Policy`] which goes next, lets through no more than
//! its [`Pacer`] allows and forgets a job the moment its client has gone. Nothing here does I/O,
//! reads a clock or starts a thread: time comes in as an argument and decisions go out as values,
//! so the server, the simulator and the tests run the same code. A [`DiskGate`] does the same for
//! the pieces of work that wait for a disk, and a [`BackendGate`] for calls of an application.

pub mod backend;
mod disk;
mod heap;
pub mod policy;
mod time;
mod uplink;
mod virtual_fair;

pub use backend::{
    Abandoned, BackendConfig, BackendGate, BackendOrder, Call, CallLimit, CallNext, CallSpec,
    balance, health,
};
pub use disk::{DiskConfig, DiskGate, DiskJob, DiskNext, Joined};
pub use policy::{FairState, Path, Policy, PolicyKind};
pub use time::Time;
pub use uplink::{
    ClientId, FairnessRecord, FlowId, FlowSpec, Gate, GateConfig, Grant, JobId, JobSpec, LEASE,
    Next, ObjectId, Pacer, Packets, WireOverhead,
};
pub use virtual_fair::{Level, VirtualFair};
pub use weir_units::BitRate;
