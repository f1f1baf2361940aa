//! A name server that says 127.0.0.1 to whatever is asked. Pebble looks names up there.

use std::net::{SocketAddr, UdpSocket};
use std::thread;

/// The type of an IPv4 address (RFC 1035 section 3.2.2).
const A: [u8; 2] = [0, 1];
/// Bytes of a message before its question.
const HEAD: usize = 12;

/// Starts one, which ends with the tests' process.
pub(crate) fn start() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut question = [0; 1500];
        while let Ok((length, client)) = socket.recv_from(&mut question) {
            if let Some(answer) = answer(&question[..length]) {
                let _ = socket.send_to(&answer, client);
            }
        }
    });
    address
}

fn answer(message: &[u8]) -> Option<Vec<u8>> {
    let name = message.get(HEAD..)?.iter().position(|byte| *byte == 0)? + 1;
    let question = message.get(HEAD..HEAD + name + 4)?;
    let has_address = question[name..name + 2] == A;
    let mut answer = message[..2].to_vec();
    // An answer without error, recursion included; one question, one answer or none.
    answer.extend([0x81, 0x80, 0, 1, 0, u8::from(has_address), 0, 0, 0, 0]);
    answer.extend(question);
    if has_address {
        // The name of the question, type, class, 60 s, 4 bytes.
        answer.extend([0xC0, 0x0C, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    }
    Some(answer)
}
