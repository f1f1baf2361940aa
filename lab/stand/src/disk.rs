//! The slow disk as measurements need it, so that slowdisk is used in one place: mounted, slow or fast,
//! forgotten by the page cache, and what it did.

use std::path::Path;

use slowdisk::{Disk, FileSystem, Model, Options};
use weir_peers::{Error, Result};

use crate::workers::Workers;

/// A mounted disk; gone when dropped, with all that is on it. Its threads run on the cores of the thread
/// that mounts it, and so do all of the kernel's that are bound to no core, since a loop device's read it.
#[derive(Debug)]
pub struct SlowDisk {
    disk: Disk,
    model: Model,
    /// Dropped after the disk.
    _workers: Workers,
}

/// What the disk did in a stretch of time.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Operations.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Sum of the service times.
    pub busy_seconds: f64,
}

impl SlowDisk {
    /// Mount a disk with room for `bytes` of files; not slow yet.
    ///
    /// # Errors
    ///
    /// When the disk cannot be made: without root, FUSE or loop devices, or where the kernel's worker
    /// threads cannot be moved.
    pub fn mount(at: &Path, bytes: u64, file_system: FileSystem, model: Model) -> Result<SlowDisk> {
        // Inodes, journal, reserve, and the unused ends of last blocks.
        let bytes = bytes + bytes / 5 + (400 << 20);
        // Reads that cause writes would blur what is measured, for all alike.
        let no_access_times = true;
        let like = Options { file_system, no_access_times, ..Options::new(at, bytes) };
        let workers = Workers::keep_here()?;
        Ok(SlowDisk { disk: Disk::mount(&like).map_err(wrong)?, model, _workers: workers })
    }

    /// Where its file system is mounted.
    pub fn path(&self) -> &Path {
        self.disk.path()
    }

    /// How slow it is when it is slow.
    pub fn set_model(&mut self, model: Model) {
        self.model = model;
    }

    /// Let reads take their time, or none.
    pub fn slow(&self, slow: bool) {
        self.disk.set_model(slow.then_some(self.model));
    }

    /// Write everything out and empty all caches of it; no file may be open.
    ///
    /// # Errors
    ///
    /// When a file is open.
    pub fn forget(&self) -> Result<()> {
        self.slow(false);
        self.disk.remount().map_err(wrong)
    }

    /// What it has done since it was asked last.
    pub fn work(&self) -> Work {
        let counts = self.disk.counts();
        self.disk.reset_counts();
        Work {
            reads: counts.reads,
            read_bytes: counts.read_bytes,
            busy_seconds: counts.busy.as_secs_f64(),
        }
    }
}

fn wrong(error: slowdisk::Error) -> Error {
    Error(format!("the slow disk: {error}"))
}
