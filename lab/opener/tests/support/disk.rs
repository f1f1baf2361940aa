//! A disk below the files that fails or hangs. It needs root, /dev/fuse and loop devices.

use std::fs;
use std::path::Path;

use slowdisk::{Disk, Options};

/// A disk that fails or hangs as long as this lives: nothing that uses it waits longer, such as an opener that
/// is to end when a test has failed.
pub struct Trouble<'a>(pub &'a Disk);

impl Drop for Trouble<'_> {
    fn drop(&mut self) {
        self.0.hang(false);
        self.0.fail_reads(false);
    }
}

/// A disk with a file that is in memory and one of which only the name is: the directory is.
pub fn two_files(at: &Path) -> Disk {
    let disk = Disk::mount(&Options::new(at, 200 << 20));
    let disk = disk.expect("a disk can be made: this test needs root");
    for name in ["hot", "cold"] {
        fs::write(at.join(name), name.repeat(5000)).unwrap();
    }
    disk.remount().unwrap();
    assert!(fs::read(at.join("hot")).is_ok());
    assert!(fs::metadata(at.join("cold")).is_ok());
    disk
}
