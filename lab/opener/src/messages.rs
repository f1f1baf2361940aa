//! Sends and receives whole messages over a Unix socket of type `SOCK_SEQPACKET`. tokio has no type for
//! those; its stream waits for any descriptor, and reading and writing is done here. Used by `connection`
//! and where connections are accepted.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::fs::CWD;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::closing::close_of_peer;

/// The longest that a peer may take to have room for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes for the most descriptors that one message can carry (SCM_MAX_FD of the kernel).
const SPACE: usize = rustix::cmsg_space!(ScmRights(253));

/// The socket of a peer. Whoever drops it does not wait for its close: with it go the descriptors in messages
/// that nobody has received, and the peer chooses how long their close takes (SO_LINGER, socket(7)).
pub(crate) struct Socket {
    /// There until it is dropped.
    stream: Option<UnixStream>,
}

impl Socket {
    pub(crate) fn new(stream: UnixStream) -> Socket {
        Socket { stream: Some(stream) }
    }

    fn stream(&self) -> io::Result<&UnixStream> {
        self.stream.as_ref().ok_or_else(|| ErrorKind::NotConnected.into())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_ref().map_or(CWD, AsFd::as_fd)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let Some(Ok(stream)) = self.stream.take().map(UnixStream::into_std) else { return };
        // The peer learns of the end now, whenever the close comes.
        let _ = stream.shutdown(Shutdown::Both);
        close_of_peer(stream.into());
    }
}

/// Receives a message; zero bytes: the other end is gone. One that is longer than the buffer has more bytes
/// than the buffer, and its end is lost.
///
/// # Errors
///
/// The socket failed. `InvalidData`: descriptors came with the message, and a thread closes them. Those for
/// which this process has no room the kernel closes here, which may wait.
pub(crate) async fn receive(socket: &Socket, buffer: &mut [u8]) -> io::Result<usize> {
    let stream = socket.stream()?;
    stream
        .async_io(Interest::READABLE, || {
            let mut space = [MaybeUninit::uninit(); SPACE];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut parts = [IoSliceMut::new(&mut *buffer)];
            let flags = RecvFlags::TRUNC | RecvFlags::CMSG_CLOEXEC;
            let received = recvmsg(stream, &mut parts, &mut control, flags)?;
            let mut passed = received.flags.contains(ReturnFlags::CTRUNC);
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                    passed = true;
                    descriptors.for_each(close_of_peer);
                }
            }
            if passed { Err(ErrorKind::InvalidData.into()) } else { Ok(received.bytes) }
        })
        .await
}

/// Sends a message, with a descriptor if there is one.
///
/// # Errors
///
/// The other end is gone, or has had no room for it for 5 s.
pub(crate) async fn send(
    socket: &Socket,
    message: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let stream = socket.stream()?;
    let sending = stream.async_io(Interest::WRITABLE, || {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = descriptor.as_slice();
        if !descriptors.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        sendmsg(stream, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    });
    match timeout(PATIENCE, sending).await {
        Ok(sent) => sent,
        Err(_) => Err(io::Error::new(ErrorKind::TimedOut, "the peer takes no answers")),
    }
}
