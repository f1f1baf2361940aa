//! A file system of which another process has the files, and does not answer: the opener's own thread never
//! asks it, and nobody waits for a file of it that is closed. These tests need root and /dev/fuse.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, Request,
};
use weir_opener::protocol::Found;

use crate::support::client::Client;
use crate::support::process::Process;
use crate::support::{eventually, open_directory};

const FILE: INodeNo = INodeNo(2);
const CONTENT: &[u8] = b"from afar";

/// The name `f` holds for ever, the name `anew` and metadata of the file not at all.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// A directory with a file that has the names `f` and `anew`.
struct Remote(Questions);

/// What is left unanswered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Silent {
    Metadata,
    Reads,
    Closes,
}

/// What was asked since it is silent.
struct Unanswered {
    silent: Silent,
    metadata: Vec<ReplyAttr>,
    reads: Vec<ReplyData>,
    closes: Vec<ReplyEmpty>,
}

/// `None`: all is answered.
#[derive(Clone, Default)]
struct Questions(Arc<Mutex<Option<Unanswered>>>);

/// The file system is silent as long as it lives.
struct Silence(Questions);

impl Questions {
    fn leave_unanswered(&self, silent: Silent) -> Silence {
        let (metadata, reads, closes) = (Vec::new(), Vec::new(), Vec::new());
        *self.0.lock().unwrap() = Some(Unanswered { silent, metadata, reads, closes });
        Silence(self.clone())
    }

