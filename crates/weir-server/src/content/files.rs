//! Files of a directory, never outside it. The worker itself only takes what is in memory; the
//! rest is opened and read on other threads.

use std::cell::RefCell;
use std::ffi::CString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, IoSliceMut};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat2};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use weir_http::Status;
use weir_http::conditions::{ETag, Validators};
use weir_http::path::SitePath;
use weir_sched::ObjectId;

use super::{Body, Found, Object, ReadError};
use crate::clock;

/// How often a name is looked up anew when it was renamed meanwhile (RESOLVE_BENEATH, openat2(2)).
const RENAMED: usize = 8;

/// A directory that is served.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    directory: RefCell<Arc<OwnedFd>>,
}

#[derive(Debug)]
struct Opened {
    file: OwnedFd,
    stat: Stat,
}

impl Root {
    pub(crate) fn open(path: &Path) -> io::Result<Root> {
        let directory = RefCell::new(Arc::new(open_directory(path)?));
        Ok(Root { path: path.to_owned(), directory })
    }

    pub(crate) async fn find(&self, path: &SitePath) -> Result<Found, Status> {
        let opened = self.open_name(path.as_bytes()).await?;
        match FileType::from_raw_mode(opened.stat.st_mode) {
            FileType::RegularFile if !path.wants_directory() => Ok(object(opened, path.as_bytes())),
            FileType::RegularFile => Err(Status::NotFound),
            FileType::Directory if path.wants_directory() => self.index(path.as_bytes()).await,
            FileType::Directory => Ok(Found::Directory),
            _ => Err(Status::Forbidden),
        }
    }

    async fn index(&self, directory: &[u8]) -> Result<Found, Status> {
        let mut name = directory.to_vec();
        if !name.is_empty() {
            name.push(b'/');
        }
        name.extend_from_slice(b"index.html");
        let opened = self.open_name(&name).await.map_err(|status| match status {
            // There is no list of what the directory holds.
            Status::NotFound => Status::Forbidden,
            other => other,
        })?;
        match FileType::from_raw_mode(opened.stat.st_mode) {
            FileType::RegularFile => Ok(object(opened, &name)),
            _ => Err(Status::Forbidden),
        }
    }

    async fn open_name(&self, name: &[u8]) -> Result<Opened, Status> {
        let name = if name.is_empty() { b"." } else { name };
        let name = CString::new(name).map_err(|_| Status::BadRequest)?;
        match self.look_up(&name).await {
            Err(Errno::NOENT) if self.has_vanished() => {
                let directory = open_directory(&self.path).map_err(|error| {
                    tracing::warn!("{} has vanished: {error}", self.path.display());
                    Status::ServiceUnavailable
                })?;
                self.directory.replace(Arc::new(directory));
                self.look_up(&name).await.map_err(status)
            }
            found => found.map_err(status),
        }
    }

    async fn look_up(&self, name: &CString) -> Result<Opened, Errno> {
        let directory = self.directory.borrow().clone();
        match open_beneath(&directory, name, ResolveFlags::CACHED) {
            Err(Errno::AGAIN) => {}
            found => return found,
        }
        let name = name.clone();
        on_another_thread(move || {
            let mut found = Err(Errno::AGAIN);
            for _ in 0..RENAMED {
                found = open_beneath(&directory, &name, ResolveFlags::empty());
                if !matches!(found, Err(Errno::AGAIN)) {
                    break;
                }
            }
            found
        })
        .await
        .unwrap_or(Err(Errno::IO))
    }

    /// Whether the directory was removed while it was served.
    fn has_vanished(&self) -> bool {
        fstat(&**self.directory.borrow()).is_ok_and(|stat| stat.st_nlink == 0)
    }
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?)
}

fn open_beneath(directory: &OwnedFd, name: &CString, how: ResolveFlags) -> Result<Opened, Errno> {
    // NONBLOCK: a FIFO must not wait for its writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | how;
    let file = openat2(directory, name.as_c_str(), flags, Mode::empty(), resolve)?;
    let stat = fstat(&file)?;
    Ok(Opened { file, stat })
}

fn object(opened: Opened, name: &[u8]) -> Found {
    let Opened { file, stat } = opened;
    let length = u64::try_from(stat.st_size).unwrap_or(0);
    let modified = stat.st_mtime;
    let mut identity = DefaultHasher::new();
    (stat.st_dev, stat.st_ino).hash(&mut identity);
    Found::Object(Object {
        length,
        media: weir_http::media::content_type(name),
        validators: Some(Validators {
            etag: ETag::new(modified, stat.st_mtime_nsec as u32, length),
            // Never later than Date (RFC 9110 section 8.8.2.1).
            modified: Some(modified.min(clock::unix_seconds())),
        }),
        id: ObjectId(identity.finish()),
        body: Body::File(Arc::new(file)),
    })
}

fn status(error: Errno) -> Status {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Status::NotFound,
        // XDEV: a symbolic link that leads outside.
        Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::XDEV | Errno::NXIO => Status::Forbidden,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => Status::ServiceUnavailable,
        other => {
            tracing::error!("cannot open a file: {other}");
            Status::InternalServerError
        }
    }
}

/// Appends what of `count` bytes at `offset` is in the page cache, all or nothing.
pub(super) fn read_resident(
    file: &OwnedFd,
    offset: u64,
    count: usize,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    let start = out.len();
    out.resize(start + count, 0);
    let result = fill(&mut out[start..], |buffer, done| {
        let mut buffers = [IoSliceMut::new(buffer)];
        preadv2(file, &mut buffers, offset + done, ReadWriteFlags::NOWAIT)
    });
    out.truncate(start + *result.as_ref().unwrap_or(&0));
    match result {
        Ok(_) => Ok(()),
        // OPNOTSUPP: tmpfs and overlayfs do not tell whether they would block.
        Err(Errno::AGAIN | Errno::OPNOTSUPP) => Err(ReadError::Cold),
        Err(error) => Err(ReadError::Failed(error.into())),
    }
}

pub(super) async fn read_from_disk(
    file: Arc<OwnedFd>,
    offset: u64,
    count: usize,
) -> io::Result<Vec<u8>> {
    on_another_thread(move || {
        let mut out = vec![0; count];
        let done = fill(&mut out, |buffer, done| rustix::io::pread(&*file, buffer, offset + done))?;
        out.truncate(done);
        Ok(out)
    })
    .await?
}

/// Reads until the buffer is full or the file ends; tells how much there was.
fn fill(
    buffer: &mut [u8],
    mut read: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let mut done = 0;
    while done < buffer.len() {
        match read(&mut buffer[done..], done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

async fn on_another_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| io::Error::other("a helper thread ended"))
}
