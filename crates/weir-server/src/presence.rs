//! Whether the client is still there while it waits for its response. It ends nothing itself.
//!
//! The kernel tells of a closed connection at once (EPOLLRDHUP), even while bytes are unread. A
//! client that has only finished sending looks the same as one that has closed; sending it a few
//! bytes tells, for one that has closed answers with a reset.

use std::io;

use tokio::io::Interest;
use tokio::net::TcpStream;

/// What became of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// It will send nothing more; it may still read.
    HalfClosed,
    /// It has closed or reset the connection.
    Gone,
}

/// Waits until the client closes its side, or both. Bytes that arrive meanwhile stay unread.
pub(crate) async fn left(stream: &TcpStream) -> Left {
    loop {
        let Ok(ready) = stream.ready(Interest::READABLE).await else { return Left::Gone };
        if ready.is_write_closed() || ready.is_error() {
            return Left::Gone;
        }
        if ready.is_read_closed() {
            return Left::HalfClosed;
        }
        // Unread bytes: wait for the next event. The reader looks for itself before it waits.
        let ignore = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
        let _ = stream.try_io(Interest::READABLE, ignore);
    }
}

/// Waits until a half-closed client turns out to have gone.
pub(crate) async fn reset(stream: &TcpStream) {
    let _ = stream.ready(Interest::ERROR).await;
}
