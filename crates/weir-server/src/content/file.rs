//! An open file: reading what is in memory, knowing what is, and reading the rest by a helper. The site
//! makes them, responses are sent from them.
//!
//! A worker must never send straight from a file what may have to come from the disk first: sending
//! would wait for it, whatever flags are set. `RWF_NOWAIT` reads tell the truth but copy; cachestat(2)
//! is exact and cheap but tells only the owner. What either has shown counts as being in memory for a
//! second, as long as nothing was missed meanwhile.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::{self, IoSliceMut};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use weir_sched::Time;

use super::descriptor::Descriptor;
use super::mount::Access;
use super::open::{self, CHUNK, DIRECT_FROM, Identity, Opened};
use super::root::printable;
use super::work::{DiskResult, FileDisks, Key};
use crate::disk::{DiskError, DiskId, Piece};
use crate::runtime::turn;
use crate::sys;

/// How long a chunk that was read counts as in memory, and how long nothing counts as in memory after a
/// miss.
const TRUST: Duration = Duration::from_secs(1);

/// How many bytes ahead cachestat(2) is asked for.
const ASKED: u64 = 8 * CHUNK;

/// Files with more chunks than this (4 GB) are asked for anew each time.
const MOST_CHUNKS: u64 = 32_768;

thread_local! {
    /// When this worker last missed something in memory.
    static MISSED: Cell<Time> = const { Cell::new(Time::ZERO) };
}

/// See the module.
#[derive(Debug)]
pub(crate) struct File {
    fd: Arc<Descriptor>,
    /// Below the root.
    name: Rc<[u8]>,
    /// The root, for the log.
    root: Arc<Path>,
    identity: Identity,
    disk: DiskId,
    access: Access,
    /// cachestat(2) answers: the server owns the file, or may write it.
    has_cachestat: Cell<bool>,
    /// When each chunk was last seen to be in memory, whole.
    seen: RefCell<Vec<Time>>,
}

/// Why bytes could not be read at once.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// They are not in memory: [`File::fetch`] gets them without blocking the worker.
    Cold,
    Failed(io::Error),
}

impl File {
    /// What was opened under `name` below `root`.
    pub(super) fn new(opened: &Opened, access: Access, name: Rc<[u8]>, root: &Arc<Path>) -> File {
        let has_cachestat = Cell::new(access == Access::NoWait);
        if access == Access::NoWait && opened.identity.length > DIRECT_FROM {
            // It is read in large pieces, when they are needed: the kernel need not guess.
            let _ = fadvise(&opened.fd, 0, None, Advice::Random);
        }
        let Opened { identity, disk, .. } = *opened;
        let (fd, seen) = (opened.fd.clone(), RefCell::default());
        File { fd, name, root: root.clone(), identity, disk, access, has_cachestat, seen }
    }

    /// The name below the root that was opened.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Its path, for the log.
    pub(crate) fn printable(&self) -> String {
        printable(&self.root, &self.name)
    }

    /// Whether its content is read when it is opened, and sent from memory.
    pub(super) fn is_small(&self) -> bool {
        self.identity.length <= if self.tells_residency() { DIRECT_FROM } else { CHUNK }
    }

    /// Whether it can be found out without waiting what of it is in memory.
    pub(crate) fn tells_residency(&self) -> bool {
        matches!(self.access, Access::Memory | Access::NoWait)
    }

    /// Whether it has not changed since it was opened. May wait unless the file tells what of it is in
    /// memory.
    pub(super) fn is_as_opened(&self) -> bool {
        Identity::now(&self.fd).is_ok_and(|now| now == self.identity)
    }

    /// The same for any file, asked for a request of this age: a helper looks where that may wait. `false` also
    /// if that cannot be told.
    pub(super) async fn is_still_as_opened(&self, disks: &FileDisks, since: Time) -> bool {
        if self.tells_residency() {
            return self.is_as_opened();
        }
        let (fd, disk) = (self.fd.clone(), self.disk);
        let (key, place) = (Key::of_comparison(), self.identity.device);
        let work = move || DiskResult::Identified(Identity::now(&fd).map(|now| (now, disk)));
        let now = disks.run(disk, Piece { key, bytes: 1, place, since }, work).await;
        matches!(now, Ok(DiskResult::Identified(Ok((now, _)))) if now == self.identity)
    }

