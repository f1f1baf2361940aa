//! Requests with other methods than GET and HEAD, for what weir answers itself: OPTIONS is told which methods
//! there are, the rest is refused. Used for files and for the admin address.

use http::{Method, StatusCode};

use crate::answer::Answer;

/// The answer to a request with this method, which is neither GET nor HEAD.
///
/// A method that is known and has no effect here is not allowed, 405 with `Allow`; one that nobody here
/// knows is not implemented, 501 (RFC 9110, section 9.1). TRACE is among the former: it would show what
/// proxies in front have added to a request (section 9.3.8). CONNECT is among the latter.
pub(super) fn answer(method: &Method) -> Answer {
    match *method {
        Method::OPTIONS => Answer::options(),
        Method::GET
        | Method::HEAD
        | Method::POST
        | Method::PUT
        | Method::DELETE
        | Method::PATCH
        | Method::TRACE => Answer::error(StatusCode::METHOD_NOT_ALLOWED),
        _ => Answer::error(StatusCode::NOT_IMPLEMENTED),
    }
}
