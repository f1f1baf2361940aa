//! A document root that a workload can be sent against, as `weir-lab trace files` and the
//! experiments write it: each file is the beginning of one pool of random bytes, so that whoever
//! fetches it can compare.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

use crate::arrivals::document_path;
use crate::invalid::Invalid;

/// The seed of the pool.
const POOL_SEED: u64 = 0x7765_6972;
/// The longest pool; longer documents repeat it. A power of two.
const LONGEST_POOL: u64 = 1 << 26;

/// The random bytes that every document begins with, as many as asked for.
pub fn pool(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Xoshiro256PlusPlus::seed_from_u64(POOL_SEED).fill_bytes(&mut bytes);
    bytes
}

/// What documents contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// The pool of random bytes, from its beginning; documents above 64 MiB repeat it.
    #[default]
    Pool,
    /// Nothing but zeros that take no room on the disk: for roots too large to be written. Reading
    /// one costs no disk, so such a root is no measure of one.
    Sparse,
}

/// Documents by path below the root, and size in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documents {
    files: Vec<(PathBuf, u64)>,
}

impl Documents {
    /// One document for each size, at its [`document_path`] at the root or in so many directories.
    pub fn of_sizes(sizes: &[u64], directories: u32) -> Documents {
        let places: Vec<Option<u32>> =
            if directories == 0 { vec![None] } else { (0..directories).map(Some).collect() };
        let file =
            |place: Option<u32>, size: u64| (PathBuf::from(&document_path(place, size)[1..]), size);
        let mut files: Vec<_> =
            places.iter().flat_map(|place| sizes.iter().map(|size| file(*place, *size))).collect();
        files.sort_unstable();
        files.dedup();
        Documents { files }
    }

    /// Documents at the URL paths that a workload asks for: percent-decoded, a query ignored.
    /// Where a path comes with several sizes, the largest counts.
    ///
    /// # Errors
    ///
    /// A path that is no file below the root: not beginning with `/`, ending with it, or with `..`
    /// in it; or one that would have to be both a file and a directory.
    pub fn of_paths<P: AsRef<str>>(
        files: impl IntoIterator<Item = (P, u64)>,
    ) -> Result<Documents, Invalid> {
        let mut largest: HashMap<PathBuf, u64> = HashMap::new();
        for (path, size) in files {
            let known = largest.entry(below_root(path.as_ref())?).or_default();
            *known = size.max(*known);
        }
        let below_file =
            |path: &&PathBuf| path.ancestors().skip(1).any(|above| largest.contains_key(above));
        if let Some(path) = largest.keys().filter(below_file).min() {
            return Err(Invalid(format!(
                "/{} lies below another document, so that one cannot be a file",
                path.display()
            )));
        }
        let mut files: Vec<_> = largest.into_iter().collect();
        files.sort_unstable();
        Ok(Documents { files })
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Bytes of all documents.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, size)| size).fold(0, |sum, size| sum.saturating_add(*size))
    }

    /// Paths below the root and sizes, ascending by path.
    pub fn files(&self) -> &[(PathBuf, u64)] {
        &self.files
    }

    /// What the body of every document of [`Content::Pool`] is the beginning of, unless it is longer
    /// than 64 MiB.
    pub fn bodies(&self) -> Vec<u8> {
        let largest = self.files.iter().map(|(_, size)| *size).max().unwrap_or(0);
        pool(largest.min(LONGEST_POOL) as usize)
    }

    /// The first document that is not below `root` with its size, if any: whether a root made
    /// for another workload can be used.
    pub fn absent_from(&self, root: &Path) -> Option<&Path> {
        let there =
            |path: &Path, size| fs::metadata(root.join(path)).is_ok_and(|file| file.len() == size);
        self.files.iter().find(|(path, size)| !there(path, *size)).map(|(path, _)| path.as_path())
    }

    /// Make the document root `root` with these documents. It is written aside and renamed whole,
    /// so that nobody sees half of it; one that is there already is left as it is, which the
    /// answer tells.
    ///
    /// # Errors
    ///
    /// What could not be written, and why, or that there is no room for it; what was written aside
    /// is removed again.
    pub fn make(&self, root: &Path, content: Content) -> io::Result<Made> {
        if root.is_dir() {
            return Ok(Made::AlreadyThere);
        }
        let aside = aside(root)?;
        let written = self.write(&aside, content);
        let made = written.and_then(|()| match fs::rename(&aside, root) {
            Ok(()) => Ok(Made::New),
            // Somebody else was first.
            Err(_) if root.is_dir() => Ok(Made::AlreadyThere),
            Err(error) => Err(failed(root, &error)),
        });
        if !matches!(made, Ok(Made::New)) {
            // The first error counts; what cannot be removed stays beside the root, named so.
            let _ = fs::remove_dir_all(&aside);
        }
        made
    }

    fn write(&self, aside: &Path, content: Content) -> io::Result<()> {
        fs::create_dir_all(aside).map_err(|e| failed(aside, &e))?;
        if content == Content::Pool {
            check_room(aside, self.bytes())?;
        }
        let pool = match content {
            Content::Pool => self.bodies(),
            Content::Sparse => Vec::new(),
        };
        for (path, size) in &self.files {
            let file = aside.join(path);
            let parent = file.parent().unwrap_or(aside);
            fs::create_dir_all(parent).map_err(|e| failed(parent, &e))?;
            fill(&file, *size, &pool).map_err(|e| failed(&file, &e))?;
        }
        Ok(())
    }
}

/// What [`Documents::make`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// The root is new.
    New,
    /// Something was there before; it is as it was.
    AlreadyThere,
}

/// Whether so many bytes can be written below a directory. File systems that tell no size (of
/// memory without a limit, or remote) are believed to have room.
fn check_room(directory: &Path, needed: u64) -> io::Result<()> {
    let system = rustix::fs::statvfs(directory).map_err(|e| failed(directory, &e.into()))?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    if system.f_blocks == 0 || needed <= free {
        return Ok(());
    }
    let wrong = format!("it needs {needed} bytes, {free} are free; --sparse takes no room");
    Err(failed(directory, &io::Error::new(io::ErrorKind::StorageFull, wrong)))
}

/// A file of the pool repeated, or with an empty pool a sparse one.
fn fill(path: &Path, size: u64, pool: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    if pool.is_empty() {
        return file.set_len(size);
    }
    let mut left = size;
    while left > 0 {
        let part = left.min(pool.len() as u64) as usize;
        file.write_all(&pool[..part])?;
        left -= part as u64;
    }
    Ok(())
}

/// Where a root is written before it is renamed.
fn aside(root: &Path) -> io::Result<PathBuf> {
    let Some(name) = root.file_name() else {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "it has no name to make");
        return Err(failed(root, &error));
    };
    let mut aside = name.to_owned();
    aside.push(format!(".{}.part", std::process::id()));
    Ok(root.with_file_name(aside))
}

/// The file that a URL path stands for, relative to the root.
fn below_root(url: &str) -> Result<PathBuf, Invalid> {
    let path = url.split('?').next().unwrap_or_default();
    let relative = path.strip_prefix('/').filter(|rest| !rest.is_empty() && !rest.ends_with('/'));
    let decoded = relative.map(|rest| percent_decode_str(rest).collect::<Vec<u8>>());
    let whole = decoded.filter(|bytes| !bytes.contains(&0) && !bytes.ends_with(b"/"));
    let path = whole.map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_));
    path.filter(|path| path.components().all(inside)).ok_or_else(|| {
        Invalid(format!("`{url}` cannot be a file below the root; give a path such as /a/b.bin"))
    })
}

fn failed(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
