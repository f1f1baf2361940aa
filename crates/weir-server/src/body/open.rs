//! Makes room for bodies as the configuration says: memory, and a directory for temporary files. Used
//! when the server starts, and by `weir serve --check`.

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
    let spills = config.routes.iter().any(|route| match &route.action {
        Action::Proxy(proxy) => proxy.overflow == Overflow::Spill,
        Action::Files | Action::Directory(_) | Action::Redirect { .. } => false,
    });
    let files = match config.proxy_disk {
        0 => None,
        _ => spills.then(|| temporary_files(config)).transpose()?.flatten(),
    };
    Ok(Space::new(config.proxy_memory, config.proxy_disk, files))
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
