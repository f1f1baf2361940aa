//! Whether the beginning of an open file is in memory, so that sending it does not wait for the disk. Asked
//! by the opener before it passes on a descriptor that it has kept.

use std::io::IoSliceMut;
use std::ops::Range;

use rustix::io::{Errno, ReadWriteFlags, preadv2};
use weir_server::{FileAccess, pages_in_memory};

use crate::find::{OpenFile, length};

/// Bytes that are read at a time where the kernel does not say what is in memory.
const PIECE: usize = 128 * 1024;

/// Whether the first `window` bytes are in memory, or the whole file if it is shorter. False as well
/// where that cannot be found out without waiting, as on overlayfs.
///
/// The kernel says it for free to the owner of a file and to root (cachestat(2)). To others it says so
/// only by reading what is there; such a read also starts to read what is not there, ahead of the gate.
pub(crate) fn is_resident(file: &OpenFile, window: u64) -> bool {
    if file.access == FileAccess::Memory {
        return true;
    }
    let bytes = length(file).min(window);
    let tells_of_reads = file.access == FileAccess::NoWait;
    match pages_in_memory(&file.fd, 0, bytes) {
        // Pages that are still being read count, too. Nearly always the last is read last.
        Ok(true) => !tells_of_reads || can_be_read(file, bytes.saturating_sub(1)..bytes),
        Ok(false) => false,
        Err(_) => tells_of_reads && can_be_read(file, 0..bytes),
    }
}

/// Whether these bytes can be read without waiting.
fn can_be_read(file: &OpenFile, bytes: Range<u64>) -> bool {
    let mut done = bytes.start;
    let mut piece = vec![0; PIECE.min((bytes.end - done) as usize)];
    while done < bytes.end {
        let most = PIECE.min((bytes.end - done) as usize);
        let buffer = &mut [IoSliceMut::new(&mut piece[..most])];
        match preadv2(&file.fd, buffer, done, ReadWriteFlags::NOWAIT) {
            // It was truncated.
            Ok(0) => return true,
            Ok(count) => done += count as u64,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, FileTimes};
    use std::path::Path;
    use std::thread;
    use std::time::{Duration, Instant, SystemTime};

    use rustix::fs::{Advice, fadvise};

    use super::*;
    use crate::find::{Opened, from_disk, warm};
    use crate::roots::Below;

    /// A file of this many bytes that is on the disk, and open.
    fn file(root: &Path, bytes: usize) -> OpenFile {
        let path = root.join("f");
        fs::write(&path, vec![1; bytes]).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        let below = Below { root, name: Path::new("f") };
        match from_disk(below, 1 << 20).unwrap() {
            Opened::File(file) => file,
            other => panic!("{other:?}"),
        }
    }

    /// Has the kernel forget a file. It keeps a page that a processor has just put into a list of its own.
    fn evict(file: &OpenFile) {
        let start = Instant::now();
        loop {
            fadvise(&file.fd, 0, None, Advice::DontNeed).unwrap();
            let stays = file.access == FileAccess::NoWait && is_resident(file, 1 << 20);
            if !stays || start.elapsed() > Duration::from_secs(10) {
                break;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn what_was_evicted_is_not_resident_until_it_is_warmed() {
        // Where nothing is evicted, as in a tmpfs, this shows less.
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        for bytes in [1, 4096, 300_000] {
            let file = file(root.path(), bytes);
            assert!(is_resident(&file, 1 << 20) && can_be_read(&file, 0..bytes as u64));
            evict(&file);
            if file.access == FileAccess::NoWait {
                assert!(!is_resident(&file, 1 << 20), "{bytes}");
                assert!(!can_be_read(&file, 0..bytes as u64), "{bytes}");
            }
            warm(&file, 1 << 20).unwrap();
            assert!(is_resident(&file, 1 << 20), "{bytes}");
        }
    }

    #[test]
    fn a_window_of_nothing_warms_nothing() {
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = file(root.path(), 300_000);
        evict(&file);
        let before = pages_in_memory(&file.fd, 0, 1).unwrap();
        warm(&file, 0).unwrap();
        assert!(is_resident(&file, 0));
        assert_eq!(pages_in_memory(&file.fd, 0, 1).unwrap(), before);
    }

    /// Where /var/tmp has no times of access, this shows nothing.
    #[test]
    fn a_look_leaves_the_time_of_the_last_access() {
        let root = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = file(root.path(), 5000);
        let path = root.path().join("f");
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let times = FileTimes::new().set_accessed(long_ago);
        File::open(&path).unwrap().set_times(times).unwrap();
        assert!(is_resident(&file, 1 << 20));
        assert_eq!(fs::metadata(&path).unwrap().accessed().unwrap(), long_ago);
    }

    #[test]
    fn an_empty_file_is_resident() {
        let root = tempfile::tempdir().unwrap();
        assert!(is_resident(&file(root.path(), 0), 1 << 20));
    }
}
