//! What stands in PEM files. Used by [`super::roots`] and [`super::identity`].

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::error::ClientTlsError;

/// The bytes of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, ClientTlsError> {
    std::fs::read(path)
        .map_err(|error| ClientTlsError::of_file(path, format_args!("cannot be read: {error}")))
}

/// The certificates of a PEM file, one at least.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ClientTlsError> {
    let text = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| {
        ClientTlsError::of_file(path, format_args!("a certificate in it is damaged: {error:?}"))
    })?;
    if found.is_empty() {
        return Err(ClientTlsError::of_file(
            path,
            "holds no certificate; one begins with -----BEGIN CERTIFICATE-----",
        ));
    }
    Ok(found)
}
