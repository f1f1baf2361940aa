//! The server: listens, reads requests, answers them from files, backends or the admin address, and
//! sends the responses, over the uplink if there is one. The program `weir` calls [`serve`] and
//! [`check`]; the fuzz targets use `fuzzing`.
//!
//! A request's path reads in order: `listen` accepts its connection, `connection` reads it,
//! `service` answers it, `send` sends the response, and the connection counts and logs it.
//! `app` builds all of that from the configuration.
//!
//! Modules use only those that stand before them in this order:
//!
//! 1. `error`, `identity`, `sys` (the operating system: clock, descriptors)
//! 2. `config`
//! 3. `logs`, `body` (bodies that wait on their way to and from backends)
//! 4. `metrics`
//! 5. `runtime` (turns of a worker, steps of stopping)
//! 6. `transport` (the bytes of a connection)
//! 7. `disk`, `uplink` (the gates)
//! 8. `client` (the other end of a connection), `content` (what can be sent)
//! 9. `response`
//! 10. `send`, `service`
//! 11. `connection`
//! 12. `listen`
//! 13. `app`

mod app;
mod body;
mod client;
pub mod config;
mod connection;
mod content;
mod disk;
#[cfg(test)]
mod documents;
mod error;
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
mod transport;
mod uplink;

pub use app::{check, serve};
pub use config::{Config, ConfigError, Settings};
pub use error::ServeError;
pub use logs::messages;
