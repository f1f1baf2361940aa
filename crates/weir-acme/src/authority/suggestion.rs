//! When the ACME server suggests to renew a certificate (ARI, RFC 9773), and what a certificate is called
//! there. Used by the authority and by orders.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use instant_acme::{Account, CertificateIdentifier, Error};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::AuthorityKeyIdentifier;

use super::problem::failure;
use crate::failure::Failure;
use crate::schedule::renewal::{LATEST_QUESTION, Window};
use crate::storage::Pem;

/// What the server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suggestion {
    /// When to renew; `None`: it suggests nothing, or nothing that makes sense.
    pub(crate) window: Option<Window>,
    /// When to ask again.
    pub(crate) again: Option<Duration>,
}

impl Suggestion {
    /// Nothing, for as long as may be.
    pub(super) const NONE: Suggestion = Suggestion { window: None, again: Some(LATEST_QUESTION) };
}

/// `identifier`: what [`identifier`] says.
pub(super) async fn ask(
    account: &Account,
    identifier: &CertificateIdentifier<'_>,
) -> Result<Suggestion, Failure> {
    match account.renewal_info(identifier).await {
        Ok((info, again)) => {
            let window = info.suggested_window;
            let start = time(window.start.unix_timestamp());
            let end = time(window.end.unix_timestamp());
            let window = start.zip(end).and_then(|(start, end)| Window::new(start, end));
            Ok(Suggestion { window, again: Some(again) })
        }
        Err(Error::Unsupported(_)) => Ok(Suggestion::NONE),
        Err(error) => Err(failure("there is no renewal information", &error)),
    }
}

/// What the first certificate of a chain is called (RFC 9773 section 4.1): its issuer's key and its
/// serial number. `None`: it does not say whose key signed it.
pub(super) fn identifier(pem: &Pem) -> Option<CertificateIdentifier<'static>> {
    let der = CertificateDer::from_pem_slice(pem.chain.as_bytes()).ok()?;
    let certificate = Certificate::from_der(&der).ok()?.tbs_certificate;
    let (_, issuer) = certificate.get::<AuthorityKeyIdentifier>().ok()??;
    // The content without tag and length, which are a byte each: 20 bytes are the most (RFC 5280
    // section 4.1.2.2). A leading zero belongs to it.
    let serial = certificate.serial_number.to_der().ok()?;
    let encoded = |bytes| BASE64_URL_SAFE_NO_PAD.encode(bytes).into();
    Some(CertificateIdentifier {
        authority_key_identifier: encoded(issuer.key_identifier?.as_bytes()),
        serial: encoded(serial.get(2..)?),
    })
}

fn time(unix: i64) -> Option<SystemTime> {
    let distance = Duration::from_secs(unix.unsigned_abs());
    match unix >= 0 {
        true => SystemTime::UNIX_EPOCH.checked_add(distance),
        false => SystemTime::UNIX_EPOCH.checked_sub(distance),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, Issuer, KeyIdMethod, KeyPair, SerialNumber};

    use super::*;

    /// The key identifier and serial number of RFC 9773, section 4.1.
    #[test]
    fn certificates_are_called_as_in_the_rfc() {
        let issuer_key = [
            0x69, 0x88, 0x5B, 0x6B, 0x87, 0x46, 0x40, 0x41, 0xE1, 0xB3, 0x7B, 0x84, 0x7B, 0xA0,
            0xAE, 0x2C, 0xDE, 0x01, 0xC8, 0xD4,
        ];
        let mut issuer = CertificateParams::default();
        issuer.key_identifier_method = KeyIdMethod::PreSpecified(issuer_key.to_vec());
        let issuer = Issuer::new(issuer, KeyPair::generate().unwrap());
        let mut params = CertificateParams::new(["a.example".to_owned()]).unwrap();
        params.serial_number = Some(SerialNumber::from(vec![0x87, 0x65, 0x43, 0x21]));
        params.use_authority_key_identifier_extension = true;
        let chain = params.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap().pem();
        let identifier = identifier(&Pem { key: String::new(), chain }).unwrap();
        assert_eq!(identifier.to_string(), "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE");
    }

    #[test]
    fn what_is_no_certificate_has_no_name() {
        for chain in ["", "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"] {
            assert!(identifier(&Pem { key: String::new(), chain: chain.to_owned() }).is_none());
        }
    }

    #[test]
    fn every_time_has_its_place() {
        assert_eq!(time(0), Some(SystemTime::UNIX_EPOCH));
        assert_eq!(time(-5), Some(SystemTime::UNIX_EPOCH - Duration::from_secs(5)));
        for absurd in [i64::MAX, i64::MIN] {
            let _ = time(absurd);
        }
    }
}
