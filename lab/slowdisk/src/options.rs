//! The options of a disk: size, file system, backing, model. [`crate::Disk`] mounts by them.

use std::path::PathBuf;

use crate::service::Model;

/// The file system that is made on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4, by `mkfs.ext4` (Debian package e2fsprogs).
    Ext4,
    /// xfs, by `mkfs.xfs` (Debian package xfsprogs); at least 300 MB large.
    Xfs,
}

impl FileSystem {
    /// As mount(8) calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
        }
    }

    /// The command that makes it, with its Debian package.
    pub(crate) fn maker(self) -> (&'static str, &'static str) {
        match self {
            FileSystem::Ext4 => ("mkfs.ext4", "e2fsprogs"),
            FileSystem::Xfs => ("mkfs.xfs", "xfsprogs"),
        }
    }

    /// Nothing is discarded, for the file is empty already; and nothing is left
    /// for the kernel to initialise later, in the middle of a measurement.
    pub(crate) fn maker_options(self) -> &'static [&'static str] {
        match self {
            FileSystem::Ext4 => {
                &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"]
            }
            FileSystem::Xfs => &["-q", "-f", "-K"],
        }
    }
}

/// Where the bytes of the disk are kept. Either way only what is written takes
/// space, and reading it back should take no time of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backing {
    /// Anonymous memory.
    Memory,
    /// A sparse file without a name in this directory, which needs a file system
    /// that can punch holes. Reads that miss the page cache come on top of the model.
    Directory(PathBuf),
}

/// What a disk is to be like.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory on which the file system is mounted; made if it is missing.
    pub at: PathBuf,
    /// Size of the disk in bytes, rounded down to a multiple of 4096.
    pub bytes: u64,
    /// The file system made on it.
    pub file_system: FileSystem,
    /// More arguments for mkfs, before the device.
    pub format_options: Vec<String>,
    /// How long operations take once the file system is mounted. It is always
    /// made without delay. `None`: no delay until [`crate::Disk::set_model`].
    pub model: Option<Model>,
    /// How far the kernel reads ahead, in KiB.
    pub read_ahead: u32,
    /// Mount with `noatime`, so that reads never cause writes.
    pub no_access_times: bool,
    /// Where the bytes are kept.
    pub backing: Backing,
}

impl Options {
    /// A disk of `bytes` bytes at `at`, in memory, with ext4, read ahead of
    /// 128 KiB as disks have by default, access times as usual, and no delays.
    pub fn new(at: impl Into<PathBuf>, bytes: u64) -> Options {
        Options {
            at: at.into(),
            bytes,
            file_system: FileSystem::Ext4,
            format_options: Vec::new(),
            model: None,
            read_ahead: 128,
            no_access_times: false,
            backing: Backing::Memory,
        }
    }
}
