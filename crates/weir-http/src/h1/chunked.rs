//! The chunked transfer coding (RFC 9112, section 7.1): read in whatever pieces it comes in, and
//! written. It does not know what the data mean, and keeps nothing of them.

mod encode;
mod extension;
#[cfg(test)]
mod tests;
mod trailers;

use extension::Extension;
use http::HeaderMap;

pub use encode::{CHUNK_END, chunk_head, last_chunk};
pub use trailers::may_be_trailer;

/// Digits of a length of 64 bits.
const MOST_DIGITS: u32 = 16;
/// Bytes of one line of chunk extensions, or of a trailer field, that a lenient reader puts up with.
const LONGEST_LINE: u32 = 16_384;
/// Bytes of chunk extensions a strict reader puts up with beyond as many bytes of data: they cost
/// work that nobody sees (RFC 9112, section 7.1.1, asks for such a limit).
const MOST_EXTENSIONS: u32 = 16_384;
/// Bytes of all trailer fields with their line ends that a strict reader puts up with.
const MOST_TRAILERS: usize = 16_384;

/// Where in the coding the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Size { digits: u32 },
    Extension { length: u32, place: Extension },
    SizeEnd,
    Data,
    DataCr,
    DataLf,
    Trailer { length: u32 },
    TrailerEnd { length: u32 },
    End,
    Malformed,
}

/// A body in the chunked coding while it comes in.
///
/// A strict reader refuses whatever another reader could take for something else, so that no
/// request hides in the body of another: line ends other than CRLF, white space around the size,
/// malformed extensions, folded or malformed trailer fields. What it accepts a lenient reader
/// accepts too, and reads the same.
#[derive(Clone, Debug)]
pub struct Chunked {
    at: At,
    /// Data bytes of this chunk to come.
    left: u64,
    strict: bool,
    /// Bytes of extensions that no data have made up for (strict only).
    extensions: u32,
    /// The lines of the trailer section without the empty line that ends it (strict only).
    trailers: Vec<u8>,
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// So many bytes of framing, then so many of data.
    Data {
        /// Bytes to pass over.
        skip: usize,
        /// Bytes of data after them; 0 when the input ends first.
        data: usize,
    },
    /// The body has ended after so many bytes.
    End(usize),
    /// This is not the chunked coding. It stays so.
    Malformed,
}

impl Chunked {
    /// A reader of requests, for a server.
    pub fn strict() -> Chunked {
        Chunked::new(true)
    }

    /// A reader of responses, for a client that asks one server and passes nothing on. It takes
    /// lines that end in LF alone and any text as extension, and keeps no trailers.
    pub fn lenient() -> Chunked {
        Chunked::new(false)
    }

    fn new(strict: bool) -> Chunked {
        let at = At::Size { digits: 0 };
        Chunked { at, left: 0, strict, extensions: 0, trailers: Vec::new() }
    }

    /// Takes the next piece of `bytes`: framing up to and with the data that follow it. Call it
    /// again with what is left. After the end it takes nothing more.
    pub fn take(&mut self, bytes: &[u8]) -> Piece {
        for (index, &byte) in bytes.iter().enumerate() {
            match self.at {
                At::End => return Piece::End(index),
                At::Malformed => return Piece::Malformed,
                At::Data => {
                    let here = (bytes.len() - index) as u64;
                    let data = self.left.min(here);
                    self.left -= data;
                    if self.left == 0 {
                        self.at = At::DataCr;
                    }
                    return Piece::Data { skip: index, data: data as usize };
                }
                _ => {}
            }
            let next = if self.strict { self.strictly(byte) } else { self.leniently(byte) };
            self.at = next.unwrap_or(At::Malformed);
        }
        match self.at {
            At::End => Piece::End(bytes.len()),
            At::Malformed => Piece::Malformed,
            _ => Piece::Data { skip: bytes.len(), data: 0 },
        }
    }

    /// Whether the body has ended.
    pub fn is_ended(&self) -> bool {
        self.at == At::End
    }

    /// The trailer fields, once the body has ended, without those that mean nothing or harm there
    /// (see [`may_be_trailer`]). `None` before the end and from a lenient reader.
    pub fn trailers(&self) -> Option<HeaderMap> {
        if self.strict && self.is_ended() { trailers::parse(&self.trailers) } else { None }
    }

    /// One more digit of the size.
    fn digit(&mut self, digits: u32, byte: u8) -> Option<At> {
        if digits >= MOST_DIGITS {
            return None;
        }
        let digit = u64::from((byte as char).to_digit(16)?);
        self.left = self.left << 4 | digit;
        Some(At::Size { digits: digits + 1 })
    }

    /// The line of the size has ended.
    fn sized(&mut self) -> At {
        self.extensions =
            self.extensions.saturating_sub(u32::try_from(self.left).unwrap_or(u32::MAX));
        if self.left == 0 { At::Trailer { length: 0 } } else { At::Data }
    }

    /// Where a byte of framing leads a strict reader; `None` if nowhere.
    fn strictly(&mut self, byte: u8) -> Option<At> {
        Some(match (self.at, byte) {
            (At::Size { digits: 1.. }, b'\r') => At::SizeEnd,
            (At::Extension { place, .. }, b'\r') if place.may_end() => At::SizeEnd,
            (At::Size { digits: 1.. }, b';') => self.extended(0, Extension::START)?,
            (At::Size { digits }, _) => self.digit(digits, byte)?,
            (At::Extension { length, place }, _) => self.extended(length, place.then(byte)?)?,
            (At::SizeEnd, b'\n') => self.sized(),
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => At::Size { digits: 0 },
            (At::Trailer { length }, b'\r') => At::TrailerEnd { length },
            (At::TrailerEnd { length: 0 }, b'\n') => {
                trailers::parse(&self.trailers)?;
                At::End
            }
            (At::TrailerEnd { .. }, b'\n') => {
                self.keep(b"\r\n")?;
                At::Trailer { length: 0 }
            }
            // The second line of a folded field (RFC 9112, section 5.2).
            (At::Trailer { length: 0 }, b' ' | b'\t') => return None,
            (At::Trailer { length }, _) if !byte.is_ascii_control() || byte == b'\t' => {
                self.keep(&[byte])?;
                At::Trailer { length: length.saturating_add(1) }
            }
            _ => return None,
        })
    }

    fn extended(&mut self, length: u32, place: Extension) -> Option<At> {
        self.extensions += 1;
        (self.extensions <= MOST_EXTENSIONS)
            .then_some(At::Extension { length: length.saturating_add(1), place })
    }

    fn keep(&mut self, bytes: &[u8]) -> Option<()> {
        self.trailers.extend_from_slice(bytes);
        (self.trailers.len() <= MOST_TRAILERS).then_some(())
    }

    /// Where a byte of framing leads a lenient reader; `None` if nowhere.
    fn leniently(&mut self, byte: u8) -> Option<At> {
        Some(match (self.at, byte) {
            (At::Size { digits: 1.. }, b';' | b' ' | b'\t') => {
                At::Extension { length: 0, place: Extension::START }
            }
            (At::Size { digits: 1.. } | At::Extension { .. }, b'\r') => At::SizeEnd,
            (At::Size { digits: 1.. } | At::Extension { .. } | At::SizeEnd, b'\n') => self.sized(),
            (At::Size { digits }, _) => self.digit(digits, byte)?,
            (At::Extension { length, place }, _) if length < LONGEST_LINE => {
                At::Extension { length: length + 1, place }
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
