//! A file that does not answer, as on a network file system that hangs: who reads it waits until the test
//! lets go.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};

use super::eventually;

/// A named pipe in the place of a file.
#[derive(Debug)]
pub struct HeldFile {
    at: PathBuf,
}

impl HeldFile {
    /// In the place of the file `at`, at once.
    pub fn replace(at: &Path) -> HeldFile {
        let new = at.with_extension("held");
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, &new, FileType::Fifo, mode, 0).expect("a named pipe");
        fs::rename(&new, at).expect("it has its name");
        HeldFile { at: at.to_owned() }
    }

    /// Waits until somebody reads it. Whoever does waits until what is returned is dropped, and finds the
    /// file empty then.
    pub fn wait_for_reader(&self) -> File {
        let mut held = None;
        eventually("somebody reads the file", || {
            // It fails while nobody does (fifo(7)).
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            held = open(&self.at, flags, Mode::empty()).ok();
            held.is_some()
        });
        held.map(File::from).expect("somebody reads it")
    }
}
