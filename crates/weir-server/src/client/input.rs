//! The buffers that requests are read into. The connections of a worker share them, since an idle
//! connection needs none. Used by connections and by whatever reads bodies of requests.

use std::cell::RefCell;
use std::rc::Rc;

/// Bytes of a buffer; an ordinary head fits several times.
const SIZE: usize = 4096;

/// Buffers that are kept for the next request.
const KEPT: usize = 64;

/// The buffers of a worker that nobody uses now.
#[derive(Debug, Default)]
pub(crate) struct Buffers(RefCell<Vec<Vec<u8>>>);

/// What one connection has read and not yet answered. It has a buffer only while it has bytes.
#[derive(Debug)]
pub(crate) struct Input {
    buffers: Rc<Buffers>,
    /// Its length is its capacity.
    space: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    pub(crate) fn new(buffers: Rc<Buffers>) -> Input {
        Input { buffers, space: Vec::new(), start: 0, end: 0 }
    }

    /// The bytes that are waiting to be answered.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.space[self.start..self.end]
    }

    /// Where more can be read into: never empty.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.space.is_empty() {
            self.space = self.buffers.0.borrow_mut().pop().unwrap_or_else(|| vec![0; SIZE]);
        }
        if self.end == self.space.len() {
            if self.start > 0 {
                self.space.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            } else {
                self.space.resize(2 * self.end, 0);
            }
        }
        &mut self.space[self.end..]
    }

    /// So many bytes were read into the room.
    pub(crate) fn filled(&mut self, count: usize) {
        self.end += count;
        self.give_back();
    }

    /// The first bytes have been answered.
    pub(crate) fn answered(&mut self, count: usize) {
        self.start += count;
        self.give_back();
    }

    fn give_back(&mut self) {
        if self.start < self.end {
            return;
        }
        (self.start, self.end) = (0, 0);
        let space = std::mem::take(&mut self.space);
        let mut kept = self.buffers.0.borrow_mut();
        if space.len() == SIZE && kept.len() < KEPT {
            kept.push(space);
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.start = self.end;
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_their_order_and_the_buffer_goes_back() {
        let buffers = Rc::new(Buffers::default());
        let mut input = Input::new(buffers.clone());
        let mut expected = Vec::new();
        for step in 0..2000_usize {
            let count = (step * 7 % 90).min(input.room().len());
            for (place, slot) in input.room()[..count].iter_mut().enumerate() {
                *slot = (step + place) as u8;
            }
            expected.extend((0..count).map(|place| (step + place) as u8));
            input.filled(count);
            let answered = expected.len().min(step % 80);
            input.answered(answered);
            expected.drain(..answered);
            assert_eq!(input.bytes(), expected);
        }
        input.answered(expected.len());
        assert!(input.bytes().is_empty() && input.space.is_empty());
        let mut other = Input::new(buffers.clone());
        other.room()[0] = 1;
        other.filled(1);
        drop(other);
        assert!(buffers.0.borrow().len() <= 1);
    }
}
