//! Certificates of servers: read from PEM and checked, and given out by the name that a client asks for.
//! Used by the server for the files of its configuration, and by what obtains certificates by itself.

mod authorities;
mod certificate;
mod error;
mod files;
mod pem;
mod store;
mod x509;

pub use authorities::Authorities;
pub use certificate::Certificate;
pub use error::CertificateError;
pub use files::{read, read_authorities};
pub(crate) use store::is_challenge;
pub use store::{ACME_TLS, CertificateStore};
pub use x509::subject;

#[cfg(test)]
pub(crate) mod tests;
