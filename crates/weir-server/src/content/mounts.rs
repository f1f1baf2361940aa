//! The mount table: whether it has changed, and what is mounted where a site is. The site asks when work is
//! refused because something hangs: another file system may have been mounted in its place.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, absolute};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

/// A line for each mount (proc_pid_mountinfo(5)).
const TABLE: &str = "/proc/self/mountinfo";

/// The first fields of a line say what is mounted, and the last of these says where. Options follow.
const FIELDS: usize = 5;

/// How often the table was seen to have changed since the first call. Does not wait.
pub(super) fn changes() -> u64 {
    // `None`: /proc is not mounted.
    static WATCHED: OnceLock<Option<OwnedFd>> = OnceLock::new();
    static CHANGES: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let watched = WATCHED.get_or_init(|| open(TABLE, flags, Mode::empty()).ok());
    if let Some(table) = watched {
        // Said once after a change.
        let mut asked = [PollFd::new(table, PollFlags::PRI)];
        if poll(&mut asked, Some(&Timespec::default())).is_ok_and(|changed| changed > 0) {
            CHANGES.fetch_add(1, Ordering::Relaxed);
        }
    }
    CHANGES.load(Ordering::Relaxed)
}

/// Where a directory is, without links, as the kernel says without asking its file system. Empty: it does
/// not say.
pub(super) fn path_of(directory: &OwnedFd) -> Arc<[u8]> {
    let path = fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    path.map(|path| path.as_os_str().as_bytes().into()).unwrap_or_default()
}

/// What is mounted where a site is: numbers that are the same wherever the same was read in the table. While
/// something hangs in a mount, no other gets the numbers by which the kernel tells it apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mounts {
    /// Where the root was, without links.
    root: Arc<[u8]>,
    /// So often the table had changed before.
    changes: u64,
    /// Stands for what is mounted at the root and above it.
    above: u64,
    /// Stands for what is mounted below the root, by the first segment of its name there.
    parts: HashMap<Box<[u8]>, u64>,
}

impl Mounts {
    /// Reads it for a site whose path is `path` and leads to `root`. May wait: some file systems look up on
    /// their disk what the table says of them.
    pub(super) fn around(path: &Path, root: &Arc<[u8]>) -> Result<Mounts, Errno> {
        // First: a change while the table is read is one that is still to be looked at.
        let changes = changes();
        let table =
            fs::read(TABLE).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        // With links and without: what is mounted on the way counts, too.
        let path = absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let mounts = Mounts::of(&table, &[root, path.as_os_str().as_bytes()]);
        Ok(Mounts { root: root.clone(), changes, ..mounts })
    }

    /// What this table says of the directory that has these paths.
    fn of(table: &[u8], paths: &[&[u8]]) -> Mounts {
        let paths = || paths.iter().copied().filter(|path| !path.is_empty());
        let mut above = DefaultHasher::new();
        let mut parts = HashMap::<Box<[u8]>, DefaultHasher>::new();
        for line in table.split(|&byte| byte == b'\n') {
            let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').take(FIELDS).collect();
            let Some(at) = fields.get(FIELDS - 1).map(|at| unescaped(at)) else { continue };
            if paths().any(|path| below(path, &at).is_some()) {
                fields.hash(&mut above);
            } else if let Some(name) = paths().find_map(|path| below(&at, path)) {
                fields.hash(parts.entry(first(name).into()).or_default());
            }
        }
        let parts = parts.into_iter().map(|(part, hasher)| (part, hasher.finish())).collect();
        Mounts { above: above.finish(), parts, ..Mounts::default() }
    }

    /// Stands for what is mounted at the root and above it.
    pub(super) fn above(&self) -> u64 {
        self.above
    }

    /// Stands for what is mounted at names that begin with this segment, if anything is.
    pub(super) fn part(&self, first: &[u8]) -> Option<u64> {
        self.parts.get(first).copied()
    }

    /// Where the root was, without links.
    pub(super) fn root(&self) -> &[u8] {
        &self.root
    }

    /// So often the table had changed before.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }
}

/// The first segment of a name.
pub(super) fn first(name: &[u8]) -> &[u8] {
    name.split(|&byte| byte == b'/').next().unwrap_or(name)
}

/// The name of a path below `outer`, if it is there; that of `outer` itself is empty.
fn below<'a>(path: &'a [u8], outer: &[u8]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(outer.strip_suffix(b"/").unwrap_or(outer))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
}

