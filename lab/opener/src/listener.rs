//! The socket that servers connect to: the file that a dead opener has left is replaced, and what somebody
//! uses is left alone. Used by `serve`.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::process::umask;
use socket2::{Domain, SockAddr, Socket, Type};

use crate::error::Error;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// The file of the socket. It is removed when this is dropped, unless it is another's by then.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens on `path`, whose file gets `mode`. To be called while this process has one thread. Of those that
/// start at the same time one after the other has its turn: the second finds that the first answers.
///
/// # Errors
///
/// Another opener answers there, something that is no socket is there, or no file can be created.
pub(crate) fn listen(path: &Path, mode: u32) -> Result<(UnixListener, SocketFile), Error> {
    let why = |error: io::Error| Error(format!("cannot listen on {}: {error}", path.display()));
    // Until this socket answers. One that is bound and does not listen yet looks like a dead one.
    let _lock = lock(path).map_err(why)?;
    remove_dead(path)?;
    let socket = seqpacket().map_err(why)?;
    // The file never has more rights than it ends with.
    let before = umask(Mode::from_raw_mode(!mode & 0o777));
    let bound = SockAddr::unix(path).and_then(|address| socket.bind(&address));
    umask(before);
    bound.map_err(why)?;
    let found = fs::symlink_metadata(path).map_err(why)?;
    let file = SocketFile { path: path.to_owned(), identity: (found.dev(), found.ino()) };
    socket.listen(BACKLOG).map_err(why)?;
    Ok((OwnedFd::from(socket).into(), file))
}

/// Waits until nobody else is about to listen on `path`, and keeps others from it as long as the descriptor is
/// open. The file beside the socket stays: were it removed, somebody could hold the lock of the old one while
/// another makes it anew.
fn lock(path: &Path) -> io::Result<OwnedFd> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let why = |error: Errno| io::Error::other(format!("{}: {error}", Path::new(&name).display()));
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let opened = match open(&name, flags, Mode::empty()) {
        // Not at once: in /tmp not even root may "create" a file of somebody else's that is there.
        Err(Errno::NOENT) => open(&name, flags | OFlags::CREATE, Mode::RUSR | Mode::WUSR),
        opened => opened,
    };
    let file = opened.map_err(why)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

/// Removes a socket that nobody answers.
fn remove_dead(path: &Path) -> Result<(), Error> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error(format!("cannot listen on {shown}: {error}"))),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(Error(format!(
                "{shown} is there and no socket: remove it, or listen elsewhere"
            )));
        }
        Ok(_) => {}
    }
    let connected = seqpacket().and_then(|probe| probe.connect(&SockAddr::unix(path)?));
    match connected.map_err(|error| (error.kind(), error)) {
        Err((ErrorKind::ConnectionRefused | ErrorKind::NotFound, _)) => fs::remove_file(path)
            .or_else(|error| match error.kind() {
                ErrorKind::NotFound => Ok(()),
                _ => Err(Error(format!("cannot remove the dead socket {shown}: {error}"))),
            }),
        Ok(()) | Err((ErrorKind::WouldBlock, _)) => Err(Error(format!(
            "another opener answers on {shown}: stop it, or listen elsewhere; one that was killed \
                 while its disk hangs goes on listening, so remove its socket"
        ))),
        Err((_, error)) => Err(Error(format!("cannot tell who answers on {shown}: {error}"))),
    }
}

fn seqpacket() -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::SEQPACKET, None)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::{Barrier, Mutex, PoisonError};
    use std::thread;

    use super::*;

    /// The umask is that of the whole process, in which each test has a thread.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn a_dead_socket_is_replaced_and_a_living_one_is_not() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("opener");
        let (living, file) = listen(&path, 0o660).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        let error = listen(&path, 0o600).unwrap_err().to_string();
        assert!(error.contains("another opener"), "{error}");
        // One that was killed leaves its file.
        std::mem::forget(file);
        drop(living);
        let (_, file) = listen(&path, 0o600).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(file);
        assert!(!path.exists());
        fs::write(&path, "").unwrap();
        assert!(listen(&path, 0o600).unwrap_err().to_string().contains("no socket"));
        let path = directory.path().join("locked");
        fs::create_dir(directory.path().join("locked.lock")).unwrap();
        assert!(listen(&path, 0o600).unwrap_err().to_string().contains("locked.lock"));
    }

    /// Each finds the file of one that was killed. Whoever loses must not take away what the winner has made.
    #[test]
    fn of_those_that_start_at_once_one_listens() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("opener");
        let address = SockAddr::unix(&path).unwrap();
        for _ in 0..100 {
            seqpacket().unwrap().bind(&address).unwrap();
            let together = Barrier::new(4);
            let listening: Vec<_> = thread::scope(|scope| {
                let start = || {
                    together.wait();
                    // With this mode no file of another test is made with fewer rights.
                    listen(&path, 0o777)
                };
                let starting = [(); 4].map(|()| scope.spawn(start));
                starting.into_iter().filter_map(|starting| starting.join().unwrap().ok()).collect()
            });
            assert_eq!(listening.len(), 1);
            assert!(seqpacket().unwrap().connect(&address).is_ok());
        }
    }
}
