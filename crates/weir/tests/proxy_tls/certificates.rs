//! Certificates for tests: an authority that signs what a test wants.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tempfile::TempDir;

/// The address of every backend, and a name that none has in its URL.
pub(crate) const ADDRESS: &str = "127.0.0.1";
pub(crate) const NAME: &str = "backend.test";

/// An authority, with a directory for files.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate, as PEM.
    pub(crate) certificate: String,
    directory: TempDir,
}

/// A certificate and its key, as PEM.
#[derive(Clone, Debug)]
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        Authority::called("an authority of a test")
    }

    pub(crate) fn called(name: &str) -> Authority {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.self_signed(&key).expect("a certificate").pem();
        let issuer = Issuer::new(params, key);
        Authority { issuer, certificate, directory: tempfile::tempdir().expect("a directory") }
    }

    /// For `names`, valid now.
    pub(crate) fn issue(&self, names: &[&str]) -> Issued {
        self.issue_for(names, [2020, 2100])
    }

    /// For `names`, valid from the first day of one year to that of another.
    pub(crate) fn issue_for(&self, names: &[&str], [from, until]: [i32; 2]) -> Issued {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("valid names");
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate").pem();
        Issued { certificate, key: key.serialize_pem() }
    }

    /// A file, which is there as long as the authority.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).expect("the file is written");
        path
    }

    /// The key of a route that believes this authority.
    pub(crate) fn as_ca(&self) -> String {
        format!("backend_ca = {:?}\n", self.file("ca.pem", &self.certificate))
    }
}