/// A path of the table: spaces, tabs, line feeds, and backslashes are there as octal numbers.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        let escape = (byte == b'\\').then(|| after.split_at_checked(3)).flatten();
        let number = escape.and_then(|(digits, after)| {
            let digits = str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 8).ok()?, after))
        });
        let (byte, after) = number.unwrap_or((byte, after));
        out.push(byte);
        rest = after;
    }
    out
}

/// Mounts that nobody has read. `parts`: segments with what stands for what is mounted there.
#[cfg(test)]
pub(super) fn made(root: &[u8], changes: u64, above: u64, parts: &[(&str, u64)]) -> Arc<Mounts> {
    let parts = parts.iter().map(|(part, number)| (part.as_bytes().into(), *number)).collect();
    Arc::new(Mounts { root: root.into(), changes, above, parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
        21 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        30 21 8:2 / /srv rw - ext4 /dev/sda2 rw\n\
        31 30 0:50 / /srv/www/media rw shared:9 - nfs host:/media rw\n\
        32 30 0:51 / /srv/www\\040two/media rw - nfs host:/media rw\n\
        33 21 0:52 / /run/user/0 rw - tmpfs tmpfs rw\n";

    /// What becomes other numbers for this directory when `before` becomes `after`: `/` stands for what is
    /// above.
    fn told(path: &str, before: &str, after: &str) -> Vec<String> {
        assert!(BEFORE.contains(before));
        let of = |table: &str| Mounts::of(table.as_bytes(), &[b"", path.as_bytes()]);
        let (old, new) = (of(BEFORE), of(&BEFORE.replace(before, after)));
        let mut parts: Vec<_> = old.parts.keys().chain(new.parts.keys()).collect();
        parts.sort();
        parts.dedup();
        let changed = parts.into_iter().filter(|part| old.part(part) != new.part(part));
        let above = (old.above != new.above).then(|| "/".to_owned());
        above.into_iter().chain(changed.map(|part| String::from_utf8_lossy(part).into())).collect()
    }

    #[test]
    fn what_is_mounted_at_a_directory_and_above_it_counts_for_all_and_below_it_for_a_part() {
        let remounted = |path| told(path, "31 30 0:50", "34 30 0:53");
        for path in ["/srv/www/media", "/srv/www/media/", "/srv/www/media/a"] {
            assert_eq!(remounted(path), ["/"], "{path}");
        }
        for (path, part) in [("/", "srv"), ("/srv", "www"), ("/srv/www", "media")] {
            assert_eq!(remounted(path), [part], "{path}");
        }
        assert_eq!(remounted("/srv/www/"), ["media"]);
        for path in ["/srv/ww", "/srv/www/med", "/srv/www2", "/srv/www two", "/run/user/0"] {
            assert!(remounted(path).is_empty(), "{path}");
        }
        assert_eq!(told("/srv/www", "30 21 8:2", "35 21 8:2"), ["/"], "it is above");
        assert_eq!(told("/srv/www two", "32 30 0:51", "36 30 0:54"), ["media"]);
        assert_eq!(told("/srv", "32 30 0:51", "36 30 0:54"), ["www two"], "a space is escaped");
        let unmounted = "33 21 0:52 / /run/user/0 rw - tmpfs tmpfs rw\n";
        assert_eq!(told("/run/user", unmounted, ""), ["0"]);
        assert!(told("/srv/www", unmounted, "").is_empty());
        assert!(told("/srv/www", "rw shared:9", "ro shared:8").is_empty(), "options do not count");
    }

    #[test]
    fn both_paths_of_a_directory_count() {
        let of = |paths: &[&[u8]]| Mounts::of(BEFORE.as_bytes(), paths);
        let (linked, plain) = (of(&[b"/srv/www", b"/run/user/0/www"]), of(&[b"/srv/www"]));
        assert_ne!(linked.above, plain.above);
        assert_eq!(linked.parts, plain.parts);
    }

    #[test]
    fn the_table_can_be_read() {
        let before = changes();
        let at: Arc<[u8]> = path_of(&open("/", OFlags::PATH, Mode::empty()).unwrap());
        assert_eq!(*at, *b"/");
        let read = Mounts::around(Path::new("/"), &at).unwrap();
        assert_ne!(read.above(), Mounts::of(b"", &[b"/"]).above());
        assert!(read.part(b"proc").is_some());
        assert!(read.root() == b"/" && read.changes() >= before && changes() >= read.changes());
    }
}
