//! The bytes of a trace file, decompressed if they are compressed, with a look at the first of
//! them, by which the format is detected. All readers read from here.

use std::io::{self, BufReader, Read};

use super::error::{Compression, Fault};

/// How much of the content the detection of the format looks at.
const LOOK: usize = 16 * 1024;
const BUFFER: usize = 64 * 1024;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The decompressed bytes of a file.
pub(crate) struct Input {
    /// The bytes from the start, those of `look` included.
    pub(crate) bytes: BufReader<Box<dyn Read + Send>>,
    /// The first bytes.
    pub(crate) look: Vec<u8>,
    /// What was undone.
    pub(super) compression: Option<Compression>,
}

impl Input {
    /// Detects compression by the first bytes. An error that the look runs into is kept and found
    /// again when reading gets there, unless there is nothing before it.
    pub(crate) fn new(reader: impl Read + Send + 'static) -> Result<Input, Fault> {
        let reader = Looked::new(reader, ZSTD.len());
        let compression = match &reader.look[..] {
            look if look.starts_with(&GZIP) => Some(Compression::Gzip),
            look if look.starts_with(&ZSTD) => Some(Compression::Zstd),
            _ => None,
        };
        let plain: Box<dyn Read + Send> = match compression {
            Some(Compression::Gzip) => Box::new(flate2::read::MultiGzDecoder::new(reader)),
            Some(Compression::Zstd) => {
                Box::new(zstd::stream::read::Decoder::new(reader).map_err(Fault::Io)?)
            }
            None => Box::new(reader),
        };
        let mut reader = Looked::new(plain, LOOK);
        if reader.look.is_empty()
            && let Some(error) = reader.error.take()
        {
            return Err(fault(error, compression));
        }
        let look = reader.look.clone();
        Ok(Input { bytes: BufReader::with_capacity(BUFFER, Box::new(reader)), look, compression })
    }
}

/// What an error of reading means. Errors of the system carry its number; others come from a
/// decoder.
pub(super) fn fault(error: io::Error, compression: Option<Compression>) -> Fault {
    match compression {
        Some(compression) if error.raw_os_error().is_none() => {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                Fault::Truncated(compression)
            } else {
                Fault::Corrupt(compression, error)
            }
        }
        _ => Fault::Io(error),
    }
}

/// A reader whose first bytes were looked at, and are read again.
struct Looked<R> {
    look: Vec<u8>,
    used: usize,
    error: Option<io::Error>,
    rest: R,
}

impl<R: Read> Looked<R> {
    fn new(mut rest: R, count: usize) -> Looked<R> {
        let mut look = Vec::new();
        let error = rest.by_ref().take(count as u64).read_to_end(&mut look).err();
        Looked { look, used: 0, error, rest }
    }
}

impl<R: Read> Read for Looked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.used < self.look.len() {
            let count = (&self.look[self.used..]).read(buffer)?;
            self.used += count;
            return Ok(count);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.rest.read(buffer),
        }
    }
}
