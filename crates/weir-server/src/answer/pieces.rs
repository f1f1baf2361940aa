//! A body in several pieces: bytes of weir's own, and parts of an object between them, as the answer to a
//! request for several ranges has it. Made by [`super::own`]; `send` asks where each byte is.

/// Where the next bytes of a body are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// In the object, from `at` on: `left` bytes, until another piece follows or the body ends. All that
    /// come, if that number is `u64::MAX`.
    Object { at: u64, left: u64 },
    /// Here, until another piece follows. Empty at the end of the body.
    Own(&'a [u8]),
}

/// The pieces of a body in their order.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// The type of the body that has them.
    pub(crate) media: Box<str>,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    /// Where in the body it ends.
    end: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    Own(Box<[u8]>),
    /// A part of the object that ends there in it.
    Object {
        end: u64,
    },
}

impl Pieces {
    /// None yet.
    pub(super) fn new(media: String) -> Pieces {
        Pieces { media: media.into_boxed_str(), pieces: Vec::new() }
    }

    /// Adds bytes of weir's own.
    pub(super) fn push_own(&mut self, bytes: String) {
        let bytes = bytes.into_bytes().into_boxed_slice();
        self.push(bytes.len() as u64, What::Own(bytes));
    }

    /// Adds the bytes of the object from `first` to `last`, both included.
    pub(super) fn push_object(&mut self, first: u64, last: u64) {
        self.push(last - first + 1, What::Object { end: last + 1 });
    }

    fn push(&mut self, count: u64, what: What) {
        let end = self.length() + count;
        self.pieces.push(Piece { end, what });
    }

    /// Bytes of all pieces together.
    pub(super) fn length(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.end)
    }

    /// Where the byte at `offset` of the body is, and those behind it.
    pub(super) fn place(&self, offset: u64) -> Place<'_> {
        let number = self.pieces.partition_point(|piece| piece.end <= offset);
        let Some(Piece { end, what }) = self.pieces.get(number) else { return Place::Own(&[]) };
        let left = end - offset;
        match what {
            What::Own(bytes) => {
                let sent = bytes.len().saturating_sub(usize::try_from(left).unwrap_or(usize::MAX));
                Place::Own(&bytes[sent..])
            }
            What::Object { end } => Place::Object { at: end - left, left },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_place() {
        let object: Vec<u8> = (0..100).collect();
        let mut pieces = Pieces::new("text/plain".to_owned());
        let mut body = Vec::new();
        assert_eq!((pieces.length(), pieces.place(0)), (0, Place::Own(&[])));
        for (text, first, last) in [("one", 10, 19), ("", 5, 5), ("three", 0, 99)] {
            pieces.push_own(text.to_owned());
            pieces.push_object(first, last);
            body.extend_from_slice(text.as_bytes());
            body.extend_from_slice(&object[first as usize..=last as usize]);
        }
        pieces.push_own("end".to_owned());
        body.extend_from_slice(b"end");
        assert_eq!(pieces.length(), body.len() as u64);
        for (offset, byte) in body.iter().enumerate() {
            match pieces.place(offset as u64) {
                Place::Own(bytes) => assert_eq!(bytes.first(), Some(byte), "{offset}"),
                Place::Object { at, left } => {
                    assert_eq!(object.get(at as usize), Some(byte), "{offset}");
                    let (from, to) = (at as usize, (at + left) as usize);
                    assert!(body[offset..].starts_with(&object[from..to]), "{offset}");
                }
            }
        }
        // At the end, and wherever one looks behind it.
        for offset in [body.len() as u64, u64::MAX] {
            assert_eq!(pieces.place(offset), Place::Own(&[]));
        }
        // A piece is told to its end and no further.
        assert_eq!(pieces.place(1), Place::Own(b"ne"));
        assert_eq!(pieces.place(5), Place::Object { at: 12, left: 8 });
    }
}