    /// Reads and closes that wait for an answer.
    fn waiting(&self) -> usize {
        let unanswered = self.0.lock().unwrap();
        unanswered.as_ref().map_or(0, |asked| asked.reads.len() + asked.closes.len())
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let Some(unanswered) = self.0.0.lock().unwrap().take() else { return };
        unanswered.metadata.into_iter().for_each(|question| question.error(Errno::EIO));
        // They began at the beginning: all fits into a page.
        unanswered.reads.into_iter().for_each(|read| read.data(CONTENT));
        unanswered.closes.into_iter().for_each(ReplyEmpty::ok);
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
        let holds = match name.to_str() {
            Some("f") if parent == INodeNo::ROOT => FOREVER,
            Some("anew") if parent == INodeNo::ROOT => Duration::ZERO,
            _ => return reply.error(Errno::ENOENT),
        };
        reply.entry_with_ttls(&Duration::ZERO, &holds, &attributes(FILE), Generation(0));
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let ttl = if inode == FILE { Duration::ZERO } else { FOREVER };
        match &mut *self.0.0.lock().unwrap() {
            Some(questions) if questions.silent == Silent::Metadata => {
                questions.metadata.push(reply);
            }
            _ => reply.attr(&ttl, &attributes(inode)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        match &mut *self.0.0.lock().unwrap() {
            Some(questions) if questions.silent == Silent::Closes => questions.closes.push(reply),
            _ => reply.ok(),
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
        match &mut *self.0.0.lock().unwrap() {
            Some(questions) if questions.silent == Silent::Reads => questions.reads.push(reply),
            _ => reply.data(&rest[..rest.len().min(size as usize)]),
        }
    }
}

/// A directory with the file `local`, and the remote ones in `remote`.
fn site(root: &Path) -> (Questions, BackgroundSession) {
    fs::create_dir_all(root.join("remote")).unwrap();
    fs::write(root.join("local"), "local").unwrap();
    let questions = Questions::default();
    let remote = Remote(questions.clone());
    let session = fuser::spawn_mount(remote, root.join("remote"), &fuser::Config::default());
    (questions, session.expect("it can be mounted: this test needs root and /dev/fuse"))
}

#[test]
fn who_does_not_answer_for_metadata_keeps_nobody_waiting() {
    let directory = open_directory();
    let root = directory.path().join("root");
    let (questions, session) = site(&root);
    let opener = Process::start(&directory.path().join("socket"), &root, 0);
    let mut client = Client::connect(&opener.socket).unwrap();
    assert_eq!(client.read(&root.join("local")).unwrap(), b"local");
    assert!(client.found(&root.join("remote/f")).1.is_some());
    let silence = questions.leave_unanswered(Silent::Metadata);
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

/// A question that joins one whose helper has looked the name up long ago is about the file of now.
#[test]
fn a_file_that_was_replaced_while_its_read_hangs_is_the_new_one() {
    let directory = open_directory();
    let root = directory.path().join("root");
    let (questions, session) = site(&root);
    let name = root.join("link");
    symlink("remote/f", &name).unwrap();
    let mut opener = Process::start(&directory.path().join("socket"), &root, 0);
    let mut before = Client::connect(&opener.socket).unwrap();
    let mut after = Client::connect(&opener.socket).unwrap();
    let silence = questions.leave_unanswered(Silent::Reads);
    before.ask(&name);
    eventually("the remote file is being read", || questions.waiting() > 0);
    fs::rename(root.join("local"), &name).unwrap();
    after.ask(&name);
    eventually("both wait for the same helper", || opener.counts()["merged"] == 1);
    drop(silence);
    let length = |client: &mut Client| {
        let (answer, descriptor) = client.answer();
        assert_eq!(answer.found, Found::File);
        fs::File::from(descriptor.unwrap()).metadata().unwrap().len()
    };
    assert_eq!(length(&mut before), CONTENT.len() as u64);
    assert_eq!(length(&mut after), "local".len() as u64);
    drop((before, after, opener));
    session.umount_and_join().unwrap();
}

/// What the opener keeps no longer takes no helper from those who wait for other files.
#[test]
fn a_close_that_is_not_answered_takes_no_helper() {
    let directory = open_directory();
    let root = directory.path().join("root");
    let (questions, session) = site(&root);
    symlink("remote/f", root.join("link")).unwrap();
    let opener = Process::start(&directory.path().join("socket"), &root, 0);
    let mut client = Client::connect(&opener.socket).unwrap();
    // Open here, too, until all is answered.
    let (_, remote) = client.found(&root.join("link"));
    assert!(remote.is_some());
    let silence = questions.leave_unanswered(Silent::Closes);
    fs::rename(root.join("local"), root.join("link")).unwrap();
    assert_eq!(client.read(&root.join("link")).unwrap(), b"local");
    eventually("the remote file is being closed", || questions.waiting() == 1);
    // It was never asked for: a helper has to open it.
    fs::write(root.join("cold"), "cold").unwrap();
    assert_eq!(client.read(&root.join("cold")).unwrap(), b"cold");
    drop(silence);
    drop((remote, client, opener));
    session.umount_and_join().unwrap();
}

/// What cannot be closed is not opened on and on.
#[test]
fn where_many_closes_are_not_answered_no_more_is_opened() {
    let directory = open_directory();
    let root = directory.path().join("root");
    let (questions, session) = site(&root);
    let opener = Process::start(&directory.path().join("socket"), &root, 0);
    let mut client = Client::connect(&opener.socket).unwrap();
    let name = root.join("remote/anew");
    let mut open = vec![client.found(&name).1.unwrap()];
    let before = opener.descriptors();
    let silence = questions.leave_unanswered(Silent::Closes);
    let busy = loop {
        match client.found(&name) {
            (_, Some(descriptor)) => open.push(descriptor),
            (found, None) => break found,
        }
        assert!(open.len() < 500, "it opens on and on");
    };
    assert!(matches!(busy, Found::NotTold(16)), "{busy:?} is not EBUSY");
    assert!(open.len() > 64 && opener.descriptors() < before + 100);
    // Others are served.
    assert_eq!(client.read(&root.join("local")).unwrap(), b"local");
    drop(silence);
    eventually("it is opened again", || client.found(&name).1.is_some());
    drop((open, client, opener));
    session.umount_and_join().unwrap();
}

/// A helper opens a file anew that is kept already: the new descriptor is of no use.
#[test]
fn the_opener_does_not_wait_for_the_close_of_what_it_has_twice() {
    let directory = open_directory();
    let root = directory.path().join("root");
    let (questions, session) = site(&root);
    let opener = Process::start(&directory.path().join("socket"), &root, 0);
    let mut client = Client::connect(&opener.socket).unwrap();
    let (_, first) = client.found(&root.join("remote/anew"));
    let silence = questions.leave_unanswered(Silent::Closes);
    let (_, second) = client.found(&root.join("remote/anew"));
    assert!(first.is_some() && second.is_some());
    eventually("one of them is being closed", || questions.waiting() == 1);
    assert_eq!(client.read(&root.join("local")).unwrap(), b"local");
    drop(silence);
    drop((first, second, client, opener));
    session.umount_and_join().unwrap();
}
