//! The FUSE file system: a directory with one file, the disk. Its reads and writes go to the
//! engine, which says when they are answered; all else is answered at once. The loop device sits on
//! that file.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, WriteFlags,
};

use crate::backing::Store;
use crate::engine::{Engine, Kind};

/// The name of the file.
pub(crate) const FILE: &str = "disk";

/// The largest operation: the kernel's own limit (`fs.fuse.max_pages_limit`) by default.
pub(crate) const LARGEST: u32 = 1 << 20;

/// More than the loop device ever has under way (128), even in pieces.
const MOST_UNDER_WAY: u16 = 1024;

const DISK: INodeNo = INodeNo(2);

/// Nothing but the content ever changes.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// The file system.
pub(crate) struct Device {
    engine: Arc<Engine>,
    store: Store,
}

impl Device {
    /// A file with the bytes of `store`, whose answers `engine` sends.
    pub(crate) fn new(engine: Arc<Engine>, store: Store) -> Device {
        Device { engine, store }
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let file = inode == DISK;
        let bytes = if file { self.store.bytes() } else { 0 };
        FileAttr {
            ino: inode,
            size: bytes,
            blocks: bytes / 512,
            atime: SystemTime::UNIX_EPOCH,
            mtime: SystemTime::UNIX_EPOCH,
            ctime: SystemTime::UNIX_EPOCH,
            crtime: SystemTime::UNIX_EPOCH,
            kind: if file { FileType::RegularFile } else { FileType::Directory },
            perm: if file { 0o600 } else { 0o700 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for Device {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Without asynchronous direct I/O the loop device would have one operation
        // under way at a time; without many pages each would be cut at 128 KiB.
        let needed = InitFlags::FUSE_ASYNC_DIO | InitFlags::FUSE_MAX_PAGES;
        let unsupported = |_| std::io::Error::from(std::io::ErrorKind::Unsupported);
        config.add_capabilities(needed).map_err(unsupported)?;
        config.set_max_write(LARGEST).map_err(|_| std::io::ErrorKind::InvalidInput)?;
        for set in [KernelConfig::set_max_background, KernelConfig::set_congestion_threshold] {
            set(config, MOST_UNDER_WAY).map_err(|_| std::io::ErrorKind::InvalidInput)?;
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == FILE {
            reply.entry(&FOREVER, &self.attributes(DISK), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // The page cache of the loop device is the only one there should be.
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let now = Instant::now();
        // Now rather than when it is due: the kernel never has a read and a write of
        // the same place under way, and the answering thread has enough to do.
        let data = self.store.read(offset, size as usize);
        let answer = move |fail: bool| match data {
            Ok(data) if !fail => reply.data(&data),
            _ => reply.error(Errno::EIO),
        };
        self.engine.accept(now, Kind::Read, offset, size.into(), Box::new(answer));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let now = Instant::now();
        let written = self.store.write(offset, data);
        // The kernel sends no more than `LARGEST`.
        let size = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let answer = move |_: bool| match written {
            Ok(()) => reply.written(size),
            Err(_) => reply.error(Errno::EIO),
        };
        self.engine.accept(now, Kind::Write, offset, size.into(), Box::new(answer));
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        // The kernel takes this for success and never asks again. A write that is
        // answered is on the disk: there is nothing to flush.
        reply.error(Errno::ENOSYS);
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        // Discards, and writes of zeros: both leave a hole here.
        const KEEP_SIZE: i32 = 0x01;
        const PUNCH_HOLE: i32 = 0x02;
        const ZERO_RANGE: i32 = 0x10;
        let hole = mode == KEEP_SIZE | PUNCH_HOLE || mode & !KEEP_SIZE == ZERO_RANGE;
        if !hole {
            return reply.error(Errno::EOPNOTSUPP);
        }
        match self.store.clear(offset, length) {
            Ok(()) => reply.ok(),
            Err(_) => reply.error(Errno::EIO),
        }
    }
}
