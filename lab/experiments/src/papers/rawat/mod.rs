//! Rawat & Kshemkalyani 2003: SWIFT, which puts the far before the near. Clients far away among others
//! beside the server, simulated.

mod beside;
mod claims;
mod curves;
mod played;
pub(super) mod promise;
mod scene;
pub(super) mod simulated;
