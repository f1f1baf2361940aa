//! Sends and receives whole messages over a Unix socket of type `SOCK_SEQPACKET`. tokio has no type for
//! those; its stream waits for any descriptor, and reading and writing is done here. Used by `connection`.

use std::io::{self, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The longest that a peer may take to have room for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Receives a message; zero bytes: the other end is gone. One that is longer than the buffer has more bytes
/// than the buffer, and its end is lost. Descriptors that come with it are closed.
pub(crate) async fn receive(socket: &UnixStream, buffer: &mut [u8]) -> io::Result<usize> {
    socket
        .async_io(Interest::READABLE, || {
            let (_, length) = recv(socket, &mut *buffer, RecvFlags::TRUNC)?;
            Ok(length)
        })
        .await
}

/// Sends a message, with a descriptor if there is one.
///
/// # Errors
///
/// The other end is gone, or has had no room for it for 5 s.
pub(crate) async fn send(
    socket: &UnixStream,
    message: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let sending = socket.async_io(Interest::WRITABLE, || {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = descriptor.as_slice();
        if !descriptors.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        sendmsg(socket, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    });
    match timeout(PATIENCE, sending).await {
        Ok(sent) => sent,
        Err(_) => Err(io::Error::new(ErrorKind::TimedOut, "the peer takes no answers")),
    }
}
