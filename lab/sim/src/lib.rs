//! Servers in virtual time and closed forms: what a policy would reach, on loads and links that
//! this machine does not have. It drives the policies and the gate of `weir-sched`, the server's
//! own. It does not know sockets.

pub mod backend;
pub mod dtoc;
pub mod ideal;
pub mod model;
pub mod queue;
pub mod replications;
mod shares;
pub mod uplink;
