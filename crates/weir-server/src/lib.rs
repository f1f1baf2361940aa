//! The server: listeners, connections, files, the uplink, the admin address and their configuration.
//!
//! A request's path reads in order: listen, read, resolve, schedule, send, log. This crate
//! knows nothing of experiments or of how load is made.

mod app;
mod body;
mod client;
pub mod config;
mod connection;
mod content;
mod disk;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod identity;
mod listen;
mod logs;
mod metrics;
mod response;
mod runtime;
mod send;
mod service;
mod sys;
mod uplink;

pub use app::{ServeError, check, serve};
pub use config::{Config, ConfigError, Settings};
pub use logs::messages;
