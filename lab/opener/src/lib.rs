//! Opens files for servers whose processes would wait for the disk: finds a name, opens it, brings its
//! content into memory and passes the descriptor over a Unix socket. It is the backend of Flashpache (Ruan
//! & Pai, section 5.1): one thread that never waits and that keeps descriptors, and a few helpers
//! that wait for the disk, as do the threads that close what is kept no longer. `weir-lab opener` runs it;
//! the Apache module in `apache/` asks it.
//!
//! From the ground up, each module uses those before it only: [`protocol`], `counts`, `error`; `roots`,
//! `closing`, `find`, `resident`; `cache`, `helpers`, `misses`; `opener`; `peers`, `messages`, `listener`,
//! `connection`; `serve`.

mod cache;
mod closing;
mod connection;
mod counts;
mod error;
mod find;
mod helpers;
mod listener;
mod messages;
mod misses;
mod opener;
mod peers;
pub mod protocol;
mod resident;
mod roots;
mod serve;

pub use counts::Counts;
pub use error::Error;
pub use serve::{Options, serve};
