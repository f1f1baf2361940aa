//! A file system of which another process has the files, and does not answer: the opener's own thread never
//! asks it. This test needs root and /dev/fuse.

use std::ffi::OsStr;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, LockOwner, OpenFlags,
    ReplyAttr, ReplyData, ReplyEntry, Request,
};

use crate::support::client::Client;
use crate::support::open_directory;
use crate::support::process::Process;

const FILE: INodeNo = INodeNo(2);
const CONTENT: &[u8] = b"from afar";

/// Names hold for ever, metadata of the file not at all.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// A directory with the file `f`.
struct Remote(Questions);

/// What was asked since it is silent; `None`: all is answered.
#[derive(Clone, Default)]
struct Questions(Arc<Mutex<Option<Vec<ReplyAttr>>>>);

/// The file system is silent as long as it lives.
struct Silence(Questions);

impl Questions {
    fn leave_unanswered(&self) -> Silence {
        *self.0.lock().unwrap() = Some(Vec::new());
        Silence(self.clone())
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        for question in self.0.0.lock().unwrap().take().into_iter().flatten() {
            question.error(Errno::EIO);
        }
    }
}

fn attributes(inode: INodeNo) -> FileAttr {
    let file = inode == FILE;
    FileAttr {
        ino: inode,
        size: if file { CONTENT.len() as u64 } else { 0 },
        blocks: 1,
        atime: SystemTime::UNIX_EPOCH,
        mtime: SystemTime::UNIX_EPOCH,
        ctime: SystemTime::UNIX_EPOCH,
        crtime: SystemTime::UNIX_EPOCH,
        kind: if file { FileType::RegularFile } else { FileType::Directory },
        perm: if file { 0o644 } else { 0o755 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Remote {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == "f" {
            let attributes = attributes(FILE);
            reply.entry_with_ttls(&Duration::ZERO, &FOREVER, &attributes, Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let ttl = if inode == FILE { Duration::ZERO } else { FOREVER };
        match &mut *self.0.0.lock().unwrap() {
            Some(questions) => questions.push(reply),
            None => reply.attr(&ttl, &attributes(inode)),
        }
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
        let rest = CONTENT.get(offset as usize..).unwrap_or_default();
        reply.data(&rest[..rest.len().min(size as usize)]);
    }
}

#[test]
fn who_does_not_answer_for_metadata_keeps_nobody_waiting() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir_all(root.join("remote")).unwrap();
    fs::write(root.join("local"), "local").unwrap();
    let questions = Questions::default();
    let remote = Remote(questions.clone());
    let session = fuser::spawn_mount(remote, root.join("remote"), &fuser::Config::default());
    let session = session.expect("it can be mounted: this test needs root and /dev/fuse");
    let opener = Process::start(&directory.path().join("socket"), &root, 0);
    let mut client = Client::connect(&opener.socket).unwrap();
    assert_eq!(client.read(&root.join("local")).unwrap(), b"local");
    assert!(client.found(&root.join("remote/f")).1.is_some());
    let silence = questions.leave_unanswered();
    let mut waiting = Client::connect(&opener.socket).unwrap();
    for _ in 0..10 {
        waiting.ask(&root.join("remote/f"));
        assert_eq!(client.read(&root.join("local")).unwrap(), b"local");
    }
    drop(silence);
    // They have descriptors of its file, received or not.
    drop((waiting, client, opener));
    session.umount_and_join().unwrap();
}
