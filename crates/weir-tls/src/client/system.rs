//! The authorities that the system believes. Used for backends whose routes name none, and for ACME
//! servers.

use rustls::RootCertStore;

use crate::certificates::{Authorities, CertificateError};

/// Those where distributions keep them, or what the variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
/// Reads some 300 KB.
///
/// # Errors
///
/// There are none. A single one that cannot be read says nothing against the others.
pub fn system_authorities() -> Result<Authorities, CertificateError> {
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    if store.add_parsable_certificates(found.certs).0 > 0 {
        return Ok(Authorities(store.into()));
    }
    let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
    Err(CertificateError::new(format_args!(
        "the system knows no certificate authority{why}; install the package ca-certificates, or name a \
         PEM file with the authority, of a backend as `backend_ca`, of an ACME server as `acme_ca`"
    )))
}