    /// Whether the chunk that begins at `offset` is in memory, so that sending can begin.
    pub(super) fn is_ready(&self, offset: u64, scratch: &mut [u8]) -> bool {
        let count = self.identity.length.saturating_sub(offset).min(scratch.len() as u64);
        if count == 0 || self.resident(offset, count) > 0 {
            return true;
        }
        // Trying to read a byte would read a little from the disk, and the rest in another operation.
        !self.has_cachestat.get() && self.read(offset, &mut scratch[..count as usize]).is_ok()
    }

    pub(crate) fn fd(&self) -> &Descriptor {
        &self.fd
    }

    /// Fills `out` with the bytes from `offset` on if they are in memory; returns how many it read: 0 only
    /// at the end of the file.
    ///
    /// # Errors
    ///
    /// They are not in memory, or cannot be read.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> Result<usize, ReadError> {
        if self.has_cachestat.get()
            && turn::began().since(MISSED.get()) < TRUST
            && !self.is_cached(
                offset,
                self.identity.length.saturating_sub(offset).min(out.len() as u64),
            )
        {
            // Trying would start a read of the disk that its gate knows nothing of.
            MISSED.set(turn::began());
            return Err(ReadError::Cold);
        }
        let flags = match self.access {
            Access::Memory => ReadWriteFlags::empty(),
            Access::NoWait => ReadWriteFlags::NOWAIT,
            Access::Blocking | Access::Remote => return Err(ReadError::Cold),
        };
        let read = open::fill(out, |buffer, done| {
            preadv2(&self.fd, &mut [IoSliceMut::new(buffer)], offset + done, flags)
        });
        match read {
            Ok(count) => {
                if self.access == Access::NoWait && count > 1 {
                    self.note_seen(offset, count as u64);
                }
                Ok(count)
            }
            Err(Errno::AGAIN | Errno::OPNOTSUPP) => {
                MISSED.set(turn::began());
                Err(ReadError::Cold)
            }
            Err(error) => Err(ReadError::Failed(error.into())),
        }
    }

    /// How many of `count` bytes from `offset` on are certainly in memory, so that they can be sent
    /// straight from the file. There may be more.
    pub(crate) fn resident(&self, offset: u64, count: u64) -> u64 {
        match self.access {
            Access::Memory => return count,
            Access::NoWait => {}
            Access::Blocking | Access::Remote => return 0,
        }
        let known = self.lately_seen(offset, count);
        if known > 0 || !self.has_cachestat.get() {
            return known;
        }
        let start = offset - offset % CHUNK;
        let ahead = ASKED.min(self.identity.length.saturating_sub(start));
        let to_end = (start + ahead).saturating_sub(offset);
        if to_end > 0 && self.is_cached(start, ahead) {
            self.note_seen(start, ahead);
            return count.min(to_end);
        }
        if count < to_end && self.is_cached(offset, count) { count } else { 0 }
    }

    /// Whether cachestat(2) says that these bytes are in memory.
    fn is_cached(&self, offset: u64, count: u64) -> bool {
        match sys::pages_in_memory(&*self.fd, offset, count) {
            // Pages that are still being read count as cached; the last is read last.
            Ok(all) => all && (count == 0 || self.has_byte(offset + count - 1)),
            Err(_) => {
                self.has_cachestat.set(false);
                false
            }
        }
    }

    /// Remembers that the whole chunks of these bytes are in memory now.
    fn note_seen(&self, offset: u64, count: u64) {
        let length = self.identity.length;
        if length > MOST_CHUNKS * CHUNK {
            return;
        }
        let end =
            if offset + count >= length { length.next_multiple_of(CHUNK) } else { offset + count };
        let mut seen = self.seen.borrow_mut();
        for chunk in offset.div_ceil(CHUNK)..end / CHUNK {
            let chunk = chunk as usize;
            if seen.len() <= chunk {
                seen.resize(chunk + 1, Time::ZERO);
            }
            seen[chunk] = turn::began();
        }
    }

    fn lately_seen(&self, offset: u64, count: u64) -> u64 {
        let now = turn::began();
        if now.since(MISSED.get()) < TRUST {
            return 0;
        }
        let seen = self.seen.borrow();
        let known = seen
            .iter()
            .skip((offset / CHUNK) as usize)
            .take(count.div_ceil(CHUNK) as usize + 1)
            .take_while(|seen| now.since(**seen) < TRUST)
            .count() as u64;
        let end = (offset / CHUNK + known) * CHUNK;
        let count = end.saturating_sub(offset).min(count);
        // Checked now and then: the kernel evicts a file from its beginning.
        if count > 0 && offset % ASKED < CHUNK && !self.has_byte(offset) {
            MISSED.set(now);
            return 0;
        }
        count
    }

    fn has_byte(&self, offset: u64) -> bool {
        let mut byte = [0];
        let flags = ReadWriteFlags::NOWAIT;
        preadv2(&self.fd, &mut [IoSliceMut::new(&mut byte)], offset, flags) == Ok(1)
    }

    /// Has a helper read `window` bytes into memory, from the beginning of the chunk that `offset` lies in,
    /// for a response that waits since then. Returns where that chunk begins, and its bytes.
    ///
    /// # Errors
    ///
    /// The disk has too much to do, or the file cannot be read.
    pub(crate) async fn fetch(
        &self,
        disks: &FileDisks,
        offset: u64,
        window: u64,
        since: Time,
    ) -> Result<(u64, Arc<[u8]>), FetchError> {
        let start = offset - offset % CHUNK;
        let Identity { device, length, .. } = self.identity;
        let count = window.max(CHUNK).min(length.saturating_sub(start).max(1));
        let fd = self.fd.clone();
        let piece = Piece { key: self.part(start), bytes: count, place: device, since };
        let work = move || DiskResult::Part(read_window(&fd, start, count));
        match disks.run(self.disk, piece, work).await.map_err(FetchError::Disk)? {
            DiskResult::Part(Ok(bytes)) => Ok((start, bytes)),
            DiskResult::Part(Err(error)) => Err(FetchError::Failed(error)),
            _ => Err(FetchError::Failed(Errno::IO)),
        }
    }

    /// Tells reading from `start` on apart from other work.
    fn part(&self, start: u64) -> Key {
        Key::Part(self.identity, start)
    }
}

