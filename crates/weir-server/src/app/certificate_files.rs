//! The files of certificates that the configuration names, and what is read of them. This waits for files:
//! the server reads them when it starts, and has helpers do it later. Used by [`super::certificates`].

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use weir_tls::certificates::{read, read_authorities};
use weir_tls::{Certificate, CertificateError, ClientCertificates, Clients};

use crate::config::Config;
use crate::sys::file_stamp::FileStamp;

/// What the files are like, in their order.
pub(super) type Stamps = Vec<Option<FileStamp>>;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct CertificateFiles {
    /// The chain and the key of each.
    pairs: Vec<(PathBuf, PathBuf)>,
    /// The authorities of clients' certificates, and whether clients must show one.
    clients: Option<(PathBuf, ClientCertificates)>,
}

/// What was read of them: each part, or why it cannot be used.
#[derive(Debug)]
pub(super) struct CertificatesRead {
    /// What the files were like before.
    pub(super) stamps: Stamps,
    /// In the order of the files.
    pub(super) certificates: Vec<Result<Certificate, CertificateError>>,
    /// `None`: clients are asked for no certificates.
    pub(super) clients: Option<Result<Clients, CertificateError>>,
}

impl CertificateFiles {
    /// Those that the configuration names.
    pub(super) fn of(config: &Config) -> CertificateFiles {
        let owned = |(chain, key): (&Path, &Path)| (chain.to_owned(), key.to_owned());
        let pairs = config.certificate_files().map(owned).collect();
        let clients = config.tls_client_ca.clone().map(|ca| (ca, config.tls_client_certificate));
        CertificateFiles { pairs, clients }
    }

    /// What they are like now.
    pub(super) fn stamps(&self) -> Stamps {
        let of_servers = self.pairs.iter().flat_map(|(chain, key)| [chain, key]);
        let all = of_servers.chain(self.clients.as_ref().map(|(file, _)| file));
        all.map(|file| FileStamp::of(file)).collect()
    }

    /// Reads all of them.
    pub(super) fn read(&self) -> CertificatesRead {
        let stamps = self.stamps();
        let now = SystemTime::now();
        let certificates = self.pairs.iter().map(|(chain, key)| read(chain, key, now)).collect();
        let clients = self.clients.as_ref().map(|(file, certificates)| {
            let authorities = read_authorities(file);
            authorities.map(|authorities| Clients { authorities, certificates: *certificates })
        });
        CertificatesRead { stamps, certificates, clients }
    }
}
