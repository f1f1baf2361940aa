//! What the status codes that weir sends on its own behalf say: their phrases, and the text of a
//! response that is nothing but its status. Used by everything that answers a request, and by the
//! metrics, which count them.

use http::StatusCode;

/// The statuses that weir itself answers with, in the order of the codes. Those of backends are passed
/// on whatever they are.
pub const OWN: [StatusCode; 30] = [
    StatusCode::OK,
    StatusCode::NO_CONTENT,
    StatusCode::PARTIAL_CONTENT,
    StatusCode::MOVED_PERMANENTLY,
    StatusCode::FOUND,
    StatusCode::NOT_MODIFIED,
    StatusCode::TEMPORARY_REDIRECT,
    StatusCode::PERMANENT_REDIRECT,
    StatusCode::BAD_REQUEST,
    StatusCode::UNAUTHORIZED,
    StatusCode::FORBIDDEN,
    StatusCode::NOT_FOUND,
    StatusCode::METHOD_NOT_ALLOWED,
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::LENGTH_REQUIRED,
    StatusCode::PRECONDITION_FAILED,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::URI_TOO_LONG,
    StatusCode::RANGE_NOT_SATISFIABLE,
    StatusCode::EXPECTATION_FAILED,
    StatusCode::MISDIRECTED_REQUEST,
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::NOT_IMPLEMENTED,
    StatusCode::BAD_GATEWAY,
    StatusCode::SERVICE_UNAVAILABLE,
    StatusCode::GATEWAY_TIMEOUT,
    StatusCode::HTTP_VERSION_NOT_SUPPORTED,
    StatusCode::LOOP_DETECTED,
];

/// The reason phrase (RFC 9110, section 15); empty for codes that have none.
pub fn reason(status: StatusCode) -> &'static str {
    match status {
        // RFC 7231 called it Payload Too Large.
        StatusCode::PAYLOAD_TOO_LARGE => "Content Too Large",
        status => status.canonical_reason().unwrap_or_default(),
    }
}

/// The body of a response that is only a status: `404 Not Found` and a newline.
pub fn page(status: StatusCode) -> String {
    [status.as_str(), " ", reason(status), "\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_it_is() {
        for status in OWN {
            assert!(!reason(status).is_empty(), "{status}");
        }
        assert!(OWN.is_sorted());
        assert_eq!(page(StatusCode::NOT_FOUND), "404 Not Found\n");
        assert_eq!(page(StatusCode::PAYLOAD_TOO_LARGE), "413 Content Too Large\n");
    }
}
