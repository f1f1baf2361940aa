//! The slow disk as this benchmark needs it, so that slowdisk is used in one place: mounted, slow or
//! fast, forgotten by the page cache, and what it did.

use std::fs;
use std::path::Path;

use slowdisk::{Disk, FileSystem, Model, Options};
use weir_peers::{Error, Result};

use crate::options::DiskOptions;

pub(crate) struct SlowDisk {
    disk: Disk,
    model: Model,
}

/// What the disk did in a stretch of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    /// Sum of the service times.
    pub(crate) busy_seconds: f64,
}

impl SlowDisk {
    /// Mount a disk with room for `bytes` of files; not slow yet.
    pub(crate) fn mount(at: &Path, bytes: u64, options: &DiskOptions) -> Result<SlowDisk> {
        let file_system = match options.fs.as_str() {
            "ext4" => FileSystem::Ext4,
            "xfs" => FileSystem::Xfs,
            other => return Err(Error(format!("no file system {other:?} here: ext4 or xfs"))),
        };
        // Inodes, journal, reserve, and the unused ends of last blocks.
        let bytes = bytes + bytes / 5 + (400 << 20);
        // Reads that cause writes would blur what is measured, for all alike.
        let no_access_times = true;
        let like = Options { file_system, no_access_times, ..Options::new(at, bytes) };
        let disk = Disk::mount(&like).map_err(|e| Error(format!("the slow disk: {e}")))?;
        let (seek, bytes_per_second) = (options.seek.0, options.rate);
        let model = Model { seek, bytes_per_second, channels: options.channels };
        Ok(SlowDisk { disk, model })
    }

    pub(crate) fn path(&self) -> &Path {
        self.disk.path()
    }

    /// Let reads take their time, or none.
    pub(crate) fn slow(&self, slow: bool) {
        self.disk.set_model(slow.then_some(self.model));
    }

    /// Write everything out and empty all caches of it; no file may be open.
    pub(crate) fn forget(&self) -> Result<()> {
        self.slow(false);
        self.disk.remount().map_err(|e| Error(format!("the slow disk: {e}")))?;
        fs::write("/proc/sys/vm/drop_caches", "3")
            .map_err(|e| Error(format!("cannot drop the caches: {e}; are you root?")))
    }

    /// What it has done since it was asked last.
    pub(crate) fn work(&self) -> Work {
        let counts = self.disk.counts();
        self.disk.reset_counts();
        Work {
            reads: counts.reads,
            read_bytes: counts.read_bytes,
            busy_seconds: counts.busy.as_secs_f64(),
        }
    }
}
