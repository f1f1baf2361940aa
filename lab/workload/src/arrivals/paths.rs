//! The path of a document: its size, in one of some directories; and one copy of each path that
//! many requests share.

use std::collections::HashMap;
use std::sync::Arc;

use crate::hash;
use crate::invalid::Invalid;
use crate::zipf::Zipf;

/// More paths than this are not remembered, so that memory stays flat under any law.
const MOST: usize = 16_384;

/// More directories than this are refused: their popularity is held in memory.
const MOST_DIRECTORIES: u32 = 1_000_000;

/// Whether a workload can have so many directories.
pub(crate) fn check_directories(directories: u32) -> Result<(), Invalid> {
    if directories > MOST_DIRECTORIES {
        return Err(Invalid(format!("{directories} directories; give at most {MOST_DIRECTORIES}")));
    }
    Ok(())
}

/// The path of the document of a size: `/SIZE.bin`, or `/dirNNNNN/SIZE.bin` in a directory.
pub fn document_path(directory: Option<u32>, size: u64) -> String {
    match directory {
        Some(directory) => format!("/dir{directory:05}/{size}.bin"),
        None => format!("/{size}.bin"),
    }
}

/// The paths of a workload.
#[derive(Debug)]
pub(crate) struct Paths {
    /// How popular the directories are, if there are any.
    directories: Option<Zipf>,
    seed: u64,
    known: HashMap<(Option<u32>, u64), Arc<str>>,
}

impl Paths {
    /// Paths in so many directories; with 0, all are at the root.
    pub(crate) fn new(directories: u32, seed: u64) -> Paths {
        let directories = (directories > 0).then(|| Zipf::new(directories));
        Paths { directories, seed, known: HashMap::new() }
    }

    /// The path of the request with this index, for a document of `size`. The directory is a hash
    /// of the index, so that directories change nothing else in the workload.
    pub(crate) fn of(&mut self, index: u64, size: u64) -> Arc<str> {
        let drawn = |zipf: &Zipf| zipf.rank(hash::uniform(self.seed, DIRECTORY, index)) as u32;
        let directory = self.directories.as_ref().map(drawn);
        if let Some(path) = self.known.get(&(directory, size)) {
            return path.clone();
        }
        let path: Arc<str> = document_path(directory, size).into();
        if self.known.len() < MOST {
            self.known.insert((directory, size), path.clone());
        }
        path
    }
}

/// The purpose of the hash.
const DIRECTORY: u64 = 0x6469_7265_6374_6F72;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shared_and_memory_has_a_bound() {
        let mut paths = Paths::new(0, 1);
        assert!(Arc::ptr_eq(&paths.of(0, 41), &paths.of(1, 41)));
        assert_eq!(&*paths.of(0, 41), "/41.bin");
        for size in 0..2 * MOST as u64 {
            paths.of(size, size);
        }
        assert_eq!(paths.known.len(), MOST);
        assert_eq!(&*paths.of(0, u64::MAX), "/18446744073709551615.bin");
    }

    #[test]
    fn more_directories_than_memory_should_hold_are_refused() {
        assert!(check_directories(MOST_DIRECTORIES).is_ok());
        assert!(check_directories(u32::MAX).is_err_and(|e| e.0.contains("at most 1000000")));
    }

    #[test]
    fn directories_are_as_popular_as_zipf_says() {
        let mut paths = Paths::new(10, 1);
        let mut counts: HashMap<Arc<str>, f64> = HashMap::new();
        for index in 0..100_000 {
            *counts.entry(paths.of(index, 7)).or_default() += 1.0;
        }
        assert_eq!(counts.len(), 10);
        let ratio = counts["/dir00000/7.bin"] / counts["/dir00009/7.bin"];
        assert!((ratio / 10.0 - 1.0).abs() < 0.1, "{ratio}");
    }
}
