//! What the tests of the opener share: the opener as a process, a client that speaks its messages, a disk
//! that fails or hangs, and waiting for a condition.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, dead_code, unreachable_pub)]

pub mod client;
pub mod disk;
pub mod process;

use std::time::{Duration, Instant};

/// Waits until `is_so`, which must not take longer than 30 s.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < patience, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A directory that everybody may enter.
pub fn open_directory() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    // On a disk, where files can be evicted from memory.
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), everybody).unwrap();
    directory
}
