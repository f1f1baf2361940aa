//! What a server of files is put on: a core of its own, addresses and a document root, and where the files
//! are on a slow disk the disk, a memory group for the server and its page cache, and clients that fill its
//! cache. `weir-costs` and the experiments use it.
//!
//! From the ground up: [`cores`], [`root`], [`address`]; [`MemoryGroup`]; [`Locked`]; [`SlowDisk`];
//! [`BeforeOrdinary`]; [`send()`]; [`fill_cache()`].

pub mod address;
pub mod cores;
mod disk;
mod fill;
mod group;
mod locked;
mod priority;
pub mod root;
mod send;
mod workers;

pub use disk::{SlowDisk, Work};
pub use fill::fill_cache;
pub use group::MemoryGroup;
pub use locked::Locked;
pub use priority::BeforeOrdinary;
pub use send::send;
pub use slowdisk::{FileSystem, Model};
