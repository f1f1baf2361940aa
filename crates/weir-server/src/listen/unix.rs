//! Listens on a Unix socket: the file that a dead server has left is replaced, and what somebody uses is
//! left alone. Used by [`super::Listener`], and by `weir serve --check`.
//!
//! Two servers that start on one path at the same moment are not told apart: the later one has it.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use socket2::{Domain, SockAddr, Socket, Type};

use super::sockets::BACKLOG;

/// Who may connect: everybody who can reach the file, whatever the umask says, so that a proxy of
/// another user can. nginx does the same; the directory says who reaches it.
pub(super) const EVERYBODY: u32 = 0o666;

/// The same for the user of the server alone.
const OWNER: u32 = 0o600;

/// Whether the files of inherited sockets are this server's: they are the predecessor's until it is told that
/// this server serves. The default is that they are not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claim(Arc<AtomicBool>);

impl Claim {
    /// Whose they are from now on.
    pub(crate) fn set(&self, is_ours: bool) {
        self.0.store(is_ours, Ordering::Relaxed);
    }

    fn is_ours(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The file of a socket that this process listens on. It is removed when this is dropped, unless it is
/// another's by then.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode, which are not used again while the socket is open.
    identity: (u64, u64),
    claim: Claim,
    /// A successor listens on the same socket.
    stays: AtomicBool,
}

impl SocketFile {
    /// The file at `path`, if there is one: that of a socket which a predecessor has opened. It is removed
    /// only once `claim` says that it is this server's.
    pub(crate) fn inherited(path: &Path, claim: &Claim) -> Option<SocketFile> {
        let found = fs::symlink_metadata(path).ok()?;
        let (path, identity) = (path.to_owned(), identity(&found));
        Some(SocketFile { path, identity, claim: claim.clone(), stays: AtomicBool::new(false) })
    }

    /// The file at `path`, which this server has made.
    fn own(path: &Path) -> Option<SocketFile> {
        let claim = Claim::default();
        claim.set(true);
        SocketFile::inherited(path, &claim)
    }

    /// It is not removed: a successor listens on the same socket.
    pub(crate) fn leave(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.stays.load(Ordering::Relaxed) || !self.claim.is_ours() {
            return;
        }
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| identity(&found) == self.identity)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!("the socket {} cannot be removed: {error}", self.path.display());
        }
    }
}

/// Listens on `path` for nobody but the user of the server.
///
/// # Errors
///
/// As [`open`].
pub(crate) fn open_for_owner(path: &Path) -> io::Result<(OwnedFd, SocketFile)> {
    open(path, OWNER)
}

/// Listens on `path`; `mode`: who may connect.
///
/// # Errors
///
/// Another server answers there, something that is no socket is there, or no file can be created.
pub(super) fn open(path: &Path, mode: u32) -> io::Result<(OwnedFd, SocketFile)> {
    if has_socket(path)? {
        if is_answered(path)? {
            let why = "another server answers there; stop it, or listen elsewhere";
            return Err(io::Error::new(ErrorKind::AddrInUse, why));
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let why = format!("the socket that a dead server has left stays: {error}");
                return Err(io::Error::new(error.kind(), why));
            }
            _ => {}
        }
    }
    let socket = bind(&SockAddr::unix(path)?)?;
    let file = SocketFile::own(path).ok_or(ErrorKind::NotFound)?;
    // Nobody can connect before it listens.
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    socket.listen(BACKLOG)?;
    Ok((socket.into(), file))
}

/// Listens on an abstract name, which ends with its socket and which everybody may connect to.
///
/// # Errors
///
/// Another server has it.
pub(super) fn open_abstract(name: &str) -> io::Result<OwnedFd> {
    let socket = bind(&SockAddr::unix(format!("\0{name}"))?)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Whether a server could listen on `path`, without connecting to one that does; true if a socket is
/// there already.
///
/// # Errors
///
/// Something that is no socket is there, or no file can be created.
pub(crate) fn check(path: &Path) -> io::Result<bool> {
    let has_socket = has_socket(path)?;
    let directory = directory_of(path);
    let access = Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, directory, access, AtFlags::EACCESS).map_err(|error| {
        let why = format!("no file can be created in {}: {error}", directory.display());
        io::Error::new(error.kind(), why)
    })?;
    Ok(has_socket)
}

/// Whether a socket is at `path`; otherwise there can be one.
fn has_socket(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => Ok(true),
        Ok(found) => {
            let what = if found.is_dir() { "a directory" } else { "a file that is no socket" };
            let why = format!("{what} is there, and left alone; remove it, or listen elsewhere");
            Err(io::Error::new(ErrorKind::AlreadyExists, why))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let directory = directory_of(path);
            fs::metadata(directory).map(|_| false).map_err(|error| {
                let why = format!("the directory {}: {error}; create it", directory.display());
                io::Error::new(error.kind(), why)
            })
        }
        Err(error) => Err(error),
    }
}

/// Whether somebody listens on the socket at `path`.
fn is_answered(path: &Path) -> io::Result<bool> {
    let probe = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    probe.set_nonblocking(true)?;
    match probe.connect(&SockAddr::unix(path)?).map_err(|error| (error.kind(), error)) {
        Ok(()) => Ok(true),
        Err((ErrorKind::ConnectionRefused | ErrorKind::NotFound, _)) => Ok(false),
        // Its queue is full.
        Err((ErrorKind::WouldBlock, _)) => Ok(true),
        Err((kind, error)) => {
            let why = format!("whether another server answers there cannot be told: {error}");
            Err(io::Error::new(kind, why))
        }
    }
}

fn bind(address: &SockAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(address)?;
    Ok(socket)
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}
