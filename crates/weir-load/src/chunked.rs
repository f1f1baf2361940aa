//! The chunked transfer coding (RFC 9112, section 7.1), read in whatever pieces it comes in. It
//! does not know what the data mean, and keeps none of them.

/// More digits than a length of 64 bits has.
const MOST_DIGITS: u32 = 16;
/// Bytes of one line of chunk extensions, or of a trailer field, that are put up with.
const LONGEST_LINE: u32 = 16_384;

/// Where in the coding the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Size { digits: u32 },
    Extension { length: u32 },
    SizeEnd,
    Data,
    DataCr,
    DataLf,
    Trailer { length: u32 },
    TrailerEnd { length: u32 },
    End,
}

/// A body in the chunked coding while it comes in.
#[derive(Clone, Debug)]
pub(crate) struct Chunked {
    at: At,
    /// Data bytes of this chunk to come.
    left: u64,
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// So many bytes of framing, then so many of data.
    Data {
        /// Bytes to pass over.
        skip: usize,
        /// Bytes of data after them; 0 when the input ends first.
        data: usize,
    },
    /// The body has ended after so many bytes.
    End(usize),
    /// This is not the chunked coding.
    Malformed,
}

impl Chunked {
    pub(crate) fn new() -> Chunked {
        Chunked { at: At::Size { digits: 0 }, left: 0 }
    }

    /// Take the next piece of `bytes`: framing up to and with the data that follow it.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Piece {
        for (index, &byte) in bytes.iter().enumerate() {
            if self.at == At::Data {
                let here = (bytes.len() - index) as u64;
                let data = self.left.min(here);
                self.left -= data;
                if self.left == 0 {
                    self.at = At::DataCr;
                }
                return Piece::Data { skip: index, data: data as usize };
            }
            match self.step(byte) {
                Some(At::End) => {
                    self.at = At::End;
                    return Piece::End(index + 1);
                }
                Some(at) => self.at = at,
                None => return Piece::Malformed,
            }
        }
        match self.at {
            At::End => Piece::End(0),
            _ => Piece::Data { skip: bytes.len(), data: 0 },
        }
    }

    /// Where a byte of framing leads to.
    fn step(&mut self, byte: u8) -> Option<At> {
        Some(match (self.at, byte) {
            (At::Size { digits }, _) if byte.is_ascii_hexdigit() && digits < MOST_DIGITS => {
                let digit = u64::from((byte as char).to_digit(16)?);
                self.left = self.left << 4 | digit;
                At::Size { digits: digits + 1 }
            }
            (At::Size { digits: 1.. }, b';' | b' ' | b'\t') => At::Extension { length: 0 },
            (At::Size { digits: 1.. } | At::Extension { .. }, b'\r') => At::SizeEnd,
            (At::Size { digits: 1.. } | At::Extension { .. } | At::SizeEnd, b'\n') => {
                if self.left == 0 { At::Trailer { length: 0 } } else { At::Data }
            }
            (At::Extension { length }, _) if length < LONGEST_LINE => {
                At::Extension { length: length + 1 }
            }
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataCr | At::DataLf, b'\n') => At::Size { digits: 0 },
            (At::Trailer { length: 0 } | At::TrailerEnd { length: 0 }, b'\n') => At::End,
            (At::Trailer { .. } | At::TrailerEnd { .. }, b'\n') => At::Trailer { length: 0 },
            (At::Trailer { length }, b'\r') => At::TrailerEnd { length },
            (At::Trailer { length }, _) if length < LONGEST_LINE => {
                At::Trailer { length: length + 1 }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data and the bytes the coding took, fed `step` bytes at a time.
    fn decode(text: &[u8], step: usize) -> Option<(Vec<u8>, usize)> {
        let mut chunked = Chunked::new();
        let mut out = Vec::new();
        let mut used = 0;
        for part in text.chunks(step) {
            let mut part = part;
            while !part.is_empty() {
                match chunked.take(part) {
                    Piece::Data { skip, data } => {
                        out.extend_from_slice(&part[skip..skip + data]);
                        used += skip + data;
                        part = &part[skip + data..];
                    }
                    Piece::End(count) => return Some((out, used + count)),
                    Piece::Malformed => return None,
                }
            }
        }
        None
    }

    #[test]
    fn the_same_in_any_pieces() {
        let text =
            b"5\r\nhello\r\n1a;name=x\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer: 1\r\n\r\nrest";
        for step in 1..=text.len() {
            let (data, used) = decode(text, step).expect("a whole body");
            assert_eq!(data, b"helloabcdefghijklmnopqrstuvwxyz", "in pieces of {step}");
            assert_eq!(used, text.len() - 4);
        }
    }

    #[test]
    fn what_is_not_the_coding_is_said() {
        for text in ["x\r\n", "\r\n", "5\r\nhelloX", "11111111111111111\r\n", "1\rX", ";\r\n"] {
            assert_eq!(decode(text.as_bytes(), 64), None, "{text:?}");
            let mut chunked = Chunked::new();
            let mut rest = text.as_bytes();
            let malformed = loop {
                match chunked.take(rest) {
                    Piece::Malformed => break true,
                    Piece::Data { skip, data } if skip + data < rest.len() => {
                        rest = &rest[skip + data..];
                    }
                    _ => break false,
                }
            };
            assert!(malformed, "{text:?}");
        }
    }
}
