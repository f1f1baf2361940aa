//! A log that is a stream of bytes: a file, standard output or standard error. It is written line by line,
//! even if the disk fills up in the middle of one. Used by [`super::output`].

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

/// See the module.
#[derive(Debug)]
pub(crate) struct Stream {
    to: File,
    /// What it is called in messages: with its path, or the name of the stream.
    pub(super) name: String,
    /// That of a file.
    path: Option<PathBuf>,
    /// The last line is incomplete: the length of the file after it.
    broken: Option<u64>,
}

impl Stream {
    /// The end of a file, which is created if need be.
    ///
    /// # Errors
    ///
    /// Those of opening it; a FIFO that nobody reads from is one (ENXIO).
    pub(super) fn file(path: &Path) -> io::Result<Stream> {
        let (to, name) = (open(path)?, format!("access log {}", path.display()));
        Ok(Stream { to, name, path: Some(path.to_owned()), broken: None })
    }

    /// A stream of the process, or of a test.
    ///
    /// # Errors
    ///
    /// There is no descriptor for it.
    pub(super) fn of(stream: impl AsFd, name: &str) -> io::Result<Stream> {
        // A descriptor of its own, without the locks and buffers of the standard library.
        let to = File::from(stream.as_fd().try_clone_to_owned()?);
        Ok(Stream { to, name: name.to_owned(), path: None, broken: None })
    }

    /// Reopens a file by its name; false if it is no file.
    ///
    /// # Errors
    ///
    /// Those of opening it; then the old file is kept.
    pub(super) fn reopen(&mut self) -> io::Result<bool> {
        let Some(path) = &self.path else { return Ok(false) };
        self.to = open(path)?;
        self.broken = None;
        Ok(true)
    }

    /// Writes whole lines, however long it takes.
    ///
    /// # Errors
    ///
    /// How many bytes of them are written. The rest must not follow: what is written next begins a line.
    pub(super) fn write(&mut self, lines: &[u8]) -> Result<(), (usize, io::Error)> {
        self.end_broken_line().map_err(|error| (0, error))?;
        let mut done = 0;
        while done < lines.len() {
            match self.write_some(&lines[done..]) {
                Ok(count) => done += count,
                Err(error) => {
                    if done > 0 && lines[done - 1] != b'\n' {
                        self.broken = Some(self.length());
                    }
                    return Err((done, error));
                }
            }
        }
        Ok(())
    }

    /// Ends an incomplete line, unless the file was cut shorter since.
    fn end_broken_line(&mut self) -> io::Result<()> {
        if let Some(length) = self.broken {
            if self.length() >= length {
                while self.write_some(b"\n")? == 0 {}
            }
            self.broken = None;
        }
        Ok(())
    }

    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.to.write(bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Another process that shares the stream has made it non-blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.until_writable()?,
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                written => return written,
            }
        }
    }

    fn until_writable(&self) -> io::Result<()> {
        match poll(&mut [PollFd::new(&self.to, PollFlags::OUT)], None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The length of a file; 0 for a stream.
    fn length(&self) -> u64 {
        self.to.metadata().map_or(0, |metadata| metadata.len())
    }
}

fn open(path: &Path) -> io::Result<File> {
    // NONBLOCK: opening a FIFO would wait for a reader. Writing then waits as usual.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.create(true).append(true).custom_flags(flags.bits() as i32);
    let file = options.open(path)?;
    let without = fcntl_getfl(&file)? - OFlags::NONBLOCK;
    fcntl_setfl(&file, without)?;
    Ok(file)
}
