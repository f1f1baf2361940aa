//! A name server that says 127.0.0.1 to whatever is asked. Pebble looks names up there, over TCP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// The type of an IPv4 address (RFC 1035 section 3.2.2).
const A: [u8; 2] = [0, 1];
/// Bytes of a message before its question.
const HEAD: usize = 12;

/// Starts one, which ends with the tests' process.
pub(crate) fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Answers until the client has no more questions. A message has its length before it (RFC 1035 section
/// 4.2.2).
fn serve(mut stream: TcpStream) -> Option<()> {
    loop {
        let mut length = [0; 2];
        stream.read_exact(&mut length).ok()?;
        let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut question).ok()?;
        let answer = answer(&question)?;
        let length = u16::try_from(answer.len()).ok()?;
        stream.write_all(&[&length.to_be_bytes()[..], &answer].concat()).ok()?;
    }
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
