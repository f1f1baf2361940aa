//! A queue of bytes in memory that counts what is allocated, not only what was sent. Used by
//! [`super`].

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};

/// Shorter pieces are copied and joined up to this many bytes: a piece that was read from a socket may
/// hold on to a whole read's allocation, and a byte at a time must not cost a piece each.
pub(super) const JOIN_BELOW: usize = 16 * 1024;

/// What a piece takes besides its bytes: its entry in the queue and the headers of its allocations.
const OVERHEAD: u64 = 128;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    queue: VecDeque<Piece>,
    /// The last bytes, while more can be joined to them.
    open: BytesMut,
    /// Bytes in the queue.
    length: u64,
    /// Memory that the queue takes, in bytes.
    allocated: u64,
}

#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    /// Memory that it takes until its last byte is read.
    allocated: u64,
}

impl Pieces {
    /// The number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.length + self.open.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that they take, in bytes.
    pub(super) fn allocated(&self) -> u64 {
        match self.open.capacity() {
            0 => self.allocated,
            allocated => self.allocated + allocated as u64 + OVERHEAD,
        }
    }

    /// Appends `bytes`.
    pub(super) fn push(&mut self, bytes: Bytes) {
        if bytes.len() < JOIN_BELOW {
            return self.copy(&bytes);
        }
        self.close_open();
        let allocated = bytes.len() as u64 + OVERHEAD;
        self.push_piece(bytes, allocated);
    }

    /// Appends a copy of `bytes`.
    pub(super) fn copy(&mut self, bytes: &[u8]) {
        if !self.open.is_empty() && self.open.len() + bytes.len() > JOIN_BELOW {
            self.close_open();
        }
        self.open.extend_from_slice(bytes);
    }

    /// Moves all bytes of `other` behind these.
    pub(super) fn append(&mut self, other: &mut Pieces) {
        self.close_open();
        other.close_open();
        self.queue.append(&mut other.queue);
        self.length += std::mem::take(&mut other.length);
        self.allocated += std::mem::take(&mut other.allocated);
    }

    /// Takes pieces from the front: about `most` bytes, at least one piece if there is any.
    pub(super) fn split(&mut self, most: u64) -> Pieces {
        self.close_open();
        let mut front = Pieces::default();
        while front.length < most
            && let Some(Piece { bytes, allocated }) = self.queue.pop_front()
        {
            self.length -= bytes.len() as u64;
            self.allocated -= allocated;
            front.push_piece(bytes, allocated);
        }
        front
    }

    /// Takes at most `most` bytes from the front; empty only if there is nothing.
    pub(super) fn pop(&mut self, most: usize) -> Bytes {
        self.fill_queue();
        let Some(first) = self.queue.front_mut() else { return Bytes::new() };
        let count = first.bytes.len().min(most);
        let bytes = first.bytes.slice(..count);
        self.advance(count as u64);
        bytes
    }

    /// Fills `out` from the front, as far as there are bytes; returns how many.
    pub(super) fn peek(&self, out: &mut [u8]) -> usize {
        let mut filled = 0;
        let queued = self.queue.iter().map(|piece| &piece.bytes[..]);
        for bytes in queued.chain([&self.open[..]]) {
            let count = bytes.len().min(out.len() - filled);
            out[filled..filled + count].copy_from_slice(&bytes[..count]);
            filled += count;
            if filled == out.len() {
                break;
            }
        }
        filled
    }

    /// Drops `count` bytes from the front, or all.
    pub(super) fn advance(&mut self, mut count: u64) {
        while count > 0 {
            self.fill_queue();
            let Some(first) = self.queue.front_mut() else { return };
            let step = count.min(first.bytes.len() as u64);
            first.bytes.advance(step as usize);
            self.length -= step;
            count -= step;
            if first.bytes.is_empty() {
                self.allocated -= first.allocated;
                self.queue.pop_front();
            }
        }
    }

    /// The pieces as they can be written to a file.
    pub(super) fn shared(&self) -> Vec<Bytes> {
        self.queue.iter().map(|piece| piece.bytes.clone()).collect()
    }

    /// Makes sure that the first bytes are in the queue.
    fn fill_queue(&mut self) {
        if self.queue.is_empty() {
            self.close_open();
        }
    }

    /// Ends joining: the last bytes become a piece.
    fn close_open(&mut self) {
        let allocated = self.open.capacity() as u64 + OVERHEAD;
        let open = std::mem::take(&mut self.open);
        if !open.is_empty() {
            self.push_piece(open.freeze(), allocated);
        }
    }

    fn push_piece(&mut self, bytes: Bytes, allocated: u64) {
        self.length += bytes.len() as u64;
        self.allocated += allocated;
        self.queue.push_back(Piece { bytes, allocated });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push(usize),
        Copy(usize),
        Pop(usize),
        Advance(usize),
        Around(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..40_000_usize).prop_map(Step::Push),
            (0..100_usize).prop_map(Step::Copy),
            (1..50_000_usize).prop_map(Step::Pop),
            (0..50_000_usize).prop_map(Step::Advance),
            (0..60_000_u64).prop_map(Step::Around),
        ]
    }

    proptest! {
        #[test]
        fn bytes_keep_their_order_and_count_as_what_is_allocated(
            steps in prop::collection::vec(step(), 0..60),
        ) {
            let mut pieces = Pieces::default();
            let mut expected: VecDeque<u8> = VecDeque::new();
            let mut next = 0_u8;
            let mut fresh = |count: usize| -> Vec<u8> {
                (0..count).map(|_| { next = next.wrapping_mul(5).wrapping_add(3); next }).collect()
            };
            for step in steps {
                match step {
                    Step::Push(count) => {
                        let bytes = fresh(count);
                        expected.extend(&bytes);
                        pieces.push(bytes.into());
                    }
                    Step::Copy(count) => {
                        let bytes = fresh(count);
                        expected.extend(&bytes);
                        pieces.copy(&bytes);
                    }
                    Step::Pop(most) => {
                        let bytes = pieces.pop(most);
                        prop_assert_eq!(bytes.is_empty(), expected.is_empty());
                        let out: Vec<u8> = expected.drain(..bytes.len()).collect();
                        prop_assert_eq!(&bytes[..], out);
                    }
                    Step::Advance(count) => {
                        pieces.advance(count as u64);
                        expected.drain(..count.min(expected.len()));
                    }
                    Step::Around(most) => {
                        let mut front = pieces.split(most);
                        prop_assert!(front.is_empty() == (most == 0 || expected.is_empty()));
                        let written: Vec<u8> = front.shared().concat();
                        prop_assert!(expected.iter().take(written.len()).eq(&written));
                        front.append(&mut pieces);
                        prop_assert!(pieces.allocated() == 0 || pieces.is_empty());
                        pieces = front;
                    }
                }
                let mut out = vec![0; expected.len() + 1];
                let count = pieces.peek(&mut out);
                prop_assert!(out[..count].iter().eq(&expected));
                prop_assert_eq!(pieces.len(), expected.len() as u64);
                prop_assert!(pieces.allocated() >= pieces.len());
            }
            pieces.advance(u64::MAX);
            prop_assert_eq!(pieces.allocated(), 0);
        }
    }

    #[test]
    fn single_bytes_are_joined() {
        let mut pieces = Pieces::default();
        (0..100_000).for_each(|_| pieces.push(Bytes::from(vec![1; 5]).slice(2..3)));
        assert_eq!(pieces.len(), 100_000);
        assert!(pieces.queue.len() < 10 && pieces.allocated() < 300_000, "{}", pieces.allocated());
    }
}
