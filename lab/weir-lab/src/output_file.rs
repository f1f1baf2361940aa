//! A file that a command writes: under another name until it is complete, compressed if its name
//! ends in .gz or .zst. Used by `weir-lab trace` and for the page of `weir-lab sim replay`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;

use crate::failure::{Failure, failed};

/// A file that appears under its name when it is finished, and not at all otherwise. What exists
/// and is no regular file (a device, a pipe) is written where it is: a rename would replace it.
pub(crate) struct Output {
    path: PathBuf,
    /// Where it is written before it gets its name; what is no regular file is written in place.
    aside: Option<PathBuf>,
    bytes: Option<Encoded>,
}

enum Encoded {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

impl Output {
    /// Begins a file; `.gz` and `.zst` at the end of its name compress.
    pub(crate) fn create(path: &Path) -> Result<Output, Failure> {
        let (file, path, aside) = open(path)?;
        let file = BufWriter::with_capacity(1 << 16, file);
        let bytes = match path.extension().and_then(|end| end.to_str()) {
            Some("gz") => Encoded::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Some("zst") => {
                let encoder = zstd::stream::write::Encoder::new(file, 3);
                Encoded::Zstd(encoder.map_err(|error| cannot_write(&path, &error))?)
            }
            _ => Encoded::Plain(file),
        };
        Ok(Output { path, aside, bytes: Some(bytes) })
    }

    /// The file is whole: it gets its name.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let done = match self.bytes.take() {
            Some(Encoded::Plain(mut bytes)) => bytes.flush(),
            Some(Encoded::Gzip(bytes)) => bytes.finish().and_then(|mut bytes| bytes.flush()),
            Some(Encoded::Zstd(bytes)) => bytes.finish().and_then(|mut bytes| bytes.flush()),
            None => Ok(()),
        };
        let named = done.and_then(|()| match &self.aside {
            Some(aside) => fs::rename(aside, &self.path),
            None => Ok(()),
        });
        named.map_err(|error| cannot_write(&self.path, &error))
    }
}

/// The file to write, the path that it is to have (of a link to a file, the file's), and where it
/// is until then.
fn open(path: &Path) -> Result<(File, PathBuf, Option<PathBuf>), Failure> {
    let wrong = |error: io::Error| cannot_write(path, &error);
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        let file = File::options().write(true).open(path).map_err(wrong)?;
        return Ok((file, path.to_owned(), None));
    }
    let path =
        if there.is_some() { fs::canonicalize(path).map_err(wrong)? } else { path.to_owned() };
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{}.part", std::process::id()));
    let aside = PathBuf::from(aside);
    match File::create_new(&aside) {
        Ok(file) => Ok((file, path, Some(aside))),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(cannot_write(&aside, &error))
        }
        Err(error) => Err(cannot_write(&path, &error)),
    }
}

/// What could not be written, and why.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    failed(format!("cannot write {}: {error}", path.display()))
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
        if let Some(aside) = &self.aside {
            let _ = fs::remove_file(aside);
        }
    }
}
