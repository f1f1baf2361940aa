//! `weir-lab opener`, which opens files for Apache: a process beside it, of the same memory group where
//! memory is limited, since what it warms counts there.

use std::path::Path;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};

use crate::program::Program;

/// The opener for files below `root`, asked over `socket` by Apache's workers. It runs as whoever starts
/// it; as root it opens what only root may read, and Apache does not.
pub fn program(weir_lab: &Path, socket: &Path, root: &Path) -> Program {
    let socket = [Path::new("--socket"), socket];
    let root = [Path::new("--root"), root];
    Program::new(weir_lab).arg("opener").args(socket).args(root).args([
        "--allow-user",
        "www-data",
        "--mode",
        "666",
    ])
}

/// Whether an opener can be asked over this socket, which keeps messages apart.
pub fn accepts(path: &Path) -> bool {
    let asked = SocketAddrUnix::new(path).and_then(|address| {
        let client = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None)?;
        connect(&client, &address)
    });
    asked.is_ok()
}
