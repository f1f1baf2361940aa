//! Reads certificates and keys from the files that a configuration names. Used when a server starts, and
//! when the files have changed.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use super::authorities::Authorities;
use super::certificate::Certificate;
use super::error::CertificateError;

/// The certificate of these two files, which may be one, for use at `now`.
///
/// # Errors
///
/// Which file cannot be read or used, why, and what to do.
pub fn read(chain: &Path, key: &Path, now: SystemTime) -> Result<Certificate, CertificateError> {
    let place = match chain == key {
        true => chain.display().to_string(),
        false => format!("{} with key {}", chain.display(), key.display()),
    };
    let certificate = Certificate::from_pem(&contents(chain)?, &contents(key)?);
    let certificate = certificate.map_err(|error| error.at(&place))?;
    certificate.check_time(now).map_err(|error| error.at(chain.display()))?;
    Ok(certificate)
}

/// The authorities of a file.
///
/// # Errors
///
/// Why it cannot be read or used, and what to do.
pub fn read_authorities(file: &Path) -> Result<Authorities, CertificateError> {
    Authorities::from_pem(&contents(file)?).map_err(|error| error.at(file.display()))
}

fn contents(file: &Path) -> Result<Vec<u8>, CertificateError> {
    fs::read(file).map_err(|error| {
        CertificateError::new(format!("it cannot be read: {error}")).at(file.display())
    })
}
