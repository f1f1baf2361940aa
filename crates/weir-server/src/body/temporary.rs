//! Temporary files without names, for bodies that memory has no room for: where they are, how many there
//! may be, and reading and writing them by helper threads. Used by [`super::Buffer`].

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use weir_sched::Time;

use crate::sys::clock;

/// The most reads and writes at once: a disk that hangs can block this many threads.
const MAX_CONCURRENT: usize = 32;

/// How long no new file is made after a failure: not every body must try a full disk.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A failure is logged at most once in this time.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug)]
pub(crate) struct TemporaryFiles {
    directory: PathBuf,
    /// The most files at once.
    max_files: usize,
    open: Arc<AtomicUsize>,
    /// The longest time for a read or write.
    limit: Duration,
    permits: Arc<Semaphore>,
    failures: Mutex<Failures>,
    closer: mpsc::Sender<OpenFile>,
}

/// When a file last failed, and when that was last logged.
#[derive(Debug, Default)]
struct Failures {
    failed: Option<Time>,
    logged: Option<Time>,
}

/// One file; dropping it frees its space.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    /// `None` while it is being dropped.
    open: Option<OpenFile>,
    closer: mpsc::Sender<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    _count: OpenCount,
}

/// Counts an open file until it is dropped.
#[derive(Debug)]
struct OpenCount(Arc<AtomicUsize>);

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl TemporaryFiles {
    /// At most `max_files` files in `directory`; a read or write that takes longer than `limit` counts
    /// as failed.
    ///
    /// # Errors
    ///
    /// If no file can be made there, or no thread can be started.
    pub(crate) fn new(directory: &Path, max_files: usize, limit: Duration) -> io::Result<Self> {
        tempfile::tempfile_in(directory)?;
        let (closer, closed) = mpsc::channel::<OpenFile>();
        // Closing a file frees its space, which can take a while: a worker must not wait for it.
        thread::Builder::new()
            .name("weir-temporary".to_owned())
            .spawn(move || closed.into_iter().for_each(drop))?;
        Ok(TemporaryFiles {
            directory: directory.to_owned(),
            max_files,
            open: Arc::default(),
            limit,
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
            failures: Mutex::default(),
            closer,
        })
    }

    /// Whether a body may be written to a file now; `another`: to a new one.
    pub(crate) fn are_usable(&self, another: bool) -> bool {
        if another && self.open.load(Ordering::Relaxed) >= self.max_files {
            return false;
        }
        let failed = self.failures.lock().unwrap_or_else(PoisonError::into_inner).failed;
        failed.is_none_or(|failed| clock::now().since(failed) >= RETRY_AFTER)
    }

    /// Writes `pieces` into `file`, or a new one, from the offset `at` on.
    ///
    /// # Errors
    ///
    /// If not all was written, as the disk is full, failed or took too long. The error is logged.
    pub(crate) async fn write(
        &self,
        file: Option<Arc<TemporaryFile>>,
        at: u64,
        pieces: Vec<Bytes>,
    ) -> io::Result<Arc<TemporaryFile>> {
        let (directory, closer, open) =
            (self.directory.clone(), self.closer.clone(), self.open.clone());
        let write = move || {
            let file = match file {
                Some(file) => file,
                None => Arc::new(TemporaryFile::new(&directory, open, closer)?),
            };
            file.write(at, &pieces)?;
            Ok(file)
        };
        self.by_helper(write).await.inspect_err(|error| self.failed("write", error))
    }

    /// Reads `count` bytes of `file` from the offset `at` on.
    ///
    /// # Errors
    ///
    /// If they cannot be read. The error is logged.
    pub(crate) async fn read(
        &self,
        file: Arc<TemporaryFile>,
        at: u64,
        count: usize,
    ) -> io::Result<Bytes> {
        let read = move || {
            let mut bytes = vec![0; count];
            file.file()?.read_exact_at(&mut bytes, at)?;
            Ok(bytes.into())
        };
        self.by_helper(read).await.inspect_err(|error| self.failed("read", error))
    }

    async fn by_helper<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let permits = self.permits.clone();
        let done = async {
            let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
            // The permit is kept for as long as the thread hangs, even if the caller gave up.
            let work = move || {
                let _permit = permit;
                work()
            };
            spawn_blocking(work).await?
        };
        timeout(self.limit, done).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    fn failed(&self, what: &str, error: &io::Error) {
        let now = clock::now();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.failed = Some(now);
        if failures.logged.is_none_or(|logged| now.since(logged) >= LOG_INTERVAL) {
            failures.logged = Some(now);
            let directory = self.directory.display();
            tracing::warn!(
                "cannot {what} a temporary file in {directory}: {error}; bodies of requests and \
                 responses are buffered in memory only, so slow clients can delay backends: free \
                 space there, or set `proxy_temp_dir` to another directory"
            );
        }
    }
}

impl TemporaryFile {
    fn new(
        directory: &Path,
        open: Arc<AtomicUsize>,
        closer: mpsc::Sender<OpenFile>,
    ) -> io::Result<TemporaryFile> {
        open.fetch_add(1, Ordering::Relaxed);
        let count = OpenCount(open);
        let file = tempfile::tempfile_in(directory)?;
        Ok(TemporaryFile { open: Some(OpenFile { file, _count: count }), closer })
    }

    fn file(&self) -> io::Result<&File> {
        let open = self.open.as_ref();
        open.map(|open| &open.file).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Writes all of `pieces`, or leaves the file as long as it was.
    fn write(&self, at: u64, pieces: &[Bytes]) -> io::Result<()> {
        let file = self.file()?;
        let mut end = at;
        for piece in pieces {
            if let Err(error) = file.write_all_at(piece, end) {
                let _ = file.set_len(at);
                return Err(error);
            }
            end += piece.len() as u64;
        }
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            // Without the thread, it is closed here.
            drop(self.closer.send(open));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(max_files: usize) -> (TemporaryFiles, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(600);
        (TemporaryFiles::new(directory.path(), max_files, limit).unwrap(), directory)
    }

    fn bytes(text: &'static str) -> Vec<Bytes> {
        vec![Bytes::from_static(text.as_bytes())]
    }

    #[tokio::test]
    async fn what_is_written_can_be_read_and_files_are_counted() {
        let (files, directory) = files(1);
        let file = files.write(None, 0, bytes("hello ")).await.unwrap();
        let file = files.write(Some(file), 6, [bytes("wor"), bytes("ld")].concat()).await.unwrap();
        assert_eq!(files.read(file.clone(), 4, 5).await.unwrap(), "o wor");
        assert!(files.are_usable(false) && !files.are_usable(true));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "it has no name");
        drop(file);
        while !files.are_usable(true) {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_directory_that_is_of_no_use_is_left_alone_for_a_while() {
        let (files, directory) = files(9);
        let file = files.write(None, 0, bytes("here")).await.unwrap();
        directory.close().unwrap();
        files.write(None, 0, bytes("a")).await.unwrap_err();
        assert!(!files.are_usable(false) && !files.are_usable(true));
        assert_eq!(files.read(file, 0, 4).await.unwrap(), "here");
        let nowhere = Path::new("/nowhere/at/all");
        assert!(TemporaryFiles::new(nowhere, 1, Duration::from_secs(1)).is_err());
    }
}
