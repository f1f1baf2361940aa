//! The file that a command writes: beside its name until it is whole, compressed if its name says
//! so. It does not know what is in it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;

use super::happened;
use crate::Failure;

/// A file that appears under its name when it is finished, and not at all otherwise.
pub(super) struct Output {
    path: PathBuf,
    aside: PathBuf,
    bytes: Option<Encoded>,
}

enum Encoded {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

impl Output {
    /// Begins a file; `.gz` and `.zst` at the end of its name compress.
    pub(super) fn create(path: &Path) -> Result<Output, Failure> {
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".{}.part", std::process::id()));
        let aside = PathBuf::from(aside);
        let file = File::create(&aside).map_err(|error| failed(path, &error))?;
        let file = BufWriter::with_capacity(1 << 16, file);
        let bytes = match path.extension().and_then(|end| end.to_str()) {
            Some("gz") => Encoded::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Some("zst") => {
                let encoder = zstd::stream::write::Encoder::new(file, 3);
                Encoded::Zstd(encoder.map_err(|error| failed(path, &error))?)
            }
            _ => Encoded::Plain(file),
        };
        Ok(Output { path: path.to_owned(), aside, bytes: Some(bytes) })
    }

    /// The file is whole: it gets its name.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let done = match self.bytes.take() {
            Some(Encoded::Plain(mut bytes)) => bytes.flush(),
            Some(Encoded::Gzip(bytes)) => bytes.finish().and_then(|mut bytes| bytes.flush()),
            Some(Encoded::Zstd(bytes)) => bytes.finish().and_then(|mut bytes| bytes.flush()),
            None => Ok(()),
        };
        done.and_then(|()| fs::rename(&self.aside, &self.path))
            .map_err(|error| failed(&self.path, &error))
    }
}

/// What could not be written, and why.
pub(super) fn failed(path: &Path, error: &io::Error) -> Failure {
    happened(format!("cannot write {}: {error}", path.display()))
}

impl Write for Output {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.bytes {
            Some(Encoded::Plain(bytes)) => bytes.write(buffer),
            Some(Encoded::Gzip(bytes)) => bytes.write(buffer),
            Some(Encoded::Zstd(bytes)) => bytes.write(buffer),
            None => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // Compressors are flushed at the end: in between it costs compression.
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.aside);
    }
}
