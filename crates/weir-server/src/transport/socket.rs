//! A client's socket: reads and writes that never wait, and waiting until it is ready. It is registered
//! with the runtime only when something has to be waited for: a connection that brings its request along
//! and is closed after the response never is, which saves two system calls. Used by [`crate::client`],
//! the uplink and `send`.

use std::cell::OnceCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::task::{Context, Poll};

use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, Ready};

use crate::sys;

/// See the module.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: Rc<OwnedFd>,
    watched: OnceCell<AsyncFd<Rc<OwnedFd>>>,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    /// `fd`: a socket that does not block.
    pub(crate) fn new(fd: OwnedFd) -> Socket {
        Socket { fd: Rc::new(fd), watched: OnceCell::new() }
    }

    fn watched(&self) -> io::Result<&AsyncFd<Rc<OwnedFd>>> {
        if let Some(watched) = self.watched.get() {
            return Ok(watched);
        }
        let watched = sys::watch(self.fd.clone(), Interest::READABLE | Interest::WRITABLE)?;
        Ok(self.watched.get_or_init(|| watched))
    }

    /// Whether there may be something to read; if not, the task is woken when there may be.
    pub(crate) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watched()?.poll_read_ready(context).map_ok(drop)
    }

    /// Whether it may take data; if not, the task is woken when it may.
    pub(crate) fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watched()?.poll_write_ready(context).map_ok(drop)
    }

    /// Waits until it is ready for some of `interest`.
    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        Ok(self.watched()?.ready(interest).await?.ready())
    }

    /// It is not ready any more; what comes from now on makes an event of its own.
    pub(crate) fn forget(&self, interest: Interest) {
        if let Some(watched) = self.watched.get() {
            let nothing = |_: &Rc<OwnedFd>| Err::<(), _>(io::ErrorKind::WouldBlock.into());
            let _ = watched.try_io(interest, nothing);
        }
    }

    /// Writes by `call`, which returns how many of `wanted` bytes were taken: none if it is full.
    ///
    /// `short_is_full`: a call that takes less has found it full, so that none is needed to find
    /// out.
    pub(crate) fn write(
        &self,
        wanted: usize,
        short_is_full: bool,
        call: impl FnMut() -> Result<usize, Errno>,
    ) -> Result<Option<usize>, Errno> {
        let written = retry(call);
        let is_full = match written {
            Ok(count) => short_is_full && count < wanted,
            Err(error) => error == Errno::AGAIN,
        };
        if is_full {
            self.forget(Interest::WRITABLE);
        }
        match written {
            Err(Errno::AGAIN) => Ok(None),
            written => written.map(Some),
        }
    }

    /// Reads by `call`, which returns how many bytes came into space for `space`. A short read has
    /// found it empty.
    pub(crate) fn read(
        &self,
        space: usize,
        call: impl FnMut() -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let read = retry(call);
        if read.is_ok_and(|count| count < space) || read == Err(Errno::AGAIN) {
            self.forget(Interest::READABLE);
        }
        read
    }
}

fn retry(mut call: impl FnMut() -> Result<usize, Errno>) -> Result<usize, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
