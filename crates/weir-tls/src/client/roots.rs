//! The authorities whose signature makes a backend's certificate believed: those of the system, or
//! those of a file. Used by [`super::ClientTls`].

use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;

use super::error::ClientTlsError;
use super::pem::certificates;

/// Authorities, or single certificates that are believed themselves.
#[derive(Clone, Debug)]
pub struct Roots(Arc<RootCertStore>);

impl Roots {
    /// Those of the system: where distributions keep them, or what the variables `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` name. Reads some 300 KB.
    ///
    /// # Errors
    ///
    /// There are none. A single one that cannot be read says nothing against the others.
    pub fn of_system() -> Result<Roots, ClientTlsError> {
        let found = rustls_native_certs::load_native_certs();
        let mut store = RootCertStore::empty();
        if store.add_parsable_certificates(found.certs).0 > 0 {
            return Ok(Roots(Arc::new(store)));
        }
        let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        Err(ClientTlsError::new(format!(
            "the system knows no certificate authority{why}; install the package ca-certificates, or \
             name a file with the authority of the backend as `backend_ca`"
        )))
    }

    /// Those of a PEM file.
    ///
    /// # Errors
    ///
    /// It cannot be read, or holds no certificate or a damaged one.
    pub fn from_file(path: &Path) -> Result<Roots, ClientTlsError> {
        let mut store = RootCertStore::empty();
        for certificate in certificates(path)? {
            store.add(certificate).map_err(|error| {
                let what = format_args!("a certificate in it cannot be an authority: {error}");
                ClientTlsError::of_file(path, what)
            })?;
        }
        Ok(Roots(Arc::new(store)))
    }

    pub(super) fn store(&self) -> Arc<RootCertStore> {
        self.0.clone()
    }
}
