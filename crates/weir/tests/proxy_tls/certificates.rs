//! Certificates of backends and of weir, in the forms that these tests need.

use std::path::PathBuf;

use crate::authority::{Authority, Kind};

/// The address of every backend, and a name that none has in its URL.
pub(crate) const ADDRESS: &str = "127.0.0.1";
pub(crate) const NAME: &str = "backend.test";

/// A certificate and its key, in PEM.
#[derive(Clone, Debug)]
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    /// For `names`, valid now.
    pub(crate) fn issue(&self, names: &[&str]) -> Issued {
        self.issue_kind(Kind::P256, names)
    }

    pub(crate) fn issue_kind(&self, kind: Kind, names: &[&str]) -> Issued {
        let (certificate, key) = self.signed(kind, names);
        Issued { certificate, key }
    }

    /// Its own certificate, in PEM.
    pub(crate) fn certificate(&self) -> String {
        std::fs::read_to_string(self.root()).expect("a file")
    }

    /// A file, which is there as long as the authority.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).expect("the file is written");
        path
    }

    /// The key of a route that believes this authority.
    pub(crate) fn as_ca(&self) -> String {
        format!("backend_ca = {:?}\n", self.root())
    }
}
