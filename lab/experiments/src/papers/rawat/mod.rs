//! Rawat & Kshemkalyani 2003: SWIFT, which puts the far before the near. Clients far away among others
//! beside the server, simulated and over an emulated link.

mod beside;
mod claims;
mod curves;
mod played;
pub(super) mod promise;
mod scene;
pub(super) mod simulated;
pub(super) mod wan;
