//! Descriptors on their way from one process to another, over a Unix socket (SCM_RIGHTS, unix(7)). Used
//! where a server hands its listening sockets to its successor.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The most descriptors of one message; the kernel takes 253.
pub(crate) const MOST: usize = 16;

/// Room for as many.
const SPACE: usize = rustix::cmsg_space!(ScmRights(MOST));

/// Bytes that are received at once.
const BYTES: usize = 4096;

/// Sends `text`, and at most [`MOST`] descriptors with it.
///
/// # Errors
///
/// Those of sendmsg(2); there is no room for all of `text`, or there are too many descriptors.
pub(crate) fn send(
    socket: impl AsFd,
    text: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(ErrorKind::InvalidInput.into());
    }
    let sent = sendmsg(socket, &[IoSlice::new(text)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == text.len() { Ok(()) } else { Err(ErrorKind::WriteZero.into()) }
}

/// Receives some bytes, and the descriptors that came with them; returns how many bytes: 0 at the end.
///
/// # Errors
///
/// Those of recvmsg(2).
pub(crate) fn receive(
    socket: impl AsFd,
    bytes: &mut Vec<u8>,
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut piece = [0; BYTES];
    let received =
        recvmsg(socket, &mut [IoSliceMut::new(&mut piece)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    let count = received.bytes.min(BYTES);
    bytes.extend_from_slice(&piece[..count]);
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_file_can_be_read_by_whom_it_was_sent_to() {
        let (here, there) = UnixStream::pair().unwrap();
        let mut files = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
        for (file, text) in files.iter_mut().zip(["one", "two"]) {
            file.write_all(text.as_bytes()).unwrap();
            file.rewind().unwrap();
        }
        let both: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        send(&here, b"two files\n", &both).unwrap();
        send(&here, b"nothing\n", &[]).unwrap();
        let (mut text, mut received) = (Vec::new(), Vec::new());
        while !text.ends_with(b"nothing\n") {
            assert!(receive(&there, &mut text, &mut received).unwrap() > 0);
        }
        assert_eq!((text.as_slice(), received.len()), (&b"two files\nnothing\n"[..], 2));
        let mut texts = String::new();
        for descriptor in received {
            File::from(descriptor).read_to_string(&mut texts).unwrap();
        }
        assert_eq!(texts, "onetwo");
        drop(here);
        assert_eq!(receive(&there, &mut text, &mut Vec::new()).unwrap(), 0);
    }

    #[test]
    fn too_many_are_refused_and_not_cut() {
        let (here, _there) = UnixStream::pair().unwrap();
        let file = tempfile::tempfile().unwrap();
        let many = vec![file.as_fd(); 10 * MOST];
        assert_eq!(send(&here, b"x", &many).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
