//! The certificates of the configuration: read when the server starts, and again when their files have
//! changed or a signal asks for it. What cannot be used is named, and what was there stays. Used by the
//! server; connections get them from the store.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use weir_acme::{ExternalAccount, Manager};
use weir_tls::certificates::{read, read_authorities};
use weir_tls::{
    Certificate, CertificateError, CertificateStore, ClientCertificates, Clients, Server,
};

use crate::config::Config;
use crate::error::ServeError;
use crate::metrics::Metrics;

/// How often it is looked whether files have changed. What has changed is read when it has not changed
/// again in that time: a certificate and its key are seldom written at once.
const LOOK: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(super) struct Certificates {
    /// The chain and the key of each.
    files: Vec<(PathBuf, PathBuf)>,
    /// The authorities of clients' certificates, and whether clients must show one.
    clients: Option<(PathBuf, ClientCertificates)>,
    store: Arc<CertificateStore>,
    server: Arc<Server>,
    metrics: Arc<Metrics>,
    /// What the files were like when they were read last.
    seen: RefCell<Vec<Option<Stamp>>>,
}

/// Tells whether a file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl Certificates {
    /// Reads the certificates that the configuration names; `None`: it names none.
    ///
    /// # Errors
    ///
    /// Which file cannot be used, why, and what to do.
    pub(super) fn open(
        config: &Config,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Certificates>, ServeError> {
        if !config.has_tls() {
            return Ok(None);
        }
        let owned = |(chain, key): (&Path, &Path)| (chain.to_owned(), key.to_owned());
        let files: Vec<_> = config.certificate_files().map(owned).collect();
        let clients = config.tls_client_ca.clone().map(|ca| (ca, config.tls_client_certificate));
        let store = CertificateStore::new();
        let seen = stamps(&files, clients.as_ref());
        let read = read_all(&files).map_err(ServeError::told)?;
        let authorities = read_clients(clients.as_ref()).map_err(ServeError::told)?;
        let server = Server::new(&store, config.tls_preset, authorities.as_ref());
        let server = Arc::new(server.map_err(ServeError::told)?);
        let (metrics, seen) = (metrics.clone(), RefCell::new(seen));
        let certificates = Certificates { files, clients, store, server, metrics, seen };
        certificates.take(read);
        Ok(Some(certificates))
    }

    /// What ports with TLS offer.
    pub(super) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Starts to look after those that are obtained, beside those of files; `None`: there are none.
    ///
    /// # Errors
    ///
    /// They cannot be kept, or nobody can be asked for them.
    pub(super) fn obtain(&self, config: &Config) -> Result<Option<Manager>, ServeError> {
        let Some(settings) = config.acme_settings().map_err(ServeError::told)? else {
            return Ok(None);
        };
        let settings =
            weir_acme::Settings { external_account: external_account(config)?, ..settings };
        let manager = Manager::start(settings, self.store.clone()).map_err(ServeError::told)?;
        Ok(Some(manager))
    }

    /// Reads all files anew. If one cannot be used, all stays as it was.
    pub(super) fn reload(&self) {
        *self.seen.borrow_mut() = self.stamps();
        match self.read_anew() {
            Ok(()) => tracing::info!("certificates were read anew, for new connections"),
            Err(why) => tracing::error!("certificates stay as they were: {why}"),
        }
    }

    /// Reads all files anew whenever one has changed.
    pub(super) async fn watch(&self) {
        let mut before = self.seen.borrow().clone();
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.stamps();
            if now == before && now != *self.seen.borrow() {
                self.reload();
            }
            before = now;
        }
    }

    fn read_anew(&self) -> Result<(), String> {
        let certificates = read_all(&self.files).map_err(|error| error.to_string())?;
        if self.clients.is_some() {
            let clients = read_clients(self.clients.as_ref()).map_err(|error| error.to_string())?;
            self.server.replace_clients(clients.as_ref()).map_err(|error| error.to_string())?;
        }
        self.take(certificates);
        Ok(())
    }

    fn take(&self, certificates: Vec<Certificate>) {
        self.metrics.handshakes.forget_certificates();
        for certificate in &certificates {
            for name in certificate.names() {
                self.metrics.handshakes.expires(name, certificate.not_after());
            }
        }
        self.store.replace_files(certificates);
    }

    fn stamps(&self) -> Vec<Option<Stamp>> {
        stamps(&self.files, self.clients.as_ref())
    }
}

/// Whether the server could use the certificates that the configuration names, and obtain the others.
///
/// # Errors
///
/// As [`Certificates::open`] and [`Certificates::obtain`].
pub(super) fn check(config: &Config) -> Result<(), ServeError> {
    Certificates::open(config, &Arc::new(Metrics::new()))?;
    external_account(config)?;
    match config.acme_settings().map_err(ServeError::told)? {
        Some(settings) => Manager::check(&settings).map_err(ServeError::told),
        None => Ok(()),
    }
}

fn external_account(config: &Config) -> Result<Option<ExternalAccount>, ServeError> {
    let file = config.acme.acme_external_account.as_deref();
    file.map(ExternalAccount::read).transpose().map_err(ServeError::told)
}

fn read_all(files: &[(PathBuf, PathBuf)]) -> Result<Vec<Certificate>, CertificateError> {
    let now = SystemTime::now();
    files.iter().map(|(chain, key)| read(chain, key, now)).collect()
}

fn read_clients(
    clients: Option<&(PathBuf, ClientCertificates)>,
) -> Result<Option<Clients>, CertificateError> {
    let Some((file, certificates)) = clients else { return Ok(None) };
    let authorities = read_authorities(file)?;
    Ok(Some(Clients { authorities, certificates: *certificates }))
}

fn stamps(
    files: &[(PathBuf, PathBuf)],
    clients: Option<&(PathBuf, ClientCertificates)>,
) -> Vec<Option<Stamp>> {
    let of_servers = files.iter().flat_map(|(chain, key)| [chain, key]);
    of_servers.chain(clients.map(|(file, _)| file)).map(|file| stamp(file)).collect()
}

/// `None`: it cannot be told, such as of a file that is missing.
fn stamp(file: &Path) -> Option<Stamp> {
    let found = fs::metadata(file).ok()?;
    let modified = (found.mtime(), found.mtime_nsec());
    Some(Stamp { inode: found.ino(), length: found.len(), modified })
}
