//! What an X.509 certificate (RFC 5280) says: for which names, from when to when, of whom, by whom. Read
//! when a certificate is loaded, and of clients' certificates when they connect.

use std::time::SystemTime;

use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::error::CertificateError;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// The DNS names of its subjectAltName in lower case, in their order. The common name does not count:
    /// clients do not look at it (RFC 9525, section 6.2).
    pub(super) names: Vec<String>,
    pub(super) not_before: SystemTime,
    pub(super) not_after: SystemTime,
    /// As RFC 4514 writes it.
    pub(super) subject: String,
    pub(super) issuer: String,
}

impl Facts {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    ///
    /// It is none.
    pub(super) fn read(der: &[u8]) -> Result<Facts, CertificateError> {
        let invalid = |error: x509_cert::der::Error| {
            CertificateError::new(format!("it is no valid certificate ({error}); copy it anew"))
        };
        let certificate = Certificate::from_der(der).map_err(invalid)?.tbs_certificate;
        let alternative = certificate.get::<SubjectAltName>().map_err(invalid)?;
        let alternative = alternative.map(|(_, names)| names.0).unwrap_or_default();
        let names = alternative.iter().filter_map(|name| match name {
            GeneralName::DnsName(name) => Some(name.as_str().to_ascii_lowercase()),
            _ => None,
        });
        Ok(Facts {
            names: names.collect(),
            not_before: certificate.validity.not_before.to_system_time(),
            not_after: certificate.validity.not_after.to_system_time(),
            subject: certificate.subject.to_string(),
            issuer: certificate.issuer.to_string(),
        })
    }
}

/// The subject of a certificate in DER, as RFC 4514 writes it; `None`: it is no certificate.
pub fn subject(der: &[u8]) -> Option<String> {
    Facts::read(der).ok().map(|facts| facts.subject)
}
