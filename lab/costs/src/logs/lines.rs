//! The lines of a log that a server writes: counted as they come, and dropped between two measurements, so
//! that the disk has room for all of them.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weir_peers::{Error, Result, interrupt};

/// How long nothing comes when all has come: nginx writes its buffer once a second.
const QUIET: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(10);
/// Bytes that are read at once.
const BUFFER: usize = 1 << 20;

/// A log.
#[derive(Debug)]
pub(super) struct Lines {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    count: u64,
}

impl Lines {
    /// Those of a file, from now on.
    pub(super) fn of(path: &Path) -> Result<Lines> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(|e| Error::file("read", path, &e))?;
        let (path, buffer) = (path.to_owned(), vec![0; BUFFER]);
        let mut lines = Lines { path, file, buffer, count: 0 };
        lines.drop_all()?;
        Ok(lines)
    }

    /// Drop what there is. Servers append, so that they go on at the beginning.
    pub(super) fn drop_all(&mut self) -> Result<()> {
        self.count = 0;
        let emptied = self.file.set_len(0).and_then(|()| self.file.rewind());
        emptied.map_err(|e| Error::file("empty", &self.path, &e))
    }

    /// How many there are when so many have come, or no more come.
    pub(super) fn wait_for(&mut self, expected: u64) -> Result<u64> {
        let mut last = Instant::now();
        loop {
            let before = self.count;
            self.read_on().map_err(|e| Error::file("read", &self.path, &e))?;
            if self.count > before {
                last = Instant::now();
            }
            if self.count >= expected || last.elapsed() > QUIET {
                return Ok(self.count);
            }
            interrupt::sleep(LOOK)?;
        }
    }

    fn read_on(&mut self) -> io::Result<()> {
        loop {
            match self.file.read(&mut self.buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    let ends = self.buffer[..count].iter().filter(|byte| **byte == b'\n');
                    self.count += ends.count() as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_are_counted_until_all_have_come_and_dropped() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let mut server = OpenOptions::new().create(true).append(true).open(&path).expect("a file");
        server.write_all(b"of an earlier run\n").expect("room");
        let mut lines = Lines::of(&path).expect("it is there");
        server.write_all(b"one\ntwo\nthr").expect("room");
        assert_eq!(lines.wait_for(2), Ok(2));
        server.write_all(b"ee\n").expect("room");
        assert_eq!(lines.wait_for(3), Ok(3));
        lines.drop_all().expect("it can be emptied");
        server.write_all(b"four\n").expect("room");
        assert_eq!(lines.wait_for(1), Ok(1));
        assert_eq!(std::fs::read(&path).expect("it is there"), b"four\n");
    }

    #[test]
    fn lines_that_do_not_come_are_not_waited_for_without_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        std::fs::write(&path, "").expect("room");
        let mut lines = Lines::of(&path).expect("it is there");
        assert_eq!(lines.wait_for(1), Ok(0));
        assert!(Lines::of(&directory.path().join("none")).is_err());
    }
}
