//! The certificates of the configuration: read when the server starts, and again when their files have
//! changed or a signal asks for it. Of those that cannot be used then the ones before stay, and they are
//! named. Used by the server; connections get them from the store.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
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
use crate::sys::file_stamp::FileStamp;

/// How often it is looked whether files have changed. What has changed is read when it has not changed
/// again in that time: a certificate and its key are seldom written at once.
const LOOK: Duration = Duration::from_secs(1);

/// Looks after which they are read again though no file has changed, if one could not be used: a
/// certificate may have been made for a time that has come since.
const AGAIN: u32 = 60;

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
    /// What was read first, until it is in use.
    first: RefCell<Option<Vec<Certificate>>>,
    /// What the files were like when they were read last.
    seen: RefCell<Vec<Option<FileStamp>>>,
    /// The certificates in use, in the order of their files.
    used: RefCell<Vec<Certificate>>,
    /// What could not be used when they were read last.
    trouble: RefCell<Vec<String>>,
}

impl Certificates {
    /// Reads the certificates that the configuration names; `None`: it names none. They are in use after
    /// [`Certificates::begin`]. `before`: those of the configuration before, beside which the ones that were
    /// obtained stay.
    ///
    /// # Errors
    ///
    /// Which file cannot be used, why, and what to do.
    pub(super) fn open(
        config: &Config,
        metrics: &Arc<Metrics>,
        before: Option<&Certificates>,
    ) -> Result<Option<Certificates>, ServeError> {
        if !config.has_tls() {
            return Ok(None);
        }
        let owned = |(chain, key): (&Path, &Path)| (chain.to_owned(), key.to_owned());
        let files: Vec<_> = config.certificate_files().map(owned).collect();
        let clients = config.tls_client_ca.clone().map(|ca| (ca, config.tls_client_certificate));
        let store = match before {
            Some(before) if config.obtains_certificates() => before.store.clone(),
            _ => CertificateStore::new(),
        };
        let seen = stamps(&files, clients.as_ref());
        let read = read_all(&files).map_err(ServeError::told)?;
        let authorities = read_clients(clients.as_ref()).map_err(ServeError::told)?;
        let server = Server::new(&store, config.tls_preset, authorities.as_ref());
        let server = Arc::new(server.map_err(ServeError::told)?);
        let (metrics, seen) = (metrics.clone(), RefCell::new(seen));
        let (used, trouble) = (RefCell::default(), RefCell::default());
        let first = RefCell::new(Some(read));
        Ok(Some(Certificates {
            files,
            clients,
            store,
            server,
            metrics,
            first,
            seen,
            used,
            trouble,
        }))
    }

    /// What was read is in use from now on, instead of those `before`.
    pub(super) fn begin(&self, before: Option<&Certificates>) {
        if let Some(before) = before {
            self.used.replace(before.used.borrow().clone());
        }
        if let Some(first) = self.first.take() {
            self.take(first);
        }
    }

    /// They are not in use any more, and no others.
    pub(super) fn end(&self) {
        let names = names(&self.used.borrow()).map(str::to_owned).collect();
        self.metrics.handshakes.of_files(&BTreeMap::new(), &names);
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

    /// Reads all files anew. Where one cannot be used, what was there stays.
    pub(super) fn reload(&self) {
        self.tell(self.read_anew());
    }

    /// Reads all files anew whenever one has changed, and now and then while one cannot be used.
    pub(super) async fn watch(&self) {
        let (mut before, mut looks) = (self.seen.borrow().clone(), 0);
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.stamps();
            looks += 1;
            if now == before && now != *self.seen.borrow() {
                self.reload();
                looks = 0;
            } else if looks >= AGAIN && !self.trouble.borrow().is_empty() {
                let trouble = self.read_anew();
                if trouble != *self.trouble.borrow() {
                    self.tell(trouble);
                }
                looks = 0;
            }
            before = now;
        }
    }

    /// Says what could not be used, or that all could.
    fn tell(&self, trouble: Vec<String>) {
        match trouble.is_empty() {
            true => tracing::info!("certificates were read anew, for new connections"),
            false => trouble.iter().for_each(|why| tracing::error!("{why}")),
        }
        self.trouble.replace(trouble);
    }

    /// Takes all that can be used; returns what cannot.
    fn read_anew(&self) -> Vec<String> {
        *self.seen.borrow_mut() = self.stamps();
        let now = SystemTime::now();
        let mut trouble = Vec::new();
        let used = self.used.borrow().clone();
        let read = self.files.iter().zip(used).map(|((chain, key), before)| {
            read(chain, key, now).unwrap_or_else(|why| {
                trouble.push(format!("a certificate stays as it was: {why}"));
                before
            })
        });
        let certificates = read.collect();
        self.take(certificates);
        if self.clients.is_some()
            && let Err(why) = self.read_clients_anew()
        {
            trouble.push(format!("the authorities of clients stay as they were: {why}"));
        }
        trouble
    }

    fn read_clients_anew(&self) -> Result<(), String> {
        let clients = read_clients(self.clients.as_ref()).map_err(|error| error.to_string())?;
        self.server.replace_clients(clients.as_ref()).map_err(|error| error.to_string())
    }

    fn take(&self, certificates: Vec<Certificate>) {
        let before: BTreeSet<String> = names(&self.used.borrow()).map(str::to_owned).collect();
        let mut ends: BTreeMap<String, SystemTime> = BTreeMap::new();
        for certificate in &certificates {
            for name in certificate.names() {
                // Of several for one name, the one that ends first is the one to be told of.
                let end = ends.entry(name.clone()).or_insert(certificate.not_after());
                *end = certificate.not_after().min(*end);
            }
        }
        self.metrics.handshakes.of_files(&ends, &before);
        self.used.replace(certificates.clone());
        self.store.replace_files(certificates);
    }

    fn stamps(&self) -> Vec<Option<FileStamp>> {
        stamps(&self.files, self.clients.as_ref())
    }
}

/// Whether the server could use the certificates that the configuration names, and obtain the others.
///
/// # Errors
///
/// As [`Certificates::open`] and [`Certificates::obtain`].
pub(super) fn check(config: &Config) -> Result<(), ServeError> {
    Certificates::open(config, &Arc::new(Metrics::new()), None)?;
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

fn names(certificates: &[Certificate]) -> impl Iterator<Item = &str> {
    certificates.iter().flat_map(Certificate::names).map(String::as_str)
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
) -> Vec<Option<FileStamp>> {
    let of_servers = files.iter().flat_map(|(chain, key)| [chain, key]);
    of_servers.chain(clients.map(|(file, _)| file)).map(|file| FileStamp::of(file)).collect()
}
