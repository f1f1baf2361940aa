//! The encoders behind the content codings, one kind of thing whichever coding it is. They compute: only
//! threads of [`super::pool`] call them.

use std::fmt;
use std::hint::black_box;
use std::io::{self, Write};
use std::mem::take;

use flate2::Compression;
use flate2::write::GzEncoder;
use weir_http::message::coding::Coding;

// Levels that give up some size for speed: what is compressed is waited for. See
// docs/performance.md, "Compression".
const ZSTD_LEVEL: i32 = 3;
const BROTLI_QUALITY: u32 = 1;
const GZIP_LEVEL: u32 = 2;

/// The same for a stream: below it, Brotli finds nothing again that came in an earlier piece.
const BROTLI_STREAM_QUALITY: u32 = 2;

/// The logarithm of the largest window. Clients need not know more than 23 (RFC 9659, section 3).
const WINDOW: u32 = 20;

/// The same for what has no known end: many of these may be under way at once.
const STREAM_WINDOW: u32 = 18;

/// The same for the smallest window of Brotli, which has room for so many bytes less than 2^10 (RFC 7932,
/// section 9.1).
const LEAST_BROTLI_WINDOW: u32 = 10;
const BROTLI_WINDOW_GAP: usize = 16;

/// Bytes that the encoder for Brotli puts together before it hands them over.
const BROTLI_BUFFER: usize = 16 * 1024;

/// Makes compressed content of what is written to it.
pub(super) enum Encoder {
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encoder::Zstd(_) => "Zstd",
            Encoder::Brotli(_) => "Brotli",
            Encoder::Gzip(_) => "Gzip",
        })
    }
}

impl Encoder {
    /// `length`: bytes of all that will be written, if that is known.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub(super) fn new(coding: Coding, length: Option<usize>) -> io::Result<Encoder> {
        let window = if length.is_some() { WINDOW } else { STREAM_WINDOW };
        Ok(match coding {
            Coding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                encoder.window_log(window)?;
                encoder.set_pledged_src_size(length.map(|length| length as u64))?;
                Encoder::Zstd(encoder)
            }
            Coding::Brotli => {
                let (quality, window) = match length {
                    Some(length) => (BROTLI_QUALITY, brotli_window(length)),
                    None => (BROTLI_STREAM_QUALITY, window),
                };
                let out = Vec::new();
                let encoder = brotli::CompressorWriter::new(out, BROTLI_BUFFER, quality, window);
                Encoder::Brotli(Box::new(encoder))
            }
            Coding::Gzip => Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL))),
        })
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Encoder::Zstd(encoder) => encoder,
            Encoder::Brotli(encoder) => &mut **encoder,
            Encoder::Gzip(encoder) => encoder,
        }
    }

    /// Takes more of the content.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer().write_all(bytes)
    }

    /// What follows of the compressed content, such that all that was written can be decoded.
    pub(super) fn flushed(&mut self) -> io::Result<Vec<u8>> {
        self.writer().flush()?;
        Ok(match self {
            Encoder::Zstd(encoder) => take(encoder.get_mut()),
            Encoder::Brotli(encoder) => take(encoder.get_mut()),
            Encoder::Gzip(encoder) => take(encoder.get_mut()),
        })
    }

    /// The rest of the compressed content.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Encoder::Zstd(encoder) => encoder.finish(),
            Encoder::Brotli(encoder) => Ok((*encoder).into_inner()),
            Encoder::Gzip(encoder) => encoder.finish(),
        }
    }
}

/// The smallest window that has room for so many bytes: the encoder clears twice the window before it
/// begins.
fn brotli_window(length: usize) -> u32 {
    let fits = |window: &u32| (1 << window) - BROTLI_WINDOW_GAP >= length;
    (LEAST_BROTLI_WINDOW..WINDOW).find(fits).unwrap_or(WINDOW)
}

/// Has the allocator keep the memory of an encoder for the next one. glibc otherwise gives more than 128 KB
/// back at once, and page faults took as long as compressing; it takes the largest block that was freed for a
/// sign of what is needed (mallopt(3), M_MMAP_THRESHOLD).
pub(super) fn keep_memory() {
    /// More than any block of an encoder for the longest content; up to twice as much is kept.
    const LARGEST: usize = 4 << 20;
    drop(black_box(Vec::<u8>::with_capacity(LARGEST)));
}

/// `bytes` in this coding; `None` if that saves less than a twentieth.
pub(super) fn compress(coding: Coding, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut encoder = Encoder::new(coding, Some(bytes.len()))?;
    encoder.write(bytes)?;
    let mut compressed = encoder.finish()?;
    // It may be kept for long.
    compressed.shrink_to_fit();
    Ok((compressed.len() <= bytes.len() - bytes.len() / 20).then_some(compressed))
}

/// The content that was compressed, as a client decodes it.
#[cfg(test)]
pub(super) fn decode(coding: Coding, compressed: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut content = Vec::new();
    match coding {
        Coding::Zstd => content = zstd::decode_all(compressed).unwrap(),
        Coding::Brotli => {
            let mut decoder = brotli::Decompressor::new(compressed, 4096);
            decoder.read_to_end(&mut content).unwrap();
        }
        Coding::Gzip => {
            let mut decoder = flate2::read::GzDecoder::new(compressed);
            decoder.read_to_end(&mut content).unwrap();
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many bytes of text that are not always the same.
    fn text(length: usize) -> Vec<u8> {
        let lines = (0_u32..).map(|number| format!("{number} times {number}\n"));
        lines.flat_map(String::into_bytes).take(length).collect()
    }

    #[test]
    fn what_is_compressed_is_smaller_and_comes_back() {
        for coding in Coding::ALL {
            for length in [1024, 100_000, 1_000_000] {
                let content = text(length);
                let compressed = compress(coding, &content).unwrap().expect("text is compressible");
                assert!(compressed.len() < length / 2, "{coding:?}: {}", compressed.len());
                assert!(decode(coding, &compressed) == content, "{coding:?} of {length}");
            }
        }
    }

    #[test]
    fn the_window_of_brotli_has_room_for_all() {
        for (length, window) in [(0, 10), (1008, 10), (1009, 11), (100_000, 17), (131_057, 18)] {
            assert_eq!(brotli_window(length), window, "{length}");
        }
        assert_eq!(brotli_window(usize::MAX), WINDOW);
    }

    #[test]
    fn what_saves_nothing_is_not_worth_it() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(10_000)
        .collect();
        for coding in Coding::ALL {
            assert_eq!(compress(coding, &noise).unwrap(), None, "{coding:?}");
            assert_eq!(compress(coding, &[]).unwrap(), None, "{coding:?}");
        }
    }

    #[test]
    fn each_piece_of_a_stream_can_be_decoded_as_it_comes() {
        for coding in Coding::ALL {
            let mut encoder = Encoder::new(coding, None).unwrap();
            let (mut content, mut stream) = (Vec::new(), Vec::new());
            for piece in text(300_000).chunks(70_000) {
                encoder.write(piece).unwrap();
                let out = encoder.flushed().unwrap();
                assert!(!out.is_empty() && out.len() < piece.len(), "{coding:?}");
                stream.extend(out);
                content.extend_from_slice(piece);
            }
            stream.extend(encoder.finish().unwrap());
            assert!(decode(coding, &stream) == content, "{coding:?}");
        }
    }
}
