//! What a site is made of, taken from the configuration. Opened for each worker when the server starts;
//! `weir serve --check` only opens the directory.

use std::path::Path;
use std::sync::Arc;

use super::open::CHUNK;
use super::root::Root;
use super::work::FileDisks;
use crate::config::{Config, DiskWork, FileDepartures};
use crate::error::ServeError;
use crate::metrics::Metrics;
use crate::sys::descriptors;

/// Names that are remembered, by all workers together.
const NAMES: usize = 65_536;

/// The most files that a worker keeps open between requests.
const MOST_OPEN: usize = 4096;

/// What a site is made of: it stays with the worker that makes it.
#[derive(Debug)]
pub(crate) struct SiteConfig {
    /// The directory, which was opened.
    pub(crate) root: Root,
    pub(crate) disks: Arc<FileDisks>,
    pub(crate) metrics: Arc<Metrics>,
    /// The most names that are remembered.
    pub(crate) names: usize,
    /// Bytes of memory for small files.
    pub(crate) hot: usize,
    /// The most large files that are kept open.
    pub(crate) open: usize,
    /// How much of a file a helper fetches at once.
    pub(crate) window: u64,
    /// Who opens and reads what is not in memory.
    pub(crate) work: DiskWork,
    /// Whether work is given up whose client has left.
    pub(crate) departures: FileDepartures,
}

impl SiteConfig {
    /// The site of one worker; `None` if no directory is served.
    ///
    /// # Errors
    ///
    /// The directory cannot be opened.
    pub(crate) fn open(
        config: &Config,
        disks: &Arc<FileDisks>,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<SiteConfig>, ServeError> {
        let Some(path) = &config.root else { return Ok(None) };
        Ok(Some(SiteConfig {
            root: open_root(path)?,
            disks: disks.clone(),
            metrics: metrics.clone(),
            names: (NAMES / config.workers).max(1024),
            hot: usize::try_from(config.cache).unwrap_or(usize::MAX) / config.workers,
            open: (descriptors::limit() / 8 / config.workers).min(MOST_OPEN),
            window: window(config.uplink.rate().map(|rate| rate.bits() / 8)),
            work: config.disk_work,
            departures: config.file_departures,
        }))
    }
}

/// The directory that is served.
///
/// # Errors
///
/// It cannot be opened.
pub(crate) fn open_root(path: &Path) -> Result<Root, ServeError> {
    Root::open(path)
        .map_err(|error| ServeError::new(format!("cannot serve {}", path.display()), &error))
}

/// How much of a file a helper fetches at once: what an uplink of `bytes_per_second` sends in a tenth
/// of a second, within limits that suit disks and memory.
fn window(bytes_per_second: Option<u64>) -> u64 {
    let wanted = bytes_per_second.map_or(u64::MAX, |rate| rate / 10);
    wanted.clamp(CHUNK, 8 * CHUNK).next_multiple_of(CHUNK)
}
