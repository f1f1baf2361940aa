//! TLS by rustls behind weir's own types: no sockets, no clock, no threads. The server uses it for its
//! backends.

pub mod client;
