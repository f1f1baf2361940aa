//! Closed forms: what queueing theory says of a server, without a simulation. Times are in the unit
//! of the sizes (a server of speed 1). The forms do not know the simulator, which tests them.

pub mod mg1;
pub mod mm1k;
pub mod onoff;
mod quadrature;
mod renewal;
mod sizes;
