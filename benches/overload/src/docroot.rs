//! The documents: one file for each size of the law, made once and served by all
//! systems. Each is the beginning of one pool of random bytes, so that the
//! client can compare what it gets.

use std::fs;
use std::path::{Path, PathBuf};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

use crate::{Result, law};

/// The random bytes that every document starts with.
pub(crate) fn pool() -> Vec<u8> {
    let mut bytes = vec![0; law::LARGEST as usize];
    Xoshiro256PlusPlus::seed_from_u64(0x7765_6972).fill_bytes(&mut bytes);
    bytes
}

/// The URL path of the document of a size.
pub(crate) fn path(size: u64) -> String {
    format!("/{size}.bin")
}

/// Make the documents under `out` unless they are there; return where.
pub(crate) fn prepare(out: &Path, pool: &[u8]) -> Result<PathBuf> {
    let root = out.join("docroot");
    if root.is_dir() {
        return Ok(root);
    }
    // Written aside and renamed whole, so that another run never sees half of it.
    let aside = out.join(format!("docroot-{}", std::process::id()));
    fs::create_dir_all(&aside).map_err(|e| failed(&aside, &e))?;
    for size in law::sizes() {
        let file = aside.join(&path(size)[1..]);
        fs::write(&file, &pool[..size as usize]).map_err(|e| failed(&file, &e))?;
    }
    if fs::rename(&aside, &root).is_err() {
        // Somebody else was first; theirs is the same.
        fs::remove_dir_all(&aside).map_err(|e| failed(&aside, &e))?;
    }
    Ok(root)
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {error}; choose another place with --out", path.display())
}
