//! A certificate authority of a test, and files with what it has signed.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize,
};
use tempfile::TempDir;

use crate::support::Server;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// See the module.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) directory: TempDir,
}

/// What is special about a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    P256,
    Rsa,
    Expired,
    NotYetValid,
    /// Of a client, who is called as the first name says.
    Client,
}

/// The files of a certificate.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
}

impl Files {
    /// The flags that name them.
    pub(crate) fn flags(&self) -> [&str; 4] {
        [
            "--tls",
            self.chain.to_str().expect("a path of ASCII"),
            "--tls-key",
            self.key.to_str().expect("a path of ASCII"),
        ]
    }
}

impl Authority {
    pub(crate) fn new() -> Authority {
        Authority::called("weir's test authority")
    }

    pub(crate) fn called(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("ca.pem"), certificate.pem()).expect("a file");
        Authority { issuer: Issuer::new(params, key), directory }
    }

    /// Its own certificate.
    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// A certificate and its key in PEM.
    pub(crate) fn signed(&self, kind: Kind, names: &[&str]) -> (String, String) {
        let of = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let of = if kind == Kind::Client { Vec::new() } else { of };
        let mut params = CertificateParams::new(of).expect("names");
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, names[0]);
        params.distinguished_name.push(DnType::OrganizationName, "Weir & Sons");
        // Browsers refuse certificates that are valid for longer than a year or so.
        params.not_before = (SystemTime::now() - DAY).into();
        params.not_after = (SystemTime::now() + 90 * DAY).into();
        if kind == Kind::Expired {
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2020, 1, 2);
        }
        if kind == Kind::NotYetValid {
            params.not_before = rcgen::date_time_ymd(2090, 1, 1);
            params.not_after = rcgen::date_time_ymd(2100, 1, 1);
        }
        if kind == Kind::Client {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        }
        let key = match kind {
            Kind::Rsa => {
                KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).expect("a key")
            }
            _ => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("a key"),
        };
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// The same in files that are called after the first name.
    pub(crate) fn files(&self, kind: Kind, names: &[&str]) -> Files {
        let (chain, key) = self.signed(kind, names);
        self.write(names[0], &chain, &key)
    }

    /// Files of that content.
    pub(crate) fn write(&self, name: &str, chain: &str, key: &str) -> Files {
        let file = |what: &str| {
            self.directory.path().join(format!("{}-{what}.pem", name.replace('*', "all")))
        };
        let files = Files { chain: file("chain"), key: file("key") };
        // As careful programs do it: the file is never there in part.
        for (path, text) in [(&files.chain, chain), (&files.key, key)] {
            let new = path.with_extension("new");
            fs::write(&new, text).expect("a file");
            fs::rename(&new, path).expect("it has its name");
        }
        files
    }

    /// The built-in site with a certificate for a.test; `flags` are added.
    pub(crate) fn server(&self, flags: &[&str]) -> Server {
        let files = self.files(Kind::P256, &["a.test"]);
        Server::builtin(&[&files.flags()[..], flags].concat())
    }
}
