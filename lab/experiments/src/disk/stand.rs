//! The slow disk with its files, which cells that come one after the other share: making 3 GB of files
//! takes longer than asking for them. The run of a cell uses it, the runner says until when it is kept.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weir_peers::{Result, tool};
use weir_stand::{FileSystem, Model, SlowDisk, root};
use weir_workload::FileSet;

use crate::cell::{Disk, Files};

/// The disk and what is on it.
pub(super) struct Stand {
    pub(super) disk: SlowDisk,
    /// The document root on it.
    pub(super) root: PathBuf,
    /// What bodies are the beginning of.
    pub(super) bodies: Arc<[u8]>,
    /// Where it was to be mounted.
    at: PathBuf,
    /// Directories of the set on it; smaller sets are its first ones.
    directories: u32,
}

/// Where a disk is mounted in the directory of a run.
const MOUNT: &str = "slow";
/// Whose the files are: Apache's user. The kernel tells the owner of a file for nothing what of it is in
/// memory (cachestat(2)), which the opener's module asks; the other servers run as root, whom it tells, too.
const OWNER: &str = "www-data";

static KEPT: Mutex<Option<Stand>> = Mutex::new(None);
static KEEPERS: AtomicUsize = AtomicUsize::new(0);

/// As long as one is there, the disk is kept for further cells; the last one takes it away.
pub(crate) struct Keep(());

impl Keep {
    /// One more.
    pub(crate) fn new() -> Keep {
        KEEPERS.fetch_add(1, Ordering::Relaxed);
        Keep(())
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        if KEEPERS.fetch_sub(1, Ordering::Relaxed) == 1 {
            *kept() = None;
        }
    }
}

/// Do something with the disk of a cell, whose mount is below `out`. One cell at a time has it; the
/// others wait.
///
/// # Errors
///
/// When the disk cannot be made, and those of `work`.
pub(super) fn with<T>(
    files: &Files,
    out: &Path,
    work: impl FnOnce(&Stand) -> Result<T>,
) -> Result<T> {
    let mut kept = kept();
    let (set, at) = (FileSet::of_bytes(files.set), out.join(MOUNT));
    let stand = match kept.take() {
        Some(stand) if stand.directories >= set.directories() && stand.at == at => stand,
        smaller => {
            // Its mount is where the new one's will be.
            drop(smaller);
            Stand::make(&set, files, at)?
        }
    };
    let stand = kept.insert(stand);
    stand.disk.set_model(model(files.disk));
    work(stand)
}

fn kept() -> MutexGuard<'static, Option<Stand>> {
    // After another thread's panic the disk is still a disk.
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stand {
    fn make(set: &FileSet, files: &Files, at: PathBuf) -> Result<Stand> {
        let documents = set.documents();
        let model = model(files.disk);
        let disk = SlowDisk::mount(&at, documents.bytes(), FileSystem::Ext4, model)?;
        let root = disk.path().join("set");
        root::make(&documents, &root)?;
        tool::output("chown", &["-R", "--", OWNER, &root.display().to_string()])?;
        // That was a change of each file.
        root::settle();
        let bodies = documents.bodies().into();
        Ok(Stand { disk, root, bodies, at, directories: set.directories() })
    }
}

fn model(disk: Disk) -> Model {
    let seek = Duration::from_secs_f64(disk.seek_ms / 1e3);
    Model { seek, bytes_per_second: disk.rate, channels: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_one_channel_and_its_times() {
        let found = model(Disk { seek_ms: 0.5, rate: 1000 });
        let expected =
            Model { seek: Duration::from_micros(500), bytes_per_second: 1000, channels: 1 };
        assert_eq!(found, expected);
    }
}
