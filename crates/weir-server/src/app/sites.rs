//! The sites of workers, as they are opened for a start or for a reload: their directories, and what each
//! has beside files. A worker makes what it serves of them.

use std::rc::Rc;
use std::sync::Arc;

use crate::compress::Compressor;
use crate::config::Config;
use crate::content::{FileDisks, SitesConfig};
use crate::error::ServeError;
use crate::metrics::Metrics;
use crate::service::{Files, SiteOptions};

/// The sites of one worker: that of the server, and those of the routes that have one.
#[derive(Debug)]
pub(super) struct Sites {
    opened: SitesConfig,
    options: Vec<Option<Arc<SiteOptions>>>,
}

impl Sites {
    /// Opens those of so many workers. `compressor`: if there is one.
    ///
    /// # Errors
    ///
    /// A directory cannot be opened.
    pub(super) fn open(
        config: &Config,
        disks: &Arc<FileDisks>,
        metrics: &Arc<Metrics>,
        compressor: Option<&Arc<Compressor>>,
        workers: usize,
    ) -> Result<Vec<Sites>, ServeError> {
        let options = SiteOptions::all(config);
        let of_worker = |_| {
            let opened = SitesConfig::open(config, disks, metrics, compressor)?;
            Ok(Sites { opened, options: options.clone() })
        };
        (0..workers).map(of_worker).collect()
    }

    /// What the worker serves, in whose thread this is called.
    pub(super) fn files(self) -> Rc<[Files]> {
        Files::all(self.opened, &self.options).into()
    }
}

/// What becomes of a worker's sites with another configuration.
#[derive(Debug)]
pub(super) enum NextSites {
    /// They stay, with all that is remembered of them; so much of a file is fetched at once.
    Same {
        window: u64,
    },
    Other(Sites),
}
