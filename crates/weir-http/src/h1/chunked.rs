//! The chunked transfer coding (RFC 9112, section 7.1), decoded in whatever pieces it comes in, and
//! encoded. Used by the proxy of `weir-server` in both directions and by `weir-load` for responses.

mod encode;
mod extension;
#[cfg(test)]
mod tests;
mod trailers;

use extension::Extension;
use http::HeaderMap;

pub use encode::{ChunkedBody, Source};
pub use trailers::may_be_trailer;

/// Digits of a length of 64 bits.
const MAX_DIGITS: u32 = 16;
/// The longest line of chunk extensions, or trailer field, that a lenient decoder accepts, in bytes.
const MAX_LINE: u32 = 16_384;
/// Bytes of chunk extensions that a strict decoder accepts beyond as many bytes of data: reading them
/// is work without use (RFC 9112, section 7.1.1, asks for such a limit).
const MAX_EXTENSIONS: u32 = 16_384;
/// Bytes of all trailer fields with their line ends that a strict decoder accepts.
const MAX_TRAILERS: usize = 16_384;

/// What the next byte is expected to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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

/// Decodes one body. It copies no data: it says which bytes of the input are data.
///
/// A strict decoder refuses whatever another reader could take for something else, so that no
/// request hides in the body of another: line ends other than CRLF, white space around the size,
/// malformed extensions, folded or malformed trailer fields. What it accepts, a lenient
/// decoder accepts and reads alike.
#[derive(Clone, Debug)]
pub struct ChunkedDecoder {
    state: State,
    /// Data bytes of this chunk that are still to come.
    left: u64,
    strict: bool,
    /// Bytes of extensions beyond as many bytes of data (strict only).
    extensions: u32,
    /// The lines of the trailer section without the empty line that ends it (strict only).
    trailers: Vec<u8>,
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of framing, then bytes of data.
    Data {
        /// Bytes of framing to skip.
        skip: usize,
        /// Bytes of data after them; 0 when the input ends first.
        data: usize,
    },
    /// The body has ended after this many bytes.
    End(usize),
    /// The input is not in the chunked coding. Every later call says so, too.
    Malformed,
}

impl ChunkedDecoder {
    /// A decoder for requests that a server receives.
    pub fn strict() -> ChunkedDecoder {
        ChunkedDecoder::new(true)
    }

    /// A decoder for responses that a client receives and does not pass on. It accepts lines that
    /// end in LF alone and any text as an extension, and keeps no trailers.
    pub fn lenient() -> ChunkedDecoder {
        ChunkedDecoder::new(false)
    }

    fn new(strict: bool) -> ChunkedDecoder {
        let state = State::Size { digits: 0 };
        ChunkedDecoder { state, left: 0, strict, extensions: 0, trailers: Vec::new() }
    }

    /// Decodes the next piece of `bytes`: framing, then the data that follow it. Call it again with
    /// the bytes behind that piece. After the end it takes no more bytes.
    pub fn decode(&mut self, bytes: &[u8]) -> Piece {
        for (index, &byte) in bytes.iter().enumerate() {
            match self.state {
                State::End => return Piece::End(index),
                State::Malformed => return Piece::Malformed,
                State::Data => {
                    let here = (bytes.len() - index) as u64;
                    let data = self.left.min(here);
                    self.left -= data;
                    if self.left == 0 {
                        self.state = State::DataCr;
                    }
                    return Piece::Data { skip: index, data: data as usize };
                }
                _ => {}
            }
            let next = if self.strict { self.step_strict(byte) } else { self.step_lenient(byte) };
            self.state = next.unwrap_or(State::Malformed);
        }
        match self.state {
            State::End => Piece::End(bytes.len()),
            State::Malformed => Piece::Malformed,
            _ => Piece::Data { skip: bytes.len(), data: 0 },
        }
    }

    /// Whether the body has ended.
    pub fn is_ended(&self) -> bool {
        self.state == State::End
    }

