//! TLS (RFC 8446, RFC 5246) by rustls, behind types of weir's own: certificates and which of them a
//! client gets, what a server offers and what a backend must show, and sessions that turn bytes into records and records into bytes.
//! No sockets, no clock, no threads; files are read where certificates are. `weir-server` puts sessions
//! on its connections, and asks backends by what a client trusts.

pub mod certificates;
pub mod client;
pub mod server;
pub mod session;

pub use certificates::{Authorities, Certificate, CertificateError, CertificateStore};
pub use server::{ClientCertificates, Clients, Preset, Server, ServerError};
pub use session::{Accepted, Failure, Hello, Plain, Session};
