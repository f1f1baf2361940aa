//! The server: listeners, connections, files, the uplink, the admin address and their configuration.
//!
//! A request's path reads in order: listen, read, resolve, schedule, send, log. This crate
//! knows nothing of experiments or of how load is made.

mod access_log;
mod addresses;
mod admin;
mod buffers;
mod check;
mod client;
mod clock;
pub mod config;
mod connection;
mod content;
mod context;
mod deadlines;
mod disk;
#[cfg(test)]
mod documents;
mod end;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod limits;
mod lines;
mod listen;
pub mod messages;
mod metrics;
mod proxy;
mod rate;
mod refusals;
mod response;
mod send;
mod serve;
mod shown;
mod signals;
mod socket;
mod stop;
mod sys;
mod turn;
mod uplink;
mod worker;

pub use check::check;
pub use config::{Config, ConfigError, Settings};
pub use serve::{ServeError, serve};
