//! The server: listens, reads requests, answers them from files, backends or the admin address, and
//! sends the responses, over the uplink if there is one. The program `weir` calls [`serve`], [`check`] and
//! [`reload`]; the fuzz targets use `fuzzing`, the lab's opener what tells whether files are in memory.
//!
//! A request's path reads in order: `listen` accepts its connection, `protocol` reads it, `service`
//! answers it, `protocol` frames the answer, `send` sends it, and `protocol` has it counted and logged.
//! `app` builds all of that from the configuration.
//!
//! Modules use only those that stand before them in this order:
//!
//! 1. `error`, `identity`, `sys` (the operating system: clock, descriptors, the service manager)
//! 2. `config`
//! 3. `logs`, `body` (bodies that wait on their way to and from backends), `access` (who may ask)
//! 4. `metrics`
//! 5. `runtime` (turns of a worker, steps of stopping)
//! 6. `transport` (the bytes of a connection)
//! 7. `disk`, `uplink` (the gates), `compress` (content codings, by threads of their own)
//! 8. `client` (the other end of a connection), `content` (what can be sent)
//! 9. `answer` (what services answer)
//! 10. `response` (how an answer goes over a connection)
//! 11. `send`, `service`
//! 12. `protocol`
//! 13. `listen`
//! 14. `app`

mod access;
mod answer;
mod app;
mod body;
mod client;
mod compress;
pub mod config;
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
mod protocol;
mod response;
mod runtime;
mod send;
mod service;
mod sys;
mod transport;
mod uplink;

pub use app::{Program, check, reload, serve};
pub use config::{Config, ConfigError, Settings};
pub use content::{FileAccess, file_access};
pub use error::ServeError;
pub use logs::messages;
pub use metrics::Build;
pub use sys::pages_in_memory;
pub use uplink::bands;
