//! Cells with files on a slow disk that fit the server's memory only in part: one server after the other
//! on a core of its own, clients and disk on the other core, in phases of saturation and of an open
//! loop. The runner runs them, one at a time.

mod answered;
mod apache;
mod bench;
mod capacity;
mod figures;
mod nginx;
mod phases;
mod programs;
mod run;
mod stand;
mod systems;
mod waiting;
mod watch;

pub(crate) use run::run;
pub(crate) use stand::Keep;
pub use systems::SYSTEMS;
