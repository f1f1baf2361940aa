//! A disk with a service-time model that carries a real file system.
//!
//! A FUSE file system holds one file; a loop device with direct I/O sits on that
//! file; ext4 or xfs is made on the loop device and mounted. So every read and
//! write of the device, of data and of metadata alike, is counted and takes the
//! time that the [`Model`] says. The cost runs of the lab serve files from it.
//!
//! ```no_run
//! use std::time::Duration;
//! use slowdisk::{Disk, Model, Options};
//!
//! # fn main() -> Result<(), slowdisk::Error> {
//! let disk = Disk::mount(&Options::new("/mnt/slow", 8 << 30))?;
//! // Fill it quickly, write everything out and forget it, then read slowly.
//! // … write files under disk.path() …
//! disk.remount()?;
//! disk.set_model(Some(Model {
//!     seek: Duration::from_millis(2),
//!     bytes_per_second: 60_000_000,
//!     channels: 1,
//! }));
//! // … read them …
//! println!("{:?}", disk.counts());
//! disk.unmount()
//! # }
//! ```

mod backing;
mod device;
mod disk;
mod engine;
mod error;
mod leftovers;
mod loopback;
mod mounts;
mod options;
mod service;

pub use disk::Disk;
pub use engine::Counts;
pub use error::Error;
pub use leftovers::clean;
pub use options::{Backing, FileSystem, Options};
pub use service::Model;
