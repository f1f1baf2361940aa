//! The servers that are compared, weir among them: one file a server, which makes its configuration and
//! its command line, and what starts, watches and stops a process. The experiments and the measurements
//! of costs use it.
//!
//! From the ground up, each module uses those before it only: [`Error`], [`interrupt`], [`tool`],
//! [`processes`], [`namespace`], [`Certificate`]; [`Options`] and [`Program`]; a module a server; [`probe`] and [`Server`].

mod certificate;
mod error;
pub mod interrupt;
pub mod namespace;
pub mod processes;
pub mod tool;

mod options;
mod program;

pub mod apache;
pub mod caddy;
pub mod h2o;
pub mod haproxy;
pub mod lighttpd;
pub mod nginx;
pub mod opener;
pub mod varnish;
pub mod weir;

pub mod probe;
mod server;

pub use certificate::Certificate;
pub use error::{Error, Result};
pub use options::{Compression, Content, Options};
pub use program::Program;
pub use server::Server;
