//! The document root of a measurement, which servers of any user can read. Whoever starts servers of
//! files makes one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use weir_peers::{Error, Result, interrupt};
use weir_workload::documents::{Content, Documents, Made};

/// weir looks again and again at files that have changed in the last second, since they may change further.
const SETTLED: Duration = Duration::from_secs(2);

/// Make a directory that every user may enter.
///
/// # Errors
///
/// When it cannot be made.
pub fn open(path: &Path) -> Result<()> {
    let failed = |e| Error::file("make the directory", path, &e);
    fs::create_dir_all(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(failed)
}

/// Wait until servers no longer take the files for ones that are still being written.
pub fn settle() {
    std::thread::sleep(SETTLED);
}

/// Make the document root, which every user may enter; what an earlier run left there is used if it is
/// the same.
///
/// # Errors
///
/// When it cannot be written, or something else is there.
pub fn make(documents: &Documents, root: &Path) -> Result<()> {
    interrupt::check()?;
    if let Some(parent) = root.parent() {
        open(parent)?;
    }
    if documents.make(root, Content::Pool).map_err(|e| Error(e.to_string()))? == Made::New {
        settle();
    }
    if let Some(path) = documents.absent_from(root) {
        return Err(Error(format!(
            "{} is there already, and has no {}: remove it, or name another directory",
            root.display(),
            path.display()
        )));
    }
    open(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_of_other_files_is_refused() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path().join("set");
        make(&Documents::of_sizes(&[100], 0), &root).expect("room");
        make(&Documents::of_sizes(&[100], 0), &root).expect("it is the same");
        let error = make(&Documents::of_sizes(&[200], 0), &root).expect_err("it is another");
        assert!(error.to_string().contains("remove it"), "{error}");
    }
}
