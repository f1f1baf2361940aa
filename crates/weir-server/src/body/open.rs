//! Makes room for bodies as the configuration says: memory, and a directory for temporary files. Used
//! when the server starts or takes a new configuration, and by `weir serve --check`.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Space, TemporaryFiles};
use crate::config::{Action, Config, Overflow};
use crate::error::ServeError;
use crate::sys::descriptors;

/// Where temporary files are if nothing says otherwise: on a disk, where `/tmp` often is in memory
/// (file-hierarchy(7)).
const TEMPORARY: &str = "/var/tmp";

/// Where bodies wait on their way between clients and backends.
///
/// # Errors
///
/// No temporary files can be made in the directory that was named for them.
pub(crate) fn open_space(config: &Config) -> Result<Arc<Space>, ServeError> {
    let files = if needs_files(config) { temporary_files(config)? } else { None };
    Ok(Space::new(config.proxy_memory, config.proxy_disk, files))
}

/// What makes a space that is in use that of another configuration.
#[derive(Debug)]
pub(crate) struct Resizing {
    space: Arc<Space>,
    memory: u64,
    files: u64,
    temporary: Option<TemporaryFiles>,
}

impl Resizing {
    /// `space` is to be as `config` says. Nothing has changed yet.
    ///
    /// # Errors
    ///
    /// As [`open_space`].
    pub(crate) fn prepare(space: &Arc<Space>, config: &Config) -> Result<Resizing, ServeError> {
        let temporary = match needs_files(config) && !space.has_temporary() {
            true => temporary_files(config)?,
            false => None,
        };
        let (memory, files) = (config.proxy_memory, config.proxy_disk);
        Ok(Resizing { space: space.clone(), memory, files, temporary })
    }

    /// Now it is.
    pub(crate) fn commit(self) {
        self.space.resize(self.memory, self.files, self.temporary);
    }
}

fn needs_files(config: &Config) -> bool {
    let spills = config.routes.iter().any(|route| match &route.action {
        Action::Proxy(proxy) => proxy.overflow == Overflow::Spill,
        Action::Files | Action::Directory(_) | Action::Redirect { .. } => false,
    });
    spills && config.proxy_disk > 0
}

/// Temporary files. A directory that was not asked for may be of no use.
fn temporary_files(config: &Config) -> Result<Option<TemporaryFiles>, ServeError> {
    let usual = || std::env::var_os("TMPDIR").map_or_else(|| TEMPORARY.into(), PathBuf::from);
    let directory = config.proxy_temp_dir.clone().unwrap_or_else(usual);
    // As long as a request may wait for another disk.
    match TemporaryFiles::new(&directory, descriptors::limit() / 8, config.disk_timeout) {
        Ok(files) => Ok(Some(files)),
        Err(error) => {
            let what = format!(
                "cannot create temporary files in {}; name another directory with `proxy_temp_dir`, \
                 or write proxy_disk = 0",
                directory.display()
            );
            if config.proxy_temp_dir.is_some() {
                return Err(ServeError::new(what, &error));
            }
            tracing::warn!("{what}: {error}; bodies of requests and answers wait in memory only");
            Ok(None)
        }
    }
}
