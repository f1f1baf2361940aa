//! The descriptor of something that was opened, and how it is closed. That may take long: a remote file
//! system may not answer, and with the last descriptor of a deleted file all its pages and blocks are
//! freed. A thread does it then, one for each device, so that no device waits for another. Used by
//! whatever opens and reads files.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, fstat};

/// How long a thread waits for something to close before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// Whether closing takes long.
#[derive(Clone, Copy, Debug)]
pub(super) enum Closing {
    /// It does not.
    AtOnce,
    /// It does if the file has no name any more: its space is freed.
    MayFree,
    /// It may: a remote file system is asked.
    MayHang,
}

/// A descriptor, which is closed where nobody waits for that.
#[derive(Debug)]
pub(crate) struct Descriptor {
    /// `None` while it is being dropped.
    fd: Option<OwnedFd>,
    /// What it is on (`st_dev`).
    device: u64,
    closing: Closing,
}

impl Descriptor {
    /// `device`: what it is on (`st_dev`).
    pub(super) fn new(fd: OwnedFd, device: u64, closing: Closing) -> Descriptor {
        Descriptor { fd: Some(fd), device, closing }
    }

    /// Whether closing it now may take long.
    pub(super) fn takes_long(&self) -> bool {
        match self.closing {
            Closing::AtOnce => false,
            Closing::MayFree => fstat(self).is_ok_and(|stat| stat.st_nlink == 0),
            Closing::MayHang => true,
        }
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // There is a descriptor until this is dropped.
        self.fd.as_ref().map_or(CWD, OwnedFd::as_fd)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        let takes_long = self.takes_long();
        if let Some(fd) = self.fd.take().filter(|_| takes_long) {
            close(self.device, fd);
        }
    }
}

/// To the threads that close, by device.
static CLOSERS: Mutex<BTreeMap<u64, Sender<OwnedFd>>> = Mutex::new(BTreeMap::new());

fn closers() -> MutexGuard<'static, BTreeMap<u64, Sender<OwnedFd>>> {
    CLOSERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a thread close a descriptor of this device.
fn close(device: u64, fd: OwnedFd) {
    let mut closers = closers();
    let closer = closers.entry(device).or_insert_with(|| start(device));
    if let Err(SendError(fd)) = closer.send(fd) {
        // There is no thread, so it is closed here. The next one tries again to start one.
        closers.remove(&device);
        drop(closers);
        drop(fd);
    }
}

/// Starts a thread that closes what it is sent. Where that fails, nothing can be sent.
fn start(device: u64) -> Sender<OwnedFd> {
    let (sender, waiting) = channel();
    let close = move || close_all(device, &waiting);
    if let Err(error) = thread::Builder::new().name("weir-close".to_owned()).spawn(close) {
        tracing::warn!("cannot start a thread that closes files: {error}");
    }
    sender
}

/// Closes one after another, until nothing has come for a while.
fn close_all(device: u64, waiting: &Receiver<OwnedFd>) {
    loop {
        if let Ok(fd) = waiting.recv_timeout(IDLE) {
            drop(fd);
            continue;
        }
        let mut closers = closers();
        // Nothing is sent while they are locked, but something may have been just before.
        match waiting.try_recv() {
            Ok(fd) => {
                drop(closers);
                drop(fd);
            }
            Err(_) => {
                closers.remove(&device);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use socket2::SockRef;

    use super::*;

    /// A descriptor whose closing waits until the other end, which does not read, is dropped.
    fn hanging() -> (OwnedFd, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        SockRef::from(&listener).set_recv_buffer_size(4096).unwrap();
        let mut sending = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (other, _) = listener.accept().unwrap();
        sending.set_nonblocking(true).unwrap();
        while sending.write_all(&[0; 4096]).is_ok() {}
        SockRef::from(&sending).set_linger(Some(Duration::from_secs(3600))).unwrap();
        (sending.into(), other)
    }

    /// A descriptor, and its other end.
    fn pair() -> (OwnedFd, UnixStream) {
        let (fd, other) = UnixStream::pair().unwrap();
        other.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        (fd.into(), other)
    }

    #[test]
    fn a_device_that_hangs_holds_up_none_of_another() {
        // No file is on these.
        const HUNG: u64 = u64::MAX;
        const WELL: u64 = u64::MAX - 1;
        let (hung, reader) = hanging();
        close(HUNG, hung);
        let (fd, mut behind) = pair();
        close(HUNG, fd);
        for _ in 0..3 {
            let (fd, mut other) = pair();
            close(WELL, fd);
            assert_eq!(other.read(&mut [0]).unwrap(), 0, "it is closed");
        }
        behind.set_nonblocking(true).unwrap();
        assert_eq!(behind.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        behind.set_nonblocking(false).unwrap();
        drop(reader);
        assert_eq!(behind.read(&mut [0]).unwrap(), 0, "it is closed when the device answers");
    }

    #[test]
    fn a_local_file_takes_long_once_its_last_name_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let [name, other] = ["name", "other"].map(|name| directory.path().join(name));
        fs::write(&name, "content").unwrap();
        let open = |closing| Descriptor::new(fs::File::open(&name).unwrap().into(), 0, closing);
        let descriptors = [Closing::AtOnce, Closing::MayFree, Closing::MayHang].map(open);
        let take_long = || descriptors.each_ref().map(Descriptor::takes_long);
        assert_eq!(take_long(), [false, false, true]);
        fs::hard_link(&name, &other).unwrap();
        fs::remove_file(&name).unwrap();
        assert_eq!(take_long(), [false, false, true], "it has another name");
        fs::remove_file(&other).unwrap();
        assert_eq!(take_long(), [false, true, true]);
    }
}
