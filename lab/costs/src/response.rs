//! Reading the head of a response: status, length of the body, and whether the
//! connection stays. Knows no socket; a body comes after the head as plain bytes.

/// What the client needs of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Bytes of the head itself.
    pub(crate) bytes: usize,
    pub(crate) status: u16,
    pub(crate) length: u64,
    pub(crate) keeps: bool,
}

/// The head at the start of `bytes`; `None` while it is incomplete. A head without
/// a usable Content-Length is an error: these clients ask for nothing else.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Head>, &'static str> {
    let mut fields = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut fields);
    let parsed = response.parse(bytes).map_err(|_| "malformed head")?;
    let httparse::Status::Complete(read) = parsed else {
        return Ok(None);
    };
    let mut length = None;
    let mut keeps = response.version == Some(1);
    for field in response.headers.iter() {
        if field.name.eq_ignore_ascii_case("content-length") {
            length = std::str::from_utf8(field.value).ok().and_then(|v| v.trim().parse().ok());
        } else if field.name.eq_ignore_ascii_case("connection") {
            keeps = !field.value.eq_ignore_ascii_case(b"close");
        }
    }
    let length = length.ok_or("no Content-Length")?;
    Ok(Some(Head { bytes: read, status: response.code.unwrap_or(0), length, keeps }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_says_status_length_and_whether_the_connection_stays() {
        let text = b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 12\r\n\r\nbody";
        let head = Head { bytes: text.len() - 4, status: 200, length: 12, keeps: true };
        assert_eq!(parse(text), Ok(Some(head)));
        let closing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n";
        let head = parse(closing).unwrap().unwrap();
        assert_eq!((head.status, head.keeps), (404, false));
        let old = parse(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n").unwrap().unwrap();
        assert!(!old.keeps);
    }

    #[test]
    fn any_part_of_a_head_is_incomplete() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n";
        for end in 0..text.len() {
            assert_eq!(parse(&text[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn what_has_no_length_is_refused() {
        assert!(parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
        assert!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n").is_err());
        assert!(parse(b"SSH-2.0-OpenSSH\r\n").is_err());
    }
}
