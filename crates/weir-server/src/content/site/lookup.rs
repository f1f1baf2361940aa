//! Looks up a name that is not in the cache, or no longer valid: opens it from memory or by a helper, and
//! finds the index of a directory. Used by the site.

use std::ffi::CString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;
use rustix::fs::FileType;
use rustix::io::Errno;
use weir_http::message::path::SitePath;
use weir_sched::Time;

use super::{Inner, OPENING};
use crate::content::file::{FetchError, File};
use crate::content::mount::Access;
use crate::content::names::{Entry, Known};
use crate::content::object::Found;
use crate::content::open::{self, Opened};
use crate::content::root::Look;
use crate::content::work::{DiskResult, Key};
use crate::disk::{DiskError, Piece};
use crate::runtime::turn;

/// Names of so many bytes lead nowhere on Linux (PATH_MAX, with the byte that ends them): there is
/// nothing to look up, nor to remember.
const TOO_LONG: usize = 4096;

impl Inner {
    /// What `path` stands for; `known` is what was known of it, `since` when it was asked for.
    pub(super) async fn look_up(
        &self,
        path: &SitePath<'_>,
        known: Option<Rc<Entry>>,
        since: Time,
    ) -> Result<Found, StatusCode> {
        let name = path.as_bytes();
        if name.len() >= TOO_LONG {
            return Err(StatusCode::NOT_FOUND);
        }
        let opened = match self.open_name(name, since).await {
            Ok(opened) => opened,
            Err(status) => return Err(self.learn_error(path, status)),
        };
        match opened.kind {
            FileType::RegularFile if !path.wants_directory() => {
                self.learn_file(path, name.into(), &opened, known, since).await
            }
            FileType::RegularFile => Err(self.learn_error(path, StatusCode::NOT_FOUND)),
            FileType::Directory if path.wants_directory() => self.index(path, known, since).await,
            FileType::Directory => {
                self.names.learn(path, Known::Directory, turn::began());
                Ok(Found::Directory)
            }
            _ => Err(self.learn_error(path, StatusCode::FORBIDDEN)),
        }
    }

    async fn index(
        &self,
        path: &SitePath<'_>,
        known: Option<Rc<Entry>>,
        since: Time,
    ) -> Result<Found, StatusCode> {
        let mut name = path.as_bytes().to_vec();
        if !name.is_empty() {
            name.push(b'/');
        }
        name.extend_from_slice(b"index.html");
        let opened = match self.open_name(&name, since).await {
            Ok(opened) => opened,
            // There is no list of what the directory holds.
            Err(StatusCode::NOT_FOUND) => return Err(self.learn_error(path, StatusCode::FORBIDDEN)),
            Err(status) => return Err(self.learn_error(path, status)),
        };
        match opened.kind {
            FileType::RegularFile => {
                self.learn_file(path, name.into(), &opened, known, since).await
            }
            _ => Err(self.learn_error(path, StatusCode::FORBIDDEN)),
        }
    }

    /// Remembers that a name leads nowhere, but not that something went wrong.
    fn learn_error(&self, path: &SitePath<'_>, status: StatusCode) -> StatusCode {
        if matches!(status, StatusCode::NOT_FOUND | StatusCode::FORBIDDEN) {
            self.names.learn(path, Known::Error(status), turn::began());
        }
        status
    }

    /// Opens a name, and looks whether the root is still there if there is no such name.
    async fn open_name(&self, name: &[u8], since: Time) -> Result<Arc<Opened>, StatusCode> {
        let opened = self.open_below_root(name, since).await?;
        if !matches!(opened, Err(Errno::NOENT)) {
            return opened.map_err(|error| self.failed(name, error));
        }
        match self.look_for_root(since).await {
            Look::Same | Look::Unknown => Err(StatusCode::NOT_FOUND),
            Look::Vanished => Err(StatusCode::SERVICE_UNAVAILABLE),
            Look::Changed => {
                let opened = self.open_below_root(name, since).await?;
                opened.map_err(|error| self.failed(name, error))
            }
        }
    }

    /// Opens a name from memory or by a helper.
    async fn open_below_root(
        &self,
        name: &[u8],
        since: Time,
    ) -> Result<Result<Arc<Opened>, Errno>, StatusCode> {
        let name = if name.is_empty() { b"." } else { name };
        let c_name = CString::new(name).map_err(|_| StatusCode::BAD_REQUEST)?;
        let directory = self.root.directory();
        if self.work.opens_in_worker() {
            let opened = self.spent_on_opening(|| open::from_disk(&directory, name, false));
            return Ok(opened.map(Arc::new));
        }
        // Where reading is for helpers, they open as well: that is one job instead of two.
        let mut opened = match self.access.get() {
            Some(Access::Blocking) => Err(Errno::AGAIN),
            _ => self.spent_on_opening(|| open::from_memory(&directory, &c_name)),
        };
        if matches!(opened, Err(Errno::MFILE | Errno::NFILE)) {
            self.open.clear();
            opened = open::from_memory(&directory, &c_name);
        }
        // Another mount is AGAIN, too; XDEV is a link that leads out, but helpers say what is answered.
        if !matches!(opened, Err(Errno::XDEV | Errno::AGAIN)) {
            return Ok(opened.map(Arc::new));
        }
        let opened = self.open_by_helper(name, since).await;
        opened.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)
    }

    /// Opens a name by a helper, who reads a small file as well.
    pub(super) async fn open_by_helper(
        &self,
        name: &[u8],
        since: Time,
    ) -> Result<Result<Arc<Opened>, Errno>, DiskError> {
        let directory = self.root.directory();
        let (place, own) = (place(name), directory.disk);
        // A name without a slash may be a mount itself, and says nothing of the others.
        let tells = name.contains(&b'/');
        let disk = self.places.disk(place).unwrap_or(own);
        // It may wait for long, so it is there once.
        let name: Arc<[u8]> = name.into();
        let key = Key::Name(directory.device, directory.inode, name.clone());
        let piece = Piece { key, bytes: OPENING, place, since };
        let reads = !self.work.reads_in_worker();
        let open = move || open::from_disk(&directory, &name, reads).map(Arc::new);
        match self.disks.run(disk, piece, move || DiskResult::Opened(open())).await? {
            DiskResult::Opened(opened) => {
                if let Ok(opened) = &opened
                    && tells
                {
                    self.places.learn(place, opened.disk, own);
                }
                Ok(opened)
            }
            DiskResult::Part(_) | DiskResult::Root(_) => Ok(Err(Errno::IO)),
        }
    }

    /// The answer when a helper did not fetch what is to be sent.
    pub(super) fn fetch_failed(&self, file: &File, error: &FetchError) -> StatusCode {
        match error {
            FetchError::Failed(error) => self.failed(file.name(), *error),
            FetchError::Disk(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The answer when `name` could not be opened or read. What only an operator can mend is logged.
    pub(super) fn failed(&self, name: &[u8], error: Errno) -> StatusCode {
        let status = open::status(error);
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!("file {} cannot be opened or read: {error}", self.root.printable(name));
        }
        status
    }
}

/// The part of the site that a name lies in: mounts are mostly first segments.
fn place(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let first = name.split(|&byte| byte == b'/').next().filter(|first| first.len() < name.len());
    first.hash(&mut hasher);
    hasher.finish()
}
