//! A connection to Apache that is kept between requests: over it, a process can be asked that has no
//! descriptor left for a new one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::server::Apache;

/// For the configuration: Apache closes no connection because a test takes its time.
pub(crate) const KEEP: &str = "KeepAliveTimeout 300\n";

/// See the module.
pub(crate) struct Kept(BufReader<TcpStream>);

/// An answer without the line of the date, so that it can be compared.
#[derive(PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) head: String,
    body: Vec<u8>,
}

impl Answer {
    pub(crate) fn has_status(&self, status: u16) -> bool {
        self.head.starts_with(&format!("HTTP/1.1 {status} "))
    }

    /// The content of a file, if the status is 200.
    pub(crate) fn content(&self) -> Option<&[u8]> {
        self.has_status(200).then_some(self.body.as_slice())
    }
}

impl Kept {
    pub(crate) fn connect(apache: &Apache) -> Kept {
        let stream = TcpStream::connect(apache.address).expect("Apache listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("that is no odd time");
        Kept(BufReader::new(stream))
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn ask(&mut self, method: &str, path: &str) {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: lab\r\n\r\n");
        self.0.get_mut().write_all(request.as_bytes()).expect("the connection is open");
    }

    /// The next answer.
    pub(crate) fn answer(&mut self) -> Answer {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            let read = self.0.read_line(&mut line).expect("an answer within 60 s");
            assert!(read > 0, "the connection was closed after {head:?}");
            if line == "\r\n" {
                break;
            }
            if !line.starts_with("Date: ") {
                head += &line;
            }
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length: Option<usize> = length.and_then(|length| length.parse().ok());
        let mut body = vec![0; length.expect("each answer says how long it is")];
        self.0.read_exact(&mut body).expect("the whole body");
        Answer { head, body }
    }

    /// The answer to a request.
    pub(crate) fn request(&mut self, method: &str, path: &str) -> Answer {
        self.ask(method, path);
        self.answer()
    }
}
