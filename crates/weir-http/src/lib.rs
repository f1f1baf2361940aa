//! HTTP/1.1 messages for a server of files and for a proxy: heads in, decisions and heads out.
//! Everything here is a pure function over bytes and numbers. It does not know sockets, files or
//! the clock: what was read, what a file looks like and what time it is come in as arguments.

pub mod chunked;
pub mod conditions;
pub mod date;
pub mod forward;
pub mod media;
pub mod path;
pub mod proxy_protocol;
pub mod range;
pub mod request;
pub mod response;
pub mod status;
mod token;

pub use status::Status;
