//! Emptied maps of fields whose memory is used again. It does not know what was in them.

use std::cell::RefCell;

use http::HeaderMap;

/// Maps that are kept at most: about as many as are in use between two looks at the sockets.
const MOST: usize = 64;
/// Fields that a kept map has room for at most.
const LARGEST: usize = 64;
/// Fields that a new map has room for: a request's, and then its answer's, mostly fit.
const USUAL: usize = 12;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Spare(RefCell<Vec<HeaderMap>>);

impl Spare {
    /// An empty map.
    pub(super) fn take(&self) -> HeaderMap {
        self.0.borrow_mut().pop().unwrap_or_else(|| HeaderMap::with_capacity(USUAL))
    }

    /// Gives back a map that is done with.
    pub(super) fn give_back(&self, mut fields: HeaderMap) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < MOST && (1..=LARGEST).contains(&fields.capacity()) {
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
        let spare = Spare::default();
        let mut fields = spare.take();
        fields.insert(header::HOST, HeaderValue::from_static("a"));
        let room = fields.capacity();
        spare.give_back(fields);
        spare.give_back(HeaderMap::with_capacity(2 * LARGEST));
        let again = spare.take();
        assert_eq!((again.len(), again.capacity()), (0, room));
        assert_eq!(spare.0.borrow().len(), 0, "a large one is not kept");
        (0..2 * MOST).for_each(|_| spare.give_back(HeaderMap::with_capacity(USUAL)));
        assert_eq!(spare.0.borrow().len(), MOST);
    }
}
