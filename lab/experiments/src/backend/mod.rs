//! Proxies in front of an application that does one thing at a time, asked for more than it can do,
//! by clients who leave: the cells of `carter-proxy`.
//!
//! Everything is on the loopback interface. The application is a process of its own (`weir-lab
//! application`); clients are `weir-load`'s, open loop, each request on a connection of its own; what
//! was of use is found by joining their records with the application's log.

mod application;
mod clock;
mod demand;
mod figures;
mod proxies;
mod run;
mod service;
mod service_log;

pub use application::{Application, serve};
pub use proxies::SYSTEMS;
pub(crate) use run::{run, slots};
