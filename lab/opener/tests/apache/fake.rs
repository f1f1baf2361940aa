//! An opener that does what no opener should.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, accept, bind, listen, recv, send, sendmsg, socket_with,
};
use weir_opener::protocol::{Hello, Question, VERSION, Welcome};

/// What it does with a question, by its number and name. `false`: closes the connection.
pub(crate) type Answering = fn(&Connection, u32, &[u8]) -> bool;

pub(crate) struct Connection(OwnedFd);

impl Connection {
    /// Sends these bytes with these descriptors. Who has left does not get them.
    pub(crate) fn send(&self, bytes: &[u8], descriptors: &[&OwnedFd]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors: Vec<_> = descriptors.iter().map(|each| each.as_fd()).collect();
        if !descriptors.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        let _ = sendmsg(&self.0, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL);
    }

    /// Sends these bytes again and again until the other end is gone. It does not sleep where there is no room:
    /// whoever reads always finds one more.
    pub(crate) fn flood(&self, bytes: &[u8]) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        while matches!(send(&self.0, bytes, flags), Ok(_) | Err(Errno::AGAIN)) {}
    }
}

/// Starts it. It runs until the program of tests ends.
pub(crate) fn start(socket: &Path, welcome: Welcome, answering: Answering) {
    let flags = SocketFlags::CLOEXEC;
    let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(socket).unwrap()).unwrap();
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(socket, everybody).unwrap();
    listen(&listener, 100).unwrap();
    std::thread::spawn(move || {
        while let Ok(connection) = accept(&listener) {
            std::thread::spawn(move || serve(&Connection(connection), welcome, answering));
        }
    });
}

fn serve(connection: &Connection, welcome: Welcome, answering: Answering) {
    let mut buffer = vec![0; 8192];
    let mut receive = || {
        let (_, length) = recv(&connection.0, &mut *buffer, RecvFlags::empty()).ok()?;
        (length > 0).then(|| buffer[..length].to_vec())
    };
    let Some(hello) = receive() else { return };
    assert_eq!(Hello::decode(&hello), Ok(Hello { version: VERSION }));
    connection.send(&welcome.encode(), &[]);
    while let Some(question) = receive() {
        let question = Question::decode(&question).expect("the module asks as it should");
        if !answering(connection, question.number, question.name) {
            return;
        }
    }
}
