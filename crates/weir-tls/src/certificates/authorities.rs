//! Certificate authorities that an operator names, to check other sides' certificates with. Used by
//! servers that ask clients for certificates, and by clients.

use std::sync::Arc;

use rustls::RootCertStore;

use super::error::CertificateError;
use super::pem;

/// Who may have signed the other side's certificate. Copies share their content.
#[derive(Clone, Debug)]
pub struct Authorities(pub(crate) Arc<RootCertStore>);

impl Authorities {
    /// Of certificates in PEM, at least one.
    ///
    /// # Errors
    ///
    /// There is none, or one is cut off or damaged.
    pub fn from_pem(text: &[u8]) -> Result<Authorities, CertificateError> {
        let mut roots = RootCertStore::empty();
        for (place, der) in pem::chain(text)?.into_iter().enumerate() {
            roots.add(der).map_err(|error| {
                CertificateError::new(format!("it is no certificate of an authority ({error})"))
                    .at(format_args!("certificate {}", place + 1))
            })?;
        }
        Ok(Authorities(Arc::new(roots)))
    }

    /// As a client of rustls takes them.
    pub fn roots(&self) -> &Arc<RootCertStore> {
        &self.0
    }
}
