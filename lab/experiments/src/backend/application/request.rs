//! What is asked of the application, read from the head of a request. The connections
//! put it into the queue.

/// Bytes a head may have.
const LONGEST: usize = 16_384;
const MOST_FIELDS: usize = 64;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkRequest {
    /// The size that stands for the work; nothing for another path, which is not found.
    pub(super) bytes: Option<u64>,
    /// Its `id`.
    pub(super) id: Option<u64>,
    /// The connection is closed after the answer.
    pub(super) close: bool,
}

/// What the bytes of a connection begin with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A request, and how many bytes it takes.
    Complete { request: WorkRequest, used: usize },
    /// The beginning of one.
    Partial,
    /// No request that the application knows: not HTTP/1, no GET, or with a body.
    Invalid,
}

/// Read a head.
pub(super) fn head(bytes: &[u8]) -> Head {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let used = match request.parse(bytes) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST => return Head::Partial,
        _ => return Head::Invalid,
    };
    let (Some("GET"), Some(path), Some(version)) = (request.method, request.path, request.version)
    else {
        return Head::Invalid;
    };
    let mut close = version == 0;
    for field in request.headers.iter() {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        let body = is("transfer-encoding") || is("content-length") && field.value != b"0";
        if body {
            return Head::Invalid;
        }
        if is("connection") {
            for token in field.value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                if token.eq_ignore_ascii_case(b"close") {
                    close = true;
                } else if token.eq_ignore_ascii_case(b"keep-alive") && version == 0 {
                    close = false;
                }
            }
        }
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let bytes = path.strip_prefix("/work/").and_then(|bytes| bytes.parse().ok());
    let id = query.split('&').find_map(|pair| pair.strip_prefix("id="));
    let id = id.and_then(|id| id.parse().ok());
    Head::Complete { request: WorkRequest { bytes, id, close }, used }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> WorkRequest {
        match head(text.as_bytes()) {
            Head::Complete { request: ask, used } => {
                assert_eq!(used, text.len());
                ask
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn work_and_id_are_in_the_path() {
        let ask = |text: &str| {
            let WorkRequest { bytes, id, .. } =
                whole(&format!("GET {text} HTTP/1.1\r\nHost: a\r\n\r\n"));
            (bytes, id)
        };
        assert_eq!(ask("/work/14000?id=12"), (Some(14_000), Some(12)));
        assert_eq!(ask("/work/100?x=1&id=3"), (Some(100), Some(3)));
        assert_eq!(ask("/work/100"), (Some(100), None));
        assert_eq!(ask("/work/"), (None, None));
        assert_eq!(ask("/"), (None, None));
    }

    #[test]
    fn connections_stay_as_the_version_and_the_header_say() {
        let close = |version: &str, fields: &str| {
            whole(&format!("GET /work/1 HTTP/{version}\r\n{fields}\r\n")).close
        };
        assert!(!close("1.1", ""));
        assert!(close("1.0", ""));
        assert!(close("1.1", "Connection: upgrade, Close\r\n"));
        assert!(!close("1.0", "connection: Keep-Alive\r\n"));
    }

    #[test]
    fn what_is_not_a_whole_get_is_told_apart() {
        assert_eq!(head(b""), Head::Partial);
        assert_eq!(head(b"GET /work/1 HTTP/1.1\r\nHost"), Head::Partial);
        assert_eq!(head(&[b'G'; LONGEST]), Head::Invalid);
        assert_eq!(head(b"POST /work/1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), Head::Invalid);
        assert_eq!(head(b"GET /work/1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), Head::Invalid);
        assert_eq!(head(b"\x16\x03\x01"), Head::Invalid);
        let two = b"GET /work/1 HTTP/1.1\r\n\r\nGET";
        assert!(matches!(head(two), Head::Complete { used: 24, .. }));
    }
}
