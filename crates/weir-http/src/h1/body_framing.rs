//! How the body of a response is framed for the client (RFC 9112, section 6.3). Used by
//! [`super::relayed`] and by whoever sends the body.

use http::Version;

/// How the body of a response is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFraming {
    /// This many bytes.
    Length(u64),
    /// The chunked transfer coding.
    Chunked,
    /// Until the connection closes.
    UntilClose,
    /// No body: the status or the method says so.
    None,
}

impl BodyFraming {
    /// How to frame a body of this length (`None`: unknown) for a client that speaks `version`. A body
    /// of unknown length is chunked, so that the client notices when it is cut short; in HTTP/1.0, which
    /// has no chunks, the end of the connection ends it.
    pub fn of(length: Option<u64>, version: Version) -> BodyFraming {
        match (length, version) {
            (Some(length), _) => BodyFraming::Length(length),
            (None, Version::HTTP_10) => BodyFraming::UntilClose,
            (None, _) => BodyFraming::Chunked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_length_is_chunked_where_that_is_known() {
        assert_eq!(BodyFraming::of(None, Version::HTTP_11), BodyFraming::Chunked);
        assert_eq!(BodyFraming::of(None, Version::HTTP_10), BodyFraming::UntilClose);
        assert_eq!(BodyFraming::of(Some(5), Version::HTTP_10), BodyFraming::Length(5));
    }
}
