//! The certificate by which weir shows a backend who it is, with its key. Used by [`super::ClientTls`].

use std::path::Path;
use std::sync::Arc;

use rustls::client::ResolvesClientCert;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use super::error::ClientTlsError;
use super::pem::{certificates, read};

/// A certificate with the chain to its authority, and its key.
#[derive(Clone, Debug)]
pub struct Identity(Arc<SingleCertAndKey>);

impl Identity {
    /// From PEM files, which may be one: the certificate first, then those that sign it.
    ///
    /// # Errors
    ///
    /// A file cannot be read, is damaged, lacks what it is for, has an encrypted key, or the key is not
    /// that of the certificate.
    pub fn from_files(chain: &Path, key: &Path) -> Result<Identity, ClientTlsError> {
        let certificates = certificates(chain)?;
        let text = read(key)?;
        let private = PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
            let what = match is_encrypted(&text) {
                true => "the key is encrypted; write it without a passphrase by `openssl pkey`",
                false => "holds no private key; one begins with -----BEGIN PRIVATE KEY-----",
            };
            ClientTlsError::of_file(key, format_args!("{what} ({error:?})"))
        })?;
        let provider = aws_lc_rs::default_provider();
        let certified = CertifiedKey::from_der(certificates, private, &provider);
        let certified = certified.map_err(|error| {
            let what = match error {
                rustls::Error::InconsistentKeys(_) => {
                    format!("is not the key of the certificate in {}", chain.display())
                }
                other => format!("cannot be used with {}: {other}", chain.display()),
            };
            ClientTlsError::of_file(key, what)
        })?;
        Ok(Identity(Arc::new(SingleCertAndKey::from(certified))))
    }

    pub(super) fn resolver(&self) -> Arc<dyn ResolvesClientCert> {
        self.0.clone()
    }
}

/// Whether a PEM file says that its key is encrypted (RFC 7468, section 11, and the older form of OpenSSL).
fn is_encrypted(text: &[u8]) -> bool {
    let says = |words: &[u8]| text.windows(words.len()).any(|part| part == words);
    says(b"BEGIN ENCRYPTED PRIVATE KEY") || says(b"Proc-Type: 4,ENCRYPTED")
}
