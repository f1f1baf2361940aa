//! systemd's journal: each entry is a datagram to its socket, with lines `NAME=value`
//! (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>). Used by [`super::output`].
//!
//! An entry must fit a datagram, of which the kernel takes 208 KB (net.core.wmem_default). A request's
//! head has 32 KB at most, so that the line and the fields of it do.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

/// See the module.
#[derive(Debug)]
pub(crate) struct Journal {
    socket: UnixDatagram,
    /// Named with each entry: a journal that was started anew has another socket there.
    path: PathBuf,
}

impl Journal {
    /// The journal that listens on `path`.
    ///
    /// # Errors
    ///
    /// Nobody does; what to do.
    pub(super) fn open(path: &Path) -> io::Result<Journal> {
        let socket = UnixDatagram::unbound()?;
        check(path)?;
        Ok(Journal { socket, path: path.to_owned() })
    }

    /// Writes entries, however long it takes; each ends at one of `ends`.
    ///
    /// # Errors
    ///
    /// How many bytes of them are written.
    pub(super) fn write(
        &self,
        entries: &[u8],
        ends: impl Iterator<Item = usize>,
    ) -> Result<(), (usize, io::Error)> {
        let mut from = 0;
        for end in ends {
            let entry = entries.get(from..end).unwrap_or_default();
            self.send(entry).map_err(|error| (from, error))?;
            from = end;
        }
        Ok(())
    }

    fn send(&self, entry: &[u8]) -> io::Result<()> {
        loop {
            match self.socket.send_to(entry, &self.path) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                sent => return sent.map(drop),
            }
        }
    }
}

/// Whether a journal listens on `path`; nothing is sent.
///
/// # Errors
///
/// Why not, and what to do.
pub(super) fn check(path: &Path) -> io::Result<()> {
    UnixDatagram::unbound()?.connect(path).map_err(|error| {
        let what = format!(
            "{}: {error}; no journal of systemd listens there, so write stderr, stdout or a file as \
             `access_log`",
            path.display()
        );
        io::Error::new(error.kind(), what)
    })
}
