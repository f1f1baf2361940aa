//! Schroeder 2003 (Schroeder & Harchol-Balter, Web servers under overload: how scheduling can help):
//! transient and persistent overload of an uplink, measured.

pub(super) mod aborts;
mod conditions;
mod gains;
pub(super) mod nasa;
pub(super) mod onoff;
pub(super) mod persistent;
mod ranges;
pub(super) mod realistic;
mod realistic_paper;
pub(super) mod router;
pub(super) mod table2;
pub(super) mod tls;
pub(super) mod traces;
pub(super) mod w1;
mod w1_paper;
pub(super) mod wan;
pub(super) mod wan_range;
pub(super) mod why;
pub(super) mod workloads;
mod workloads_paper;
