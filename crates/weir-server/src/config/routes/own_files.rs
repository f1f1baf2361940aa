//! What a route of files says itself: its directory, and how files are served. The site comes of it once
//! the keys of the server are known. Used where routes are built and put into one list.

use std::path::{Path, PathBuf};

use crate::config::site::{FileKeys, FilesConfig};
use crate::config::value::Value;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct OwnFiles {
    /// `None`: the files of the server's directory.
    root: Option<PathBuf>,
    /// What is taken off the path of a request: segments joined by `/`.
    strips: Option<String>,
    keys: FileKeys,
}

impl OwnFiles {
    /// What a route for `path` says; `None`: nothing, it serves the files of the server as they are.
    pub(super) fn of(
        path: &str,
        root: Option<PathBuf>,
        strip_prefix: bool,
        keys: FileKeys,
    ) -> Option<OwnFiles> {
        let prefix = path.trim_matches('/');
        let strips = (strip_prefix && !prefix.is_empty()).then(|| prefix.to_owned());
        let says_something = root.is_some() || strips.is_some() || !keys.given().is_empty();
        says_something.then_some(OwnFiles { root, strips, keys })
    }

    /// Whether it names a directory.
    pub(super) fn has_root(&self) -> bool {
        self.root.is_some()
    }

    /// The site, where `above` says what the route does not.
    ///
    /// # Errors
    ///
    /// What the route says makes no sense with what is said above.
    pub(super) fn site(self, above: &FileKeys) -> Result<FilesConfig, String> {
        let keys = self.keys.over(above.clone());
        keys.check_fields()?;
        Ok(keys.site(self.root, self.strips))
    }

    /// Takes the directory to be named relative to `directory`.
    pub(super) fn move_beside(&mut self, directory: &Path) {
        if let Some(root) = &mut self.root {
            root.move_beside(directory);
        }
    }
}
