//! Where the lines of a log go: a file, standard output, standard error or systemd's journal. Used by the
//! thread that writes a log, which may wait.

use std::io;
use std::path::Path;

use super::journal::{self, Journal};
use super::stream::Stream;

/// See the module.
#[derive(Debug)]
pub(crate) enum Output {
    /// Lines follow each other.
    Stream(Stream),
    /// Each line is an entry.
    Journal(Journal),
}

impl Output {
    /// Standard error.
    pub(crate) fn stderr() -> io::Result<Output> {
        Stream::of(io::stderr(), "standard error").map(Output::Stream)
    }

    /// Standard output.
    pub(crate) fn stdout() -> io::Result<Output> {
        Stream::of(io::stdout(), "standard output").map(Output::Stream)
    }

    /// The end of a file, which is created if need be.
    ///
    /// # Errors
    ///
    /// Those of opening it; a FIFO that nobody reads from is one (ENXIO).
    pub(crate) fn file(path: &Path) -> io::Result<Output> {
        Stream::file(path).map(Output::Stream)
    }

    /// The journal that listens on this socket.
    ///
    /// # Errors
    ///
    /// Nobody does; what to do.
    pub(crate) fn journal(socket: &Path) -> io::Result<Output> {
        Journal::open(socket).map(Output::Journal)
    }

    /// Whether a journal listens on this socket.
    ///
    /// # Errors
    ///
    /// Why not, and what to do.
    pub(crate) fn check_journal(socket: &Path) -> io::Result<()> {
        journal::check(socket)
    }

    /// A stream for tests.
    #[cfg(test)]
    pub(super) fn to(stream: std::os::fd::OwnedFd) -> Output {
        Output::Stream(Stream::of(stream, "a pipe").unwrap())
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Output::Stream(stream) => stream.name.clone(),
            Output::Journal(_) => "the journal".to_owned(),
        }
    }

    /// Reopens a file by its name; false if it is no file.
    ///
    /// # Errors
    ///
    /// Those of opening it; then the old file is kept.
    pub(super) fn reopen(&mut self) -> io::Result<bool> {
        match self {
            Output::Stream(stream) => stream.reopen(),
            Output::Journal(_) => Ok(false),
        }
    }

    /// Writes whole lines, however long it takes; each ends at one of `ends`.
    ///
    /// # Errors
    ///
    /// How many bytes of them are written. The rest must not follow: what is written next begins a line.
    pub(super) fn write(
        &mut self,
        lines: &[u8],
        ends: impl Iterator<Item = usize>,
    ) -> Result<(), (usize, io::Error)> {
        match self {
            Output::Stream(stream) => stream.write(lines),
            Output::Journal(journal) => journal.write(lines, ends),
        }
    }
}
