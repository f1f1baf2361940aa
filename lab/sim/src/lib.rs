//! Servers in virtual time and closed forms: what a policy would reach, on loads and links that
//! this machine does not have. It drives the policies and the gates of `weir-sched`, the server's
//! own. `weir-lab sim` and the experiments use it.

pub mod backend;
pub mod dtoc;
pub mod ideal;
pub mod impatient;
pub mod model;
pub mod queue;
pub mod replications;
pub mod uplink;