    /// The trailer fields, once the body has ended, without those that no trailer section may hold
    /// (see [`may_be_trailer`]). `None` before the end and from a lenient decoder.
    pub fn trailers(&self) -> Option<HeaderMap> {
        if self.strict && self.is_ended() { trailers::parse(&self.trailers) } else { None }
    }

    /// One more digit of the size.
    fn push_digit(&mut self, digits: u32, byte: u8) -> Option<State> {
        if digits >= MAX_DIGITS {
            return None;
        }
        let digit = u64::from((byte as char).to_digit(16)?);
        self.left = self.left << 4 | digit;
        Some(State::Size { digits: digits + 1 })
    }

    /// The line of the size has ended.
    fn end_size_line(&mut self) -> State {
        self.extensions =
            self.extensions.saturating_sub(u32::try_from(self.left).unwrap_or(u32::MAX));
        if self.left == 0 { State::Trailer { length: 0 } } else { State::Data }
    }

    /// The state after a byte of framing, for a strict decoder; `None`: malformed.
    fn step_strict(&mut self, byte: u8) -> Option<State> {
        Some(match (self.state, byte) {
            (State::Size { digits: 1.. }, b'\r') => State::SizeEnd,
            (State::Extension { place, .. }, b'\r') if place.may_end() => State::SizeEnd,
            (State::Size { digits: 1.. }, b';') => self.count_extension(0, Extension::START)?,
            (State::Size { digits }, _) => self.push_digit(digits, byte)?,
            (State::Extension { length, place }, _) => {
                self.count_extension(length, place.next(byte)?)?
            }
            (State::SizeEnd, b'\n') => self.end_size_line(),
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size { digits: 0 },
            (State::Trailer { length }, b'\r') => State::TrailerEnd { length },
            (State::TrailerEnd { length: 0 }, b'\n') => {
                trailers::parse(&self.trailers)?;
                State::End
            }
            (State::TrailerEnd { .. }, b'\n') => {
                self.push_trailer(b"\r\n")?;
                State::Trailer { length: 0 }
            }
            // The second line of a folded field (RFC 9112, section 5.2).
            (State::Trailer { length: 0 }, b' ' | b'\t') => return None,
            (State::Trailer { length }, _) if !byte.is_ascii_control() || byte == b'\t' => {
                self.push_trailer(&[byte])?;
                State::Trailer { length: length.saturating_add(1) }
            }
            _ => return None,
        })
    }

    fn count_extension(&mut self, length: u32, place: Extension) -> Option<State> {
        self.extensions += 1;
        (self.extensions <= MAX_EXTENSIONS)
            .then_some(State::Extension { length: length.saturating_add(1), place })
    }

    fn push_trailer(&mut self, bytes: &[u8]) -> Option<()> {
        self.trailers.extend_from_slice(bytes);
        (self.trailers.len() <= MAX_TRAILERS).then_some(())
    }

    /// The state after a byte of framing, for a lenient decoder; `None`: malformed.
    fn step_lenient(&mut self, byte: u8) -> Option<State> {
        Some(match (self.state, byte) {
            (State::Size { digits: 1.. }, b';' | b' ' | b'\t') => {
                State::Extension { length: 0, place: Extension::START }
            }
            (State::Size { digits: 1.. } | State::Extension { .. }, b'\r') => State::SizeEnd,
            (State::Size { digits: 1.. } | State::Extension { .. } | State::SizeEnd, b'\n') => {
                self.end_size_line()
            }
            (State::Size { digits }, _) => self.push_digit(digits, byte)?,
            (State::Extension { length, place }, _) if length < MAX_LINE => {
                State::Extension { length: length + 1, place }
            }
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataCr | State::DataLf, b'\n') => State::Size { digits: 0 },
            (State::Trailer { length: 0 } | State::TrailerEnd { length: 0 }, b'\n') => State::End,
            (State::Trailer { .. } | State::TrailerEnd { .. }, b'\n') => {
                State::Trailer { length: 0 }
            }
            (State::Trailer { length }, b'\r') => State::TrailerEnd { length },
            (State::Trailer { length }, _) if length < MAX_LINE => {
                State::Trailer { length: length + 1 }
            }
            _ => return None,
        })
    }
}
