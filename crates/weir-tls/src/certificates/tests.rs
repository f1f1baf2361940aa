//! Certificates for tests, and what is told of those that cannot be used.

use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use rcgen::{
    CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize,
};

use super::{Authorities, Certificate, read, subject};

/// The kind of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    P256,
    Rsa,
}

/// A certificate that is signed with its own key, and the key, in PEM.
pub(crate) fn pem(kind: Kind, params: CertificateParams) -> (String, String) {
    let key = match kind {
        Kind::P256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
        Kind::Rsa => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048),
    };
    let key = key.unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

pub(crate) fn params(names: &[&str]) -> CertificateParams {
    CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
}

pub(crate) fn certificate(kind: Kind, names: &[&str]) -> Certificate {
    let (chain, key) = pem(kind, params(names));
    Certificate::from_pem(chain.as_bytes(), key.as_bytes()).unwrap()
}

fn wrong(chain: &str, key: &str) -> String {
    Certificate::from_pem(chain.as_bytes(), key.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_certificate_says_what_it_is_for() {
    let mut of = params(&["A.test", "*.b.test"]);
    of.not_before = rcgen::date_time_ymd(2020, 1, 1);
    of.not_after = rcgen::date_time_ymd(2020, 1, 2);
    let (chain, key) = pem(Kind::P256, of);
    // Both in one file, as some servers have them.
    let both = format!("{chain}{key}");
    let read = Certificate::from_pem(both.as_bytes(), both.as_bytes()).unwrap();
    assert_eq!(read.names(), ["a.test", "*.b.test"]);
    assert_eq!(read.not_after(), read.not_before() + Duration::from_secs(24 * 3600));
    for (at, told) in [
        (read.not_after() + Duration::from_secs(1), "it has expired, on Thu, 02 Jan 2020"),
        (read.not_before() - Duration::from_secs(1), "it is valid only from Wed, 01 Jan 2020"),
    ] {
        let error = read.check_time(at).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
    }
    assert_eq!(read.check_time(read.not_before()), Ok(()));
}

#[test]
fn what_cannot_be_used_is_named_with_its_remedy() {
    let (chain, key) = pem(Kind::P256, params(&["a.test"]));
    let mut of_other = params(&["b.test"]);
    of_other.distinguished_name.push(DnType::CommonName, "another");
    let (other, other_key) = pem(Kind::P256, of_other);
    let cut = |text: &str| text[..text.len() / 2].to_owned();
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIF\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n\
               -----END RSA PRIVATE KEY-----\n";
    let damaged = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    for (chain, key, told) in [
        ("", &*key, "there is no certificate in it"),
        (&key, &key, "there is no certificate in it"),
        (&chain, "", "there is no private key in it"),
        (&chain, &chain, "there is no private key in it"),
        (&cut(&chain), &key, "it is cut off"),
        (&chain, &cut(&key), "it is cut off"),
        (damaged, &key, "it is no valid certificate"),
        (&chain, encrypted, "the private key is encrypted"),
        (&chain, old, "the private key is encrypted"),
        (&chain, &other_key, "the private key belongs to another certificate"),
        (&format!("{chain}{other}"), &key, "the chain is out of order"),
    ] {
        let error = wrong(chain, key);
        assert!(error.starts_with(told), "{told}: {error}");
    }
}

#[test]
fn files_are_named_in_errors() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let mut of = params(&["a.test"]);
    of.not_after = rcgen::date_time_ymd(2020, 1, 2);
    let (chain, key) = pem(Kind::P256, of);
    let (chain, key) = (file("chain.pem", &chain), file("key.pem", &key));
    let missing = directory.path().join("missing.pem");
    let now = SystemTime::now();
    for (chain, key, told) in [
        (&chain, &key, "chain.pem: it has expired"),
        (&chain, &missing, "missing.pem: it cannot be read: No such file"),
        (&key, &key, "key.pem: there is no certificate in it"),
        (&chain, &chain, "chain.pem: there is no private key in it"),
    ] {
        let error = read(chain, key, now).unwrap_err().to_string();
        assert!(error.contains(told), "{told}: {error}");
    }
}

#[test]
fn authorities_and_subjects_are_read() {
    let (chain, key) = pem(Kind::P256, params(&["a.test"]));
    assert!(Authorities::from_pem(chain.as_bytes()).is_ok());
    let wrong = Authorities::from_pem(key.as_bytes()).unwrap_err().to_string();
    assert!(wrong.starts_with("there is no certificate"), "{wrong}");
    let der = super::pem::chain(chain.as_bytes()).unwrap();
    assert_eq!(subject(&der[0]).as_deref(), Some("CN=rcgen self signed cert"));
    assert_eq!(subject(b"nonsense"), None);
}

proptest! {
    /// Damage of any kind is told, or harmless; it never ends the program.
    #[test]
    fn damaged_files_are_refused(place in 0..700_usize, byte: u8, cut in 0..900_usize) {
        let (chain, key) = (include_str!("samples/chain.pem"), include_str!("samples/key.pem"));
        let damage = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            if let Some(slot) = bytes.get_mut(place) {
                *slot = byte;
            }
            bytes.truncate(cut);
            bytes
        };
        let _ = Certificate::from_pem(&damage(chain), key.as_bytes());
        let _ = Certificate::from_pem(chain.as_bytes(), &damage(key));
        let _ = Authorities::from_pem(&damage(chain));
    }
}
