//! The certificate that answers tls-alpn-01 (RFC 8737 section 3): for the name alone, signed by itself,
//! with the digest of the key authorization in a critical extension. Used by the answers.

use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use weir_tls::Certificate;

use crate::failure::{Failure, with_causes};
use crate::host_name::HostName;

/// Bytes of a SHA-256 digest; rcgen panics at any other length.
const DIGEST: usize = 32;

/// The certificate for `name`; `digest`: SHA-256 of the key authorization.
pub(super) fn challenge_certificate(
    name: &HostName,
    digest: &[u8],
) -> Result<Certificate, Failure> {
    let failed = |error: &dyn std::error::Error| {
        let error = with_causes(error);
        Failure::unjudged(format!(
            "the certificate that answers tls-alpn-01 cannot be made: {error}"
        ))
    };
    let digest: &[u8; DIGEST] = digest.try_into().map_err(|error| failed(&error))?;
    let mut params =
        CertificateParams::new([name.as_str().to_owned()]).map_err(|error| failed(&error))?;
    params.distinguished_name = DistinguishedName::new();
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate().map_err(|error| failed(&error))?;
    let certificate = params.self_signed(&key).map_err(|error| failed(&error))?;
    Certificate::from_pem(certificate.pem().as_bytes(), key.serialize_pem().as_bytes())
        .map_err(|error| failed(&error))
}
