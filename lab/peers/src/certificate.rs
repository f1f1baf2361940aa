//! A certificate and its key in files, the same for all servers that are compared. Whoever starts servers
//! with TLS makes one.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};

use crate::error::{Error, Result};

/// A self-signed certificate of P-256 and its key, each in a PEM file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate.
    pub chain: PathBuf,
    /// Its key. The name is that of the certificate with `.key`, by which HAProxy finds it.
    pub key: PathBuf,
}

impl Certificate {
    /// Make one for these names and addresses, as `certificate.pem` and `certificate.pem.key` below a
    /// directory. Any user may read the key, since servers run as various ones: it is for measurements
    /// alone.
    ///
    /// # Errors
    ///
    /// What is no name, or a file that cannot be written.
    pub fn make(directory: &Path, names: &[String]) -> Result<Certificate> {
        let failed = |e: rcgen::Error| Error(format!("cannot make a certificate: {e}"));
        let mut params = CertificateParams::new(names).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, "a measured server");
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?;
        let chain = directory.join("certificate.pem");
        let files = Certificate { key: chain.with_extension("pem.key"), chain };
        for (file, text) in [(&files.chain, certificate.pem()), (&files.key, key.serialize_pem())] {
            fs::write(file, text).map_err(|e| Error::file("write", file, &e))?;
        }
        Ok(files)
    }

    /// The certificate's text, for clients that are to trust in it.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn pem(&self) -> Result<Vec<u8>> {
        fs::read(&self.chain).map_err(|e| Error::file("read", &self.chain, &e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn haproxy_finds_the_key_by_the_certificate_s_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let made = Certificate::make(directory.path(), &["127.0.0.1".into(), "a.test".into()]);
        let Certificate { chain, key } = made.expect("good names");
        assert_eq!(format!("{}.key", chain.display()), key.display().to_string());
        let key = fs::read_to_string(key).expect("it was written");
        assert!(key.starts_with("-----BEGIN PRIVATE KEY-----"), "{key}");
    }
}
