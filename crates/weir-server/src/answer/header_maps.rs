//! Emptied header maps whose memory is reused. Used by the proxy for requests, and for the fields of
//! backends' answers until their heads have been written.

use std::cell::RefCell;

use http::HeaderMap;

/// The most maps that are kept: about as many as are in use between two polls of the sockets.
const MAX_KEPT: usize = 64;
/// The largest capacity, in fields, of a map that is kept.
const MAX_CAPACITY: usize = 64;
/// The capacity, in fields, of a new map: those of most requests and responses fit.
const NEW_CAPACITY: usize = 12;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct HeaderMapPool(RefCell<Vec<HeaderMap>>);

impl HeaderMapPool {
    /// An empty map.
    pub(crate) fn take(&self) -> HeaderMap {
        self.0.borrow_mut().pop().unwrap_or_else(|| HeaderMap::with_capacity(NEW_CAPACITY))
    }

    /// Takes a map back.
    pub(crate) fn give_back(&self, mut fields: HeaderMap) {
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