/// Why a helper could not fetch part of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FetchError {
    Failed(Errno),
    Disk(DiskError),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FetchError::Failed(error) => error.fmt(f),
            FetchError::Disk(DiskError::Refused) => f.write_str("too much waits for the disk"),
            FetchError::Disk(DiskError::TimedOut) => f.write_str("the disk took too long"),
        }
    }
}

/// Reads `count` bytes into memory, the first chunk of them to be returned.
fn read_window(fd: &Descriptor, start: u64, count: u64) -> Result<Arc<[u8]>, Errno> {
    if count > CHUNK {
        // One large request to the disk instead of several.
        let length = std::num::NonZeroU64::new(count);
        let _ = fadvise(fd, start, length, Advice::WillNeed);
    }
    let first = open::read(fd, start, count.min(CHUNK) as usize)?;
    // The helper stays until all is there, as the gate counts what the disk has to do. It touches the
    // last byte of each chunk only: a page that is touched twice counts as used often, and sending it
    // is the first time.
    let (mut byte, mut at) = ([0], start + CHUNK);
    while at < start + count {
        at = (at + CHUNK).min(start + count);
        rustix::io::pread(fd, &mut byte, at - 1)?;
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    use super::*;
    use crate::content::root::Directory;
    use crate::metrics::Metrics;
    use crate::sys::clock;

    /// The file `file` of this directory, as it is opened now.
    fn opened(directory: &Path, access: Access) -> File {
        let held = Directory::open(directory).unwrap();
        let opened = open::from_disk(&held, b"file", false).unwrap();
        File::new(&opened, access, Rc::from(&b"file"[..]), &Arc::from(directory))
    }

    #[test]
    fn what_is_read_is_shared_by_those_who_opened_the_same_content() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join("file");
        fs::write(&name, "before").unwrap();
        let part = || opened(directory.path(), Access::NoWait).part(0);
        let before = part();
        assert_eq!(part(), before);
        OpenOptions::new().append(true).open(&name).unwrap().write_all(b", and more").unwrap();
        assert_ne!(part(), before);
    }

    #[tokio::test]
    async fn a_helper_looks_whether_a_file_has_changed_where_that_may_wait() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join("file");
        for (access, looks) in
            [(Access::Memory, 0), (Access::NoWait, 0), (Access::Blocking, 2), (Access::Remote, 2)]
        {
            fs::write(&name, "before").unwrap();
            let metrics = Arc::new(Metrics::new());
            let disks = FileDisks::new(Duration::from_secs(600), metrics.clone());
            let file = opened(directory.path(), access);
            assert!(file.is_still_as_opened(&disks, clock::now()).await, "{access:?}");
            fs::write(&name, "of another length").unwrap();
            assert!(!file.is_still_as_opened(&disks, clock::now()).await, "{access:?}");
            assert_eq!(metrics.disk_jobs.get(), looks, "{access:?}");
        }
    }
}
