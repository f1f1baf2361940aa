//! The key of a certificate, and the request to sign it (RFC 8555 section 7.4). Used by orders.

use rcgen::{CertificateParams, DistinguishedName, Error, KeyPair};

use crate::failure::Failure;
use crate::host_name::HostName;

/// A new private key, in PEM.
pub(super) fn new_key() -> Result<String, Failure> {
    Ok(KeyPair::generate().map_err(failed)?.serialize_pem())
}

/// The request to sign a certificate for `name` with this key, in DER.
pub(super) fn signing_request(name: &HostName, key: &str) -> Result<Vec<u8>, Failure> {
    let key = KeyPair::from_pem(key).map_err(failed)?;
    let mut params = CertificateParams::new([name.as_str().to_owned()]).map_err(failed)?;
    params.distinguished_name = DistinguishedName::new();
    Ok(params.serialize_request(&key).map_err(failed)?.der().to_vec())
}

fn failed(error: Error) -> Failure {
    Failure::unjudged(format!("the certificate's key or its request cannot be made: {error}"))
}

#[cfg(test)]
mod tests {
    use rcgen::PublicKeyData;

    use super::*;

    #[test]
    fn a_request_has_the_name_and_the_key_that_comes_back_from_text() {
        let key = new_key().unwrap();
        let request = signing_request(&"a.example".parse().unwrap(), &key).unwrap();
        let has = |part: &[u8]| request.windows(part.len()).any(|window| window == part);
        assert!(has(b"a.example"));
        assert!(has(&KeyPair::from_pem(&key).unwrap().subject_public_key_info()));
    }

    #[test]
    fn what_is_no_key_is_told() {
        let name = "a.example".parse().unwrap();
        let garbled = "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n";
        for key in ["", "secret", garbled] {
            let failure = signing_request(&name, key).unwrap_err();
            assert!(failure.to_string().contains("cannot be made"), "{failure}");
        }
    }
}
