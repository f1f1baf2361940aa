//! Emptied maps of fields whose memory is used again. It does not know what was in them.

use std::cell::RefCell;

use http::HeaderMap;

/// Maps that are kept at most: about as many as are in use between two looks at the sockets.
const MAX_KEPT: usize = 64;
/// Fields that a kept map has room for at most.
const MAX_CAPACITY: usize = 64;
/// Fields that a new map has room for: a request's, and then its answer's, mostly fit.
const NEW_CAPACITY: usize = 12;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct HeaderMapPool(RefCell<Vec<HeaderMap>>);

impl HeaderMapPool {
    /// An empty map.
    pub(super) fn take(&self) -> HeaderMap {
        self.0.borrow_mut().pop().unwrap_or_else(|| HeaderMap::with_capacity(NEW_CAPACITY))
    }

    /// Gives back a map that is done with.
    pub(super) fn give_back(&self, mut fields: HeaderMap) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < MAX_KEPT && (1..=MAX_CAPACITY).contains(&fields.capacity()) {
            fields.clear();
            kept.push(fields);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header};

    use super::*;

    #[test]
    fn what_is_kept_is_empty_and_little() {
        let pool = HeaderMapPool::default();
        let mut fields = pool.take();
        fields.insert(header::HOST, HeaderValue::from_static("a"));
        let room = fields.capacity();
        pool.give_back(fields);
        pool.give_back(HeaderMap::with_capacity(2 * MAX_CAPACITY));
        let again = pool.take();
        assert_eq!((again.len(), again.capacity()), (0, room));
        assert_eq!(pool.0.borrow().len(), 0, "a large one is not kept");
        (0..2 * MAX_KEPT).for_each(|_| pool.give_back(HeaderMap::with_capacity(NEW_CAPACITY)));
        assert_eq!(pool.0.borrow().len(), MAX_KEPT);
    }
}
