//! The head of an HTTP/1.x request, from bytes to a [`crate::message::Request`] (RFC 9112, sections 2
//! to 6), or why it is refused. Used by `weir-server` for each request, and by its proxy to copy the
//! fields.

mod body;
mod error;
mod fields;
mod parse;
mod singleton;
mod target;
#[cfg(test)]
mod tests;

pub use error::BadRequest;
pub use parse::{FieldLines, FieldSpace, Limits, Parsed, parse, parse_request};
