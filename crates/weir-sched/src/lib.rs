//! Which response goes next over a scarce thing: jobs, policies, gates and pacing. Used by the server
//! (uplink, disks and proxy) and by the simulator, which drives the same code in virtual time.
//!
//! A [`Gate`] holds the waiting jobs, asks a [`Policy`] which goes next, lets through no more than
//! its [`Pacer`] allows and forgets a job the moment its client has gone. A [`DiskGate`] does the same
//! for the pieces of work that wait for a disk, and a [`BackendGate`] for calls of an application.
//! Time comes in as an argument and decisions go out as values, so there is no I/O, clock or thread.

pub mod backend;
mod disk;
mod heap;
pub mod policy;
mod sizes;
mod time;
mod token_buckets;
mod uplink;
mod virtual_fair;

pub use backend::{
    Abandoned, BackendConfig, BackendGate, BackendOrder, Call, CallLimit, CallNext, CallSpec,
    balance, health,
};
pub use disk::{DiskConfig, DiskGate, DiskJob, DiskNext, Joined};
pub use policy::{FairState, Path, Policy, PolicyKind};
pub use sizes::RecentSizes;
pub use time::Time;
pub use token_buckets::{BucketRate, TokenBuckets};
pub use uplink::{
    ClientId, FairnessRecord, FlowId, FlowSpec, Gate, GateConfig, Grant, JobId, JobSpec, LEASE,
    Next, ObjectId, Pacer, Packets, WireOverhead,
};
pub use virtual_fair::{Level, VirtualFair};
pub use weir_units::BitRate;
