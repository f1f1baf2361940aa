//! PEM files (RFC 7468): chains of certificates and private keys. Used to read what operators name and
//! what a certificate authority has sent.

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::error::CertificateError;

/// A section of this name, or with this line in its head, holds a key that needs a password (RFC 5958;
/// RFC 1421, section 4.6.1.1).
const ENCRYPTED: [&str; 2] = ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"];

/// The certificates of a file in their order, at least one.
///
/// # Errors
///
/// There is none, or one is cut off or damaged.
pub(super) fn chain(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let chain = chain.map_err(|error| damaged(&error))?;
    if chain.is_empty() {
        return Err(CertificateError::new(
            "there is no certificate in it; a PEM file has one after a line -----BEGIN CERTIFICATE-----",
        ));
    }
    Ok(chain)
}

/// The first private key of a file.
///
/// # Errors
///
/// There is none, or it is encrypted, cut off or damaged.
pub(super) fn key(text: &[u8]) -> Result<PrivateKeyDer<'static>, CertificateError> {
    match PrivateKeyDer::from_pem_slice(text) {
        Ok(key) => Ok(key),
        Err(_) if is_encrypted(text) => Err(CertificateError::new(
            "the private key is encrypted, and nobody is there to give its password; decrypt it with \
             openssl pkey -in KEY -out DECRYPTED, and have only weir's user read the result",
        )),
        Err(pem::Error::NoItemsFound) => Err(CertificateError::new(
            "there is no private key in it; a PEM file has one after a line -----BEGIN PRIVATE KEY-----",
        )),
        Err(error) => Err(damaged(&error)),
    }
}

fn is_encrypted(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    ENCRYPTED.iter().any(|mark| text.contains(mark))
}

fn damaged(error: &pem::Error) -> CertificateError {
    match error {
        pem::Error::MissingSectionEnd { .. } => CertificateError::new(
            "it is cut off: a section has a line -----BEGIN and no line -----END; copy it anew",
        ),
        other => CertificateError::new(format!("it is no valid PEM ({other}); copy it anew")),
    }
}
