//! The certificates of the configuration: read when the server starts, and again when their files have
//! changed or a signal asks for it. Of those that cannot be used then the ones before stay, and they are
//! named. Used by the server; connections get them from the store.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use weir_acme::{ExternalAccount, Manager};
use weir_tls::{Certificate, CertificateError, CertificateStore, Clients, Server};

use super::certificate_files::{CertificateFiles, CertificatesRead, Stamps};
use crate::config::Config;
use crate::error::ServeError;
use crate::metrics::Metrics;
use crate::sys::file_helper::{by_helper, by_helper_in_time};

/// How often it is looked whether files have changed. What has changed is read when it has not changed
/// again in that time: a certificate and its key are seldom written at once.
const LOOK: Duration = Duration::from_secs(1);

/// Looks after which they are read again though no file has changed, if one could not be used: a
/// certificate may have been made for a time that has come since.
const AGAIN: u32 = 60;

/// See the module.
#[derive(Debug)]
pub(super) struct Certificates {
    files: CertificateFiles,
    store: Arc<CertificateStore>,
    server: Arc<Server>,
    metrics: Arc<Metrics>,
    /// What was read first, until it is in use.
    first: RefCell<Option<Vec<Certificate>>>,
    /// What the files were like when they were read last.
    seen: RefCell<Stamps>,
    /// The certificates in use, in the order of their files.
    used: RefCell<Vec<Certificate>>,
    /// What could not be used when they were read last.
    trouble: RefCell<Vec<String>>,
}

impl Certificates {
    /// Reads the certificates that the configuration names; `None`: it names none. They are in use after
    /// [`Certificates::begin`]. `before`: where those of the configuration before are, beside which the ones
    /// that were obtained stay. Waits for files.
    ///
    /// # Errors
    ///
    /// Which file cannot be used, why, and what to do.
    pub(super) fn open(
        config: &Config,
        metrics: &Arc<Metrics>,
        before: Option<&Arc<CertificateStore>>,
    ) -> Result<Option<Certificates>, ServeError> {
        if !config.has_tls() {
            return Ok(None);
        }
        let store = match before {
            Some(before) if config.obtains_certificates() => before.clone(),
            _ => CertificateStore::new(),
        };
        let files = CertificateFiles::of(config);
        let CertificatesRead { stamps, certificates, clients } = files.read();
        let read: Result<Vec<_>, _> = certificates.into_iter().collect();
        let read = read.map_err(ServeError::told)?;
        let clients = clients.transpose().map_err(ServeError::told)?;
        let server = Server::new(&store, config.tls_preset, clients.as_ref());
        let server = Arc::new(server.map_err(ServeError::told)?);
        let (metrics, seen) = (metrics.clone(), RefCell::new(stamps));
        let (used, trouble) = (RefCell::default(), RefCell::default());
        let first = RefCell::new(Some(read));
        Ok(Some(Certificates { files, store, server, metrics, first, seen, used, trouble }))
    }

    /// The files that they are read from.
    pub(super) fn files(&self) -> &CertificateFiles {
        &self.files
    }

    /// Where connections get them from.
    pub(super) fn store(&self) -> &Arc<CertificateStore> {
        &self.store
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

    /// Has all files read anew. Where one cannot be used, what was there stays.
    pub(super) async fn reload(&self) {
        let files = self.files.clone();
        let read = by_helper_in_time(move |step| {
            step.begin("a file of certificates");
            files.read()
        });
        match read.await {
            Ok(read) => {
                self.use_anew(read);
            }
            Err(why) => tracing::error!("certificates stay as they were: {why}"),
        }
    }

    /// Has all files read anew whenever one has changed, and now and then while one cannot be used. A look
    /// takes as long as the files do, and meanwhile there is no other.
    pub(super) async fn watch(&self) {
        let (mut before, mut looks) = (self.seen.borrow().clone(), 0);
        loop {
            tokio::time::sleep(LOOK).await;
            let files = self.files.clone();
            let Ok(now) = by_helper(move || files.stamps()).await else { continue };
            looks += 1;
            let has_changed = now == before && now != *self.seen.borrow();
            before = now;
            if !has_changed && (looks < AGAIN || self.trouble.borrow().is_empty()) {
                continue;
            }
            let files = self.files.clone();
            let Ok(read) = by_helper(move || files.read()).await else { continue };
            let trouble = self.take_read(read);
            let is_new = trouble != *self.trouble.borrow();
            if has_changed || is_new {
                self.tell(trouble);
            }
            looks = 0;
        }
    }

    /// Uses what was read of the files anew. Where something cannot be used, what was there stays. Returns
    /// what that is and why, which is logged.
    pub(super) fn use_anew(&self, read: CertificatesRead) -> Vec<String> {
        let trouble = self.take_read(read);
        self.tell(trouble.clone());
        trouble
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
    fn take_read(&self, read: CertificatesRead) -> Vec<String> {
        let CertificatesRead { stamps, certificates, clients } = read;
        self.seen.replace(stamps);
        let mut trouble = Vec::new();
        let used = self.used.borrow().clone();
        let usable = certificates.into_iter().zip(used).map(|(certificate, before)| {
            certificate.unwrap_or_else(|why| {
                trouble.push(format!("a certificate stays as it was: {why}"));
                before
            })
        });
        let usable = usable.collect();
        self.take(usable);
        if let Some(clients) = clients
            && let Err(why) = self.take_clients(clients)
        {
            trouble.push(format!("the authorities of clients stay as they were: {why}"));
        }
        trouble
    }

    fn take_clients(&self, clients: Result<Clients, CertificateError>) -> Result<(), String> {
        let clients = clients.map_err(|error| error.to_string())?;
        self.server.replace_clients(Some(&clients)).map_err(|error| error.to_string())
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

fn names(certificates: &[Certificate]) -> impl Iterator<Item = &str> {
    certificates.iter().flat_map(Certificate::names).map(String::as_str)
}
