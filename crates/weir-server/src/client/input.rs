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
    current: Received,
}

/// A buffer with bytes that were read.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Its length is its capacity.
    space: Vec<u8>,
    start: usize,
    end: usize,
}

impl Received {
    /// The bytes that are waiting to be answered.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.space[self.start..self.end]
    }
}

impl Input {
    pub(crate) fn new(buffers: Rc<Buffers>) -> Input {
        Input { buffers, current: Received::default() }
    }

    /// The bytes that are waiting to be answered.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.current.bytes()
    }

    /// Takes them out, so that a request can be looked at in its buffer while more is read.
    pub(crate) fn take(&mut self) -> Received {
        std::mem::take(&mut self.current)
    }

    /// Puts back what was taken out, of which the first `answered` bytes are done with. Nothing was read
    /// meanwhile.
    pub(crate) fn put_back(&mut self, received: Received, answered: usize) {
        self.current = received;
        self.answered(answered);
    }

    /// Puts a copy of `bytes` behind those that wait: the beginning of a body, whose head was taken out.
    pub(crate) fn refill(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.room();
            let count = bytes.len().min(room.len());
            room[..count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            self.filled(count);
        }
    }

    /// The buffer of a request that was answered.
    pub(crate) fn recycle(&self, received: Received) {
        self.buffers.keep(received.space);
    }

    /// Where more can be read into: never empty.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let Received { space, start, end } = &mut self.current;
        if space.is_empty() {
            *space = self.buffers.0.borrow_mut().pop().unwrap_or_else(|| vec![0; SIZE]);
        }
        if *end == space.len() {
            if *start > 0 {
                space.copy_within(*start..*end, 0);
                *end -= *start;
                *start = 0;
            } else {
                space.resize(2 * *end, 0);
            }
        }
        &mut space[*end..]
    }

    /// So many bytes were read into the room.
    pub(crate) fn filled(&mut self, count: usize) {
        self.current.end += count;
        self.give_back();
    }

    /// The first bytes have been answered.
    pub(crate) fn answered(&mut self, count: usize) {
        self.current.start += count;
        self.give_back();
    }

    fn give_back(&mut self) {
        if self.current.start < self.current.end {
            return;
        }
        let received = self.take();
        self.buffers.keep(received.space);
    }
}

impl Buffers {
    fn keep(&self, space: Vec<u8>) {
        let mut kept = self.0.borrow_mut();
        if space.len() == SIZE && kept.len() < KEPT {
            kept.push(space);
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let received = self.take();
        self.buffers.keep(received.space);
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
        assert!(input.bytes().is_empty() && input.current.space.is_empty());
        let mut other = Input::new(buffers.clone());
        other.room()[0] = 1;
        other.filled(1);
        drop(other);
        assert!(buffers.0.borrow().len() <= 1);
    }

    #[test]
    fn what_follows_a_request_can_be_read_while_it_is_answered() {
        let mut input = Input::new(Rc::new(Buffers::default()));
        input.room()[..9].copy_from_slice(b"head rest");
        input.filled(9);
        let head = input.take();
        assert_eq!((input.bytes(), head.bytes()), (&b""[..], &b"head rest"[..]));
        input.refill(&head.bytes()[5..]);
        assert_eq!((input.bytes(), head.bytes()), (&b"rest"[..], &b"head rest"[..]));
        input.recycle(head);
        let received = input.take();
        input.put_back(received, 2);
        assert_eq!(input.bytes(), b"st");
    }
}
