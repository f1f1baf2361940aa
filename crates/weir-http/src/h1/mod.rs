//! The syntax of HTTP/1.0 and HTTP/1.1 messages (RFC 9112): heads of requests and responses, and
//! the chunked transfer coding. Used by the connections of `weir-server`, by [`crate::forward`]
//! and, for chunked bodies, by `weir-load`.

pub mod body_framing;
pub mod chunked;
pub mod relayed;
pub mod request;
pub mod response;
