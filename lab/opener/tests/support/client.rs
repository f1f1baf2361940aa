//! A client of the opener that waits for its answers.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, connect, recvmsg, send, sendmsg, socket_with,
};
use weir_opener::protocol::{Answer, Found, Hello, Question, SHORT, VERSION, Welcome};

pub struct Client {
    socket: OwnedFd,
    asked: u32,
}

impl Client {
    /// A connection that has been welcomed. `None`: nobody listens.
    pub fn connect(path: &Path) -> Option<Client> {
        let mut client = Client::silent(path)?;
        client.say(&Hello { version: VERSION }.encode());
        let (welcome, _) = client.hear()?;
        assert!(Welcome::decode(&welcome).unwrap().accepted);
        Some(client)
    }

    /// A connection that has said nothing yet.
    pub fn silent(path: &Path) -> Option<Client> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        connect(&socket, &SocketAddrUnix::new(path).unwrap()).ok()?;
        let patience = Some(Duration::from_secs(30));
        set_socket_timeout(&socket, Timeout::Recv, patience).unwrap();
        Some(Client { socket, asked: 0 })
    }

    /// Sends a message; whether the other end took it.
    pub fn say(&mut self, message: &[u8]) -> bool {
        send(&self.socket, message, SendFlags::NOSIGNAL).is_ok()
    }

    /// Sends a message with this descriptor.
    pub fn say_with(&mut self, message: &[u8], descriptor: impl AsFd) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = rustix::net::SendAncillaryBuffer::new(&mut space);
        let descriptors = [descriptor.as_fd()];
        control.push(rustix::net::SendAncillaryMessage::ScmRights(&descriptors));
        let message = [IoSlice::new(message)];
        sendmsg(&self.socket, &message, &mut control, SendFlags::NOSIGNAL).unwrap();
    }

    /// The next message and its descriptor. `None`: the other end has closed.
    pub fn hear(&mut self) -> Option<(Vec<u8>, Option<OwnedFd>)> {
        let mut bytes = [0; 64];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let received = recvmsg(&self.socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC);
        let length = match received {
            Ok(received) => received.bytes,
            Err(rustix::io::Errno::CONNRESET) => 0,
            Err(error) => panic!("no message within 30 s: {error}"),
        };
        let mut descriptor = None;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                descriptor = descriptor.or(descriptors.last());
            }
        }
        (length > 0).then(|| (bytes[..length].to_vec(), descriptor))
    }

    /// Whether the other end has closed, whatever it said before.
    pub fn is_cut(&mut self) -> bool {
        while self.hear().is_some() {}
        true
    }

    /// Asks, without waiting for the answer; the number of the question.
    pub fn ask(&mut self, name: &Path) -> u32 {
        self.asked += 1;
        let name = name.as_os_str().as_encoded_bytes();
        let question = Question { number: self.asked, name }.encode().unwrap();
        assert!(self.say(&question));
        self.asked
    }

    /// The next answer.
    pub fn answer(&mut self) -> (Answer, Option<OwnedFd>) {
        let (bytes, descriptor) = self.hear().expect("an answer");
        assert_eq!(bytes.len(), SHORT);
        (Answer::decode(&bytes).unwrap(), descriptor)
    }

    /// What a name stands for.
    pub fn found(&mut self, name: &Path) -> (Found, Option<OwnedFd>) {
        let number = self.ask(name);
        let (answer, descriptor) = self.answer();
        assert_eq!(answer.number, number);
        (answer.found, descriptor)
    }

    /// The content of a file. `None`: it is no file.
    pub fn read(&mut self, name: &Path) -> Option<Vec<u8>> {
        let (Found::File, Some(descriptor)) = self.found(name) else { return None };
        // By offsets: others have the same position.
        let file = std::fs::File::from(descriptor);
        let mut content = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut content, 0).unwrap();
        Some(content)
    }
}
