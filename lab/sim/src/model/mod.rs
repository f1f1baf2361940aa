//! Closed forms: what queueing theory says of a server, without a simulation. Times are in the unit
//! of the sizes (a server of speed 1). `weir-lab sim model` prints them, the experiments compare
//! with them, and the simulator is tested against them.

pub mod mg1;
pub mod mm1k;
pub mod onoff;
mod pieces;
mod quadrature;
mod renewal;
mod sizes;
