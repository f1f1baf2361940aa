//! What a new configuration needs of files: its log, certificates, what its routes name, and its
//! directories. All of them may take as long as disks like, so a helper opens them. Used by the reload.

use std::sync::Arc;

use weir_tls::CertificateStore;

use super::certificate_files::{CertificateFiles, CertificatesRead};
use super::certificates::Certificates;
use super::sites::{NextSites, Sites};
use crate::compress::Compressor;
use crate::config::{Changes, Config};
use crate::content::{FileDisks, missing_pages, served, window_for};
use crate::error::ServeError;
use crate::logs::access_log::{self, LogHandle};
use crate::metrics::Metrics;
use crate::service::proxy;
use crate::sys::file_helper::Step;

/// The keys that certificates for clients are read by.
const TLS: &[&str] = &["tls", "tls_key", "tls_preset", "tls_client_ca", "tls_client_certificate"];

/// What the helper has to know of the server that runs, and of what becomes of it.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) changes: Changes,
    /// Its sites stay.
    pub(super) has_same_sites: bool,
    pub(super) workers: usize,
    pub(super) disks: Arc<FileDisks>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) routes: Option<Arc<proxy::Shared>>,
    /// What will compress.
    pub(super) compressor: Option<Arc<Compressor>>,
    pub(super) certificate_files: Option<CertificateFiles>,
    pub(super) certificate_store: Option<Arc<CertificateStore>>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) changes: Changes,
    /// `None`: it goes on where it is.
    pub(super) access_log: Option<LogHandle>,
    pub(super) certificates: NextCertificates,
    pub(super) compressor: Option<Arc<Compressor>>,
    pub(super) routes: proxy::Following,
    /// One for each worker.
    pub(super) sites: Vec<NextSites>,
    /// Pages that are not there, as messages for operators.
    pub(super) missing_pages: Vec<String>,
}

/// What becomes of the certificates.
#[derive(Debug)]
pub(super) enum NextCertificates {
    /// They are of the same files, if of any, which were read anew.
    Same(Option<CertificatesRead>),
    Other(Option<Certificates>),
}

impl Opened {
    /// Opens what `next` needs. Nothing is changed. `step`: what it waits for.
    ///
    /// # Errors
    ///
    /// What cannot be used, and why.
    pub(super) fn open(next: &Config, running: Running, step: &Step) -> Result<Opened, ServeError> {
        let Running { changes, compressor, metrics, workers, .. } = running;
        step.begin(format_args!("the access log {}", next.logs.access_log));
        let access_log = match changes.contain(&["access_log"]) {
            true => Some(access_log::open(&next.logs.access_log, next.logs.log_format)?),
            false => None,
        };
        step.begin("a file of certificates");
        let certificates = match changes.contain(TLS) {
            true => {
                let before = running.certificate_store.as_ref();
                NextCertificates::Other(Certificates::open(next, &metrics, before)?)
            }
            false => NextCertificates::Same(running.certificate_files.map(|files| files.read())),
        };
        step.begin("a file that a route names");
        let before = running.routes.as_ref();
        let routes = proxy::Shared::follow(next, before, compressor.as_ref(), &metrics)?;
        step.begin(roots(next));
        let sites: Vec<NextSites> = match running.has_same_sites {
            true => {
                let same = |_| NextSites::Same { window: window_for(next) };
                (0..workers).map(same).collect()
            }
            false => {
                let compressor = compressor.as_ref();
                let sites = Sites::open(next, &running.disks, &metrics, compressor, workers)?;
                sites.into_iter().map(NextSites::Other).collect()
            }
        };
        let missing_pages = missing_pages(next);
        Ok(Opened { changes, access_log, certificates, compressor, routes, sites, missing_pages })
    }
}

/// The directories that are served, as a message names the one that does not answer.
fn roots(config: &Config) -> String {
    let roots = served(config).filter_map(|(root, _)| root);
    let mut roots: Vec<String> = roots.map(|root| root.display().to_string()).collect();
    roots.sort();
    roots.dedup();
    match roots.as_slice() {
        [root] => format!("the root {root}"),
        roots => format!("one of the roots {}", roots.join(", ")),
    }
}
