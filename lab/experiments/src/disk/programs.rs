//! What a server of files is told, and the programs that it is made of. `systems` and `apache` make them,
//! the bench starts them.

use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};

use weir_peers::Program;

/// What a system is told.
pub(super) struct Place<'a> {
    /// Where it listens.
    pub(super) address: SocketAddrV4,
    /// Where weir's figures are.
    pub(super) admin: SocketAddrV4,
    /// What it serves.
    pub(super) root: &'a Path,
    /// Where its configuration, its log and its temporary files go.
    pub(super) directory: &'a Path,
    /// Bytes of its group.
    pub(super) memory: u64,
    /// Files it may have open.
    pub(super) open_files: usize,
}

/// What a system is made of.
pub(super) struct Programs {
    /// The server, to be started in the foreground.
    pub(super) server: Program,
    /// What opens files for it, which is started before it.
    pub(super) opener: Option<Opener>,
}

/// A process that opens files for a server.
pub(super) struct Opener {
    pub(super) program: Program,
    /// Where it is asked.
    pub(super) socket: PathBuf,
}
