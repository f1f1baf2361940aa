//! The path of a document of a size, and one copy of each path that many requests share.

use std::collections::HashMap;
use std::sync::Arc;

/// More sizes than this are not remembered, so that memory stays flat under any law.
const MOST: usize = 16_384;

/// The path of the document of a size: `/SIZE.bin`.
pub fn document_path(size: u64) -> String {
    format!("/{size}.bin")
}

/// Paths by size.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    known: HashMap<u64, Arc<str>>,
}

impl Paths {
    /// The path of a size, shared with other requests of that size.
    pub(crate) fn of(&mut self, size: u64) -> Arc<str> {
        if let Some(path) = self.known.get(&size) {
            return path.clone();
        }
        let path: Arc<str> = document_path(size).into();
        if self.known.len() < MOST {
            self.known.insert(size, path.clone());
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shared_and_memory_has_a_bound() {
        let mut paths = Paths::default();
        assert!(Arc::ptr_eq(&paths.of(41), &paths.of(41)));
        assert_eq!(&*paths.of(41), "/41.bin");
        for size in 0..2 * MOST as u64 {
            paths.of(size);
        }
        assert_eq!(paths.known.len(), MOST);
        assert_eq!(&*paths.of(u64::MAX), "/18446744073709551615.bin");
    }
}
