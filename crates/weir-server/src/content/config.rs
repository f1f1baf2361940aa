//! What the sites of a worker are made of, taken from the configuration. Opened for each worker when the
//! server starts, and by a reload that changes them; `weir serve --check` only opens the directories.

use std::path::Path;
use std::sync::Arc;

use super::coding::SiteCoding;
use super::open::CHUNK;
use super::root::Root;
use super::rules::Rules;
use super::work::FileDisks;
use crate::compress::Compressor;
use crate::config::{Action, Config, DiskWork, FileDepartures, FilesConfig};
use crate::error::ServeError;
use crate::metrics::Metrics;
use crate::sys::descriptors;

/// Names that are remembered, by all workers and sites together, while that is more than [`NAMES_EACH`] for
/// each site of a worker.
const NAMES: usize = 65_536;

/// Names that a worker remembers for each of its sites, however many there are: those of a page and its
/// parts, and of the compressed files that may lie beside each. Many more would make much memory of many
/// sites. The sites share the room, so one that is busy has more of it.
const NAMES_EACH: usize = 256;

/// The most files that a worker keeps open between requests.
const MOST_OPEN: usize = 4096;

/// What a site is made of: it stays with the worker that makes it.
#[derive(Debug)]
pub(crate) struct SiteConfig {
    /// The directory, which was opened.
    pub(crate) root: Root,
    /// What of it is served, and how.
    pub(crate) rules: Arc<Rules>,
    pub(crate) disks: Arc<FileDisks>,
    pub(crate) metrics: Arc<Metrics>,
    /// The most large files that are kept open.
    pub(crate) open: usize,
    /// How much of a file a helper fetches at once.
    pub(crate) window: u64,
    /// Who opens and reads what is not in memory.
    pub(crate) work: DiskWork,
    /// Whether work is given up whose client has left.
    pub(crate) departures: FileDepartures,
    /// In which codings files are offered beside as they are.
    pub(crate) coding: Option<SiteCoding>,
}

/// The sites of one worker: that of the server, and those of the routes that have one, in the order of the
/// routes.
#[derive(Debug)]
pub(crate) struct SitesConfig {
    /// `None`: the built-in site, which only the first can be.
    pub(crate) sites: Vec<Option<SiteConfig>>,
    /// Bytes of memory for small files, of all sites together.
    pub(crate) hot: usize,
    /// The most names that are remembered, of all sites together.
    pub(crate) names: usize,
}

impl SitesConfig {
    /// Opens the directories. `compressor`: if there is one.
    ///
    /// # Errors
    ///
    /// One cannot be opened.
    pub(crate) fn open(
        config: &Config,
        disks: &Arc<FileDisks>,
        metrics: &Arc<Metrics>,
        compressor: Option<&Arc<Compressor>>,
    ) -> Result<SitesConfig, ServeError> {
        let served: Vec<_> = served(config).collect();
        let shares = config.workers * served.len();
        let site = |(root, files): (Option<&Path>, &FilesConfig)| {
            let Some(path) = root else { return Ok(None) };
            Ok(Some(SiteConfig {
                root: open_root(path)?,
                rules: Arc::new(Rules::new(files)),
                disks: disks.clone(),
                metrics: metrics.clone(),
                open: (descriptors::limit() / 8 / shares).min(MOST_OPEN),
                window: window_for(config),
                work: config.disk_work,
                departures: config.file_departures,
                coding: SiteCoding::new(&config.compression, &files.fields.headers, compressor),
            }))
        };
        let names = names_of_worker(config.workers, served.len());
        let sites: Result<Vec<_>, ServeError> = served.into_iter().map(site).collect();
        let hot = usize::try_from(config.cache).unwrap_or(usize::MAX) / config.workers;
        Ok(SitesConfig { sites: sites?, hot, names })
    }
}

/// How many names each of so many workers remembers for so many sites; there is one at least of each.
fn names_of_worker(workers: usize, sites: usize) -> usize {
    (NAMES / workers).max(NAMES_EACH * sites)
}

/// The directory of each site and how it is served, in the order of [`SitesConfig`].
pub(crate) fn served(config: &Config) -> impl Iterator<Item = (Option<&Path>, &FilesConfig)> {
    let root = config.root.as_deref();
    let of_routes = config.routes.iter().filter_map(|route| match &route.action {
        Action::Directory(files) => Some(&**files),
        _ => None,
    });
    let of_routes = of_routes.map(move |files| (files.root.as_deref().or(root), files));
    std::iter::once((root, &config.files)).chain(of_routes)
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

/// Pages that the configuration names and that are not there, as messages for operators. Waits for the
/// disk.
pub(crate) fn missing_pages(config: &Config) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for (root, files) in served(config) {
        let Some(root) = root else { continue };
        let pages = files.named_pages().into_iter().map(|name| root.join(name));
        let told = pages.filter(|page| !page.is_file()).map(|page| {
            let page = page.display();
            format!("{page} is named by `error_pages` or `fallback` and is not there at present")
        });
        missing.extend(told);
    }
    missing.sort();
    missing.dedup();
    missing
}

/// Whether the sites of both configurations are made alike, so that those of `one` can stay when it gives
/// way to `other`, which differs only in what can change while the server runs.
pub(crate) fn has_same_sites(one: &Config, other: &Config) -> bool {
    let made_of = |config: &Config| {
        let sites: Vec<_> = served(config).collect();
        format!("{sites:?} {:?}", config.compression)
    };
    made_of(one) == made_of(other)
}

/// How much of a file a helper fetches at once: what the uplink sends in a tenth of a second, within limits
/// that suit disks and memory.
pub(crate) fn window_for(config: &Config) -> u64 {
    let bytes_per_second = config.uplink.rate().map(|rate| rate.bits() / 8);
    let wanted = bytes_per_second.map_or(u64::MAX, |rate| rate / 10);
    wanted.clamp(CHUNK, 8 * CHUNK).next_multiple_of(CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_sites_remember_no_more_names_together_than_one() {
        for (workers, sites) in [(1, 1), (1, 200), (3, 16), (8, 32), (256, 1)] {
            assert_eq!(names_of_worker(workers, sites), NAMES / workers);
        }
        assert_eq!(names_of_worker(8, 500), 500 * NAMES_EACH);
    }
}
