//! One compressed answer of a server: whether it sends any, and whether gzip makes the text of it again.
//! All later answers must be the same bytes, so this is asked once for each server and coding.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use weir_http::h1::chunked::{ChunkedDecoder, Piece};
use weir_peers::{Error, Result, interrupt, tool};

use crate::contender::Coding;

/// The longest that an answer may take.
const LONGEST: Duration = Duration::from_secs(20);
/// How long it is asked again for an answer in the coding: weir sends a text as it is while it has too much
/// to do, and for a second after that.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);

/// An answer with status 200.
#[derive(Debug, PartialEq)]
struct Answer {
    /// Its content coding.
    coding: Option<String>,
    body: Vec<u8>,
}

/// What the server sends for a path in a coding; `None` if it does not send it in that coding.
///
/// # Errors
///
/// When it does not answer with a whole 200.
pub(super) fn coded(server: SocketAddrV4, path: &str, coding: Coding) -> Result<Option<Vec<u8>>> {
    let patience = Instant::now() + PATIENCE;
    loop {
        let answer = get(server, path, coding)?;
        if answer.coding.as_deref() == Some(coding.name()) {
            return Ok(Some(answer.body));
        }
        if Instant::now() > patience {
            return Ok(None);
        }
        interrupt::sleep(PAUSE)?;
    }
}

/// An error unless the program gzip makes `text` of a body again. The body is written to `scratch`.
pub(super) fn must_be_gzip_of(text: &[u8], body: &[u8], scratch: &Path) -> Result<()> {
    fs::write(scratch, body).map_err(|e| Error::file("write", scratch, &e))?;
    let file = File::open(scratch).map_err(|e| Error::file("read", scratch, &e))?;
    let gzip = Command::new("gzip").arg("-dc").stdin(file).output();
    let gzip = gzip.map_err(|e| tool::start_error("gzip", &e))?;
    match gzip.status.success() && gzip.stdout == text {
        true => Ok(()),
        false => Err(Error(format!(
            "gzip does not make the text of {} again: {}",
            scratch.display(),
            String::from_utf8_lossy(&gzip.stderr).trim()
        ))),
    }
}

fn get(server: SocketAddrV4, path: &str, coding: Coding) -> Result<Answer> {
    let fetch = || -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&server.into(), LONGEST)?;
        stream.set_read_timeout(Some(LONGEST))?;
        let accept = coding.header();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {server}\r\n{accept}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let wrong = |why: &str| Error(format!("GET http://{server}{path} in {}: {why}", coding.name()));
    let bytes = fetch().map_err(|e| wrong(&e.to_string()))?;
    Answer::of(&bytes).ok_or_else(|| wrong("it was not answered with a whole 200"))
}

impl Answer {
    /// Of all bytes that came; `None` if they are no whole answer with status 200.
    fn of(bytes: &[u8]) -> Option<Answer> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head =
            std::str::from_utf8(&bytes[..end]).ok().filter(|h| h.starts_with("HTTP/1.1 200"))?;
        let field = |wanted: &str| {
            head.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
                name.eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
            })
        };
        let body = &bytes[end + 4..];
        let body = match (field("transfer-encoding"), field("content-length")) {
            (Some(_), _) => unchunked(body)?,
            (None, length) => {
                let length: usize = length?.parse().ok()?;
                (body.len() == length).then(|| body.to_vec())?
            }
        };
        Some(Answer { coding: field("content-encoding"), body })
    }
}

/// The content of a body in chunks; `None` if it is not whole.
fn unchunked(body: &[u8]) -> Option<Vec<u8>> {
    let (mut decoder, mut rest, mut content) = (ChunkedDecoder::lenient(), body, Vec::new());
    loop {
        match decoder.decode(rest) {
            Piece::Data { skip, data } if skip + data > 0 => {
                content.extend_from_slice(&rest[skip..skip + data]);
                rest = &rest[skip + data..];
            }
            Piece::End(_) => return Some(content),
            Piece::Data { .. } | Piece::Malformed => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_with_a_length_and_in_chunks() {
        let of = |text: &str| Answer::of(text.as_bytes());
        let gzip = Some("gzip".to_owned());
        let whole = Some(Answer { coding: gzip, body: b"abcde".to_vec() });
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n";
        assert_eq!(of(&format!("{head}Content-Length: 5\r\n\r\nabcde")), whole);
        let chunks =
            format!("{head}transfer-encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n");
        assert_eq!(of(&chunks), whole);
        let plain = of("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("it is whole");
        assert_eq!(plain.coding, None);
        for wrong in [
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
            "HTTP/1.1 200 OK\r\n\r\nabcde",
            "HTTP/1.1 200 OK\r\n",
            "",
        ] {
            assert_eq!(of(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn gzip_tells_what_is_not_the_text() {
        let directory = tempfile::tempdir().expect("a directory");
        let (text, scratch) = (directory.path().join("text"), directory.path().join("scratch"));
        fs::write(&text, "text").expect("room");
        let gzip = Command::new("gzip").args(["-n", "-c"]).arg(&text).output();
        let body = gzip.expect("gzip is there").stdout;
        assert_eq!(must_be_gzip_of(b"text", &body, &scratch), Ok(()));
        assert!(must_be_gzip_of(b"other", &body, &scratch).is_err());
        assert!(must_be_gzip_of(b"text", b"text", &scratch).is_err());
    }
}
