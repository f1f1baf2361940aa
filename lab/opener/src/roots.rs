//! The directories below which names are opened, as the server calls them. Used by the opener.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// See the module. They are looked up anew each time, so that one which a symbolic link replaces is the
/// new one from then on.
#[derive(Debug)]
pub(crate) struct Roots(Vec<Root>);

#[derive(Debug)]
struct Root {
    path: PathBuf,
    /// The number of the disk that it was on at the start: roots on one device have the same.
    disk: usize,
}

/// A name below a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Below<'a> {
    pub(crate) root: &'a Path,
    /// Without a slash at its beginning; `.` is the root itself.
    pub(crate) name: &'a Path,
}

impl Roots {
    /// # Errors
    ///
    /// There is none, or one is not absolute or no directory.
    pub(crate) fn new(roots: &[PathBuf]) -> Result<Roots, Error> {
        if roots.is_empty() {
            return Err(Error("no root: name the directories to open files in with --root".into()));
        }
        let mut devices = Vec::new();
        let mut found_roots = Vec::new();
        for root in roots {
            let shown = root.display();
            if !root.is_absolute() {
                return Err(Error(format!("--root {shown}: write an absolute path")));
            }
            let found = std::fs::metadata(root)
                .map_err(|error| Error(format!("--root {shown}: {error}")))?;
            if !found.is_dir() {
                return Err(Error(format!("--root {shown} is not a directory")));
            }
            let known = devices.iter().position(|device| *device == found.dev());
            let disk = known.unwrap_or_else(|| {
                devices.push(found.dev());
                devices.len() - 1
            });
            found_roots.push(Root { path: root.clone(), disk });
        }
        Ok(Roots(found_roots))
    }

    /// How many disks they are on.
    pub(crate) fn disks(&self) -> usize {
        self.0.iter().map(|root| root.disk + 1).max().unwrap_or(0)
    }

    /// The deepest root that a name is below. The name's parts are compared as they are written: `..` is
    /// left to the lookup, which does not leave the root. And the number of the root's disk.
    pub(crate) fn find<'a>(&'a self, name: &'a [u8]) -> Option<(Below<'a>, usize)> {
        let path = Path::new(OsStr::from_bytes(name));
        let below = self.0.iter().filter(|root| path.starts_with(&root.path));
        let Root { path: root, disk } = below.max_by_key(|root| root.path.components().count())?;
        let rest = path.strip_prefix(root).ok()?;
        let name = match rest.as_os_str().is_empty() {
            true => Path::new("."),
            false => with_end(name, rest),
        };
        Some((Below { root, name }, *disk))
    }
}

/// The end of `whole` that is `rest` and what `Path` leaves aside after it: slashes and single dots, which
/// ask for a directory.
fn with_end<'a>(whole: &'a [u8], rest: &Path) -> &'a Path {
    let mut until = whole;
    while let Some(shorter) = until.strip_suffix(b"/").or_else(|| until.strip_suffix(b"/.")) {
        until = shorter;
    }
    let from = until.len().saturating_sub(rest.as_os_str().len());
    Path::new(OsStr::from_bytes(&whole[from..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_belongs_to_the_deepest_root_above_it() {
        let paths = ["/srv", "/srv/www/", "/home"];
        let roots = Roots(paths.map(|path| Root { path: path.into(), disk: 0 }).into());
        let found = |name: &'static str| {
            let (Below { root, name }, _) = roots.find(name.as_bytes())?;
            Some((root.to_str().unwrap(), name.to_str().unwrap()))
        };
        assert_eq!(found("/srv/a/b"), Some(("/srv", "a/b")));
        assert_eq!(found("/srv/www/b"), Some(("/srv/www/", "b")));
        assert_eq!(found("/srv/www"), Some(("/srv/www/", ".")));
        assert_eq!(found("/srv/www/"), Some(("/srv/www/", ".")));
        assert_eq!(found("/srv/www/a/"), Some(("/srv/www/", "a/")));
        assert_eq!(found("/srv//x//y//"), Some(("/srv", "x//y//")));
        // A dot at the end asks for a directory, as a slash does.
        assert_eq!(found("/srv/a/."), Some(("/srv", "a/.")));
        assert_eq!(found("/srv/./a/././/"), Some(("/srv", "a/././/")));
        assert_eq!(found("/srv/www/./"), Some(("/srv/www/", ".")));
        assert_eq!(found("/srv/a."), Some(("/srv", "a.")));
        assert_eq!(found("/srv/a/.."), Some(("/srv", "a/..")));
        // No part of it is left out: the lookup says that this leads outside.
        assert_eq!(found("/srv/../etc/passwd"), Some(("/srv", "../etc/passwd")));
        assert_eq!((found("/srvx/a"), found("/etc/passwd"), found("/")), (None, None, None));
    }

    #[test]
    fn roots_on_one_device_are_one_disk() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let paths = [one.path(), other.path(), Path::new("/proc"), Path::new("/proc/self")];
        let roots = Roots::new(&paths.map(Path::to_owned)).unwrap();
        let disk = |path: &Path| {
            let path = path.join("f");
            roots.find(path.as_os_str().as_bytes()).map(|(_, disk)| disk)
        };
        assert_eq!(paths.map(disk), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(roots.disks(), 2);
    }

    #[test]
    fn what_is_no_absolute_directory_is_no_root() {
        for (root, said) in [
            ("srv", "absolute"),
            ("/proc/version", "not a directory"),
            ("/nowhere/at/all", "No such file"),
        ] {
            let error = Roots::new(&[root.into()]).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
        assert!(Roots::new(&[]).is_err());
    }
}
