//! Looks up a name that is not in the cache, or no longer valid: opens it from memory or by a helper, at
//! each place where the rules of the site have it looked for. Used by the site.

use std::borrow::Cow;
use std::ffi::CString;
use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;
use rustix::fs::FileType;
use rustix::io::Errno;
use weir_http::message::path::{PathKind, SitePath};
use weir_sched::Time;

use super::Inner;
use crate::content::entry::{Entry, Known};
use crate::content::file::{FetchError, File};
use crate::content::mount::Access;
use crate::content::object::Found;
use crate::content::open::{self, Identity, Opened};
use crate::content::root::{Directory, Look};
use crate::content::rules::Spare;
use crate::content::work::{DiskResult, Key};
use crate::disk::DiskError;
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
        if path.as_bytes().len() >= TOO_LONG {
            return Err(StatusCode::NOT_FOUND);
        }
        match path.kind() {
            PathKind::Directory => self.look_up_directory(path, known, since).await,
            PathKind::File => self.look_up_file(path, known, since).await,
            PathKind::Beside => self.look_up_beside(path, known, since).await,
        }
    }

    /// The first file at the places for `path`.
    async fn look_up_file(
        &self,
        path: &SitePath<'_>,
        known: Option<Rc<Entry>>,
        since: Time,
    ) -> Result<Found, StatusCode> {
        let name = path.as_bytes();
        if let Some(cut) = self.shorter(name, since).await {
            return Ok(self.learn(path, Known::Shorter(cut), Found::Shorter(cut)));
        }
        let mut is_directory = false;
        let mut status = StatusCode::NOT_FOUND;
        for (place, candidate) in self.rules.candidates(name).enumerate() {
            if self.rules.keeps_back(&candidate) {
                is_directory |= *candidate == *name && self.is_directory(&candidate, since).await?;
                continue;
            }
            match self.open_name(&candidate, since).await {
                Ok(opened) => match opened.kind {
                    FileType::Directory => is_directory |= *candidate == *name,
                    FileType::RegularFile => {
                        let candidate = Rc::from(&*candidate);
                        let is_first = place == 0;
                        return self
                            .learn_file(path, candidate, is_first, &opened, known, since)
                            .await;
                    }
                    _ => status = StatusCode::FORBIDDEN,
                },
                Err(StatusCode::NOT_FOUND) => {}
                Err(status) => return Err(self.learn_error(path, status)),
            }
        }
        match is_directory {
            true => Ok(self.learn(path, Known::Directory, Found::Directory)),
            false => Err(self.learn_error(path, status)),
        }
    }

    /// The file of this very name: `try_files` are for paths of requests.
    async fn look_up_beside(
        &self,
        path: &SitePath<'_>,
        known: Option<Rc<Entry>>,
        since: Time,
    ) -> Result<Found, StatusCode> {
        let name = Rc::from(path.as_bytes());
        match self.open_served(path.as_bytes(), since).await {
            Ok(opened) if opened.kind == FileType::RegularFile => {
                self.learn_file(path, name, true, &opened, known, since).await
            }
            Ok(_) => Err(self.learn_error(path, StatusCode::NOT_FOUND)),
            Err(status) => Err(self.learn_error(path, status)),
        }
    }

    /// The first index of the directory, or whether a list may be shown.
    async fn look_up_directory(
        &self,
        path: &SitePath<'_>,
        known: Option<Rc<Entry>>,
        since: Time,
    ) -> Result<Found, StatusCode> {
        let directory = path.as_bytes();
        let kind = if !self.rules.keeps_back(directory) {
            self.open_name(directory, since).await.map(|opened| opened.kind)
        } else if self.is_directory(directory, since).await? {
            Ok(FileType::Directory)
        } else {
            Err(StatusCode::NOT_FOUND)
        };
        match kind {
            Ok(FileType::Directory) => {}
            Ok(FileType::RegularFile) => return Err(self.learn_error(path, StatusCode::NOT_FOUND)),
            Ok(_) => return Err(self.learn_error(path, StatusCode::FORBIDDEN)),
            Err(status) => return Err(self.learn_error(path, status)),
        }
        for (place, index) in self.rules.indexes(directory).enumerate() {
            match self.open_served(&index, since).await {
                Ok(opened) if opened.kind == FileType::RegularFile => {
                    let (index, is_first) = (Rc::from(&*index), place == 0);
                    return self.learn_file(path, index, is_first, &opened, known, since).await;
                }
                Ok(_) => return Err(self.learn_error(path, StatusCode::FORBIDDEN)),
                Err(StatusCode::NOT_FOUND) => {}
                Err(status) => return Err(self.learn_error(path, status)),
            }
        }
        match self.rules.lists {
            true => Ok(self.learn(path, Known::List, Found::List)),
            // Nobody is told what the directory holds.
            false => Ok(self.learn(path, Known::Bare, Found::Bare)),
        }
    }

    /// How many bytes at its end the name could do without: a shorter one stands for the very same file.
    async fn shorter(&self, name: &[u8], since: Time) -> Option<usize> {
        let spare = self.rules.spare_end(name)?;
        let short = name.get(..name.len() - spare.bytes())?;
        let is_same = match spare {
            Spare::Index(_) => {
                let directory = short.strip_suffix(b"/").unwrap_or(short);
                self.leads_to(name, self.rules.indexes(directory), since).await
            }
            Spare::Extension(_) => self.leads_to(name, self.rules.candidates(short), since).await,
        };
        is_same.then(|| spare.bytes())
    }

    /// Whether the first of `candidates` that is a file is `name`.
    async fn leads_to<'n>(
        &self,
        name: &[u8],
        candidates: impl Iterator<Item = Cow<'n, [u8]>>,
        since: Time,
    ) -> bool {
        for candidate in candidates {
            let opened = self.open_served(&candidate, since).await;
            if opened.is_ok_and(|opened| opened.kind == FileType::RegularFile) {
                return *candidate == *name;
            }
        }
        false
    }

    /// Remembers what was found.
    fn learn(&self, path: &SitePath<'_>, known: Known, found: Found) -> Found {
        self.names.learn(path, known, turn::began());
        found
    }

    /// Remembers that a name leads nowhere, but not that something went wrong.
    fn learn_error(&self, path: &SitePath<'_>, status: StatusCode) -> StatusCode {
        if matches!(status, StatusCode::NOT_FOUND | StatusCode::FORBIDDEN) {
            self.names.learn(path, Known::Error(status), turn::began());
        }
        status
    }

    /// Opens a name unless nobody is to see it.
    async fn open_served(&self, name: &[u8], since: Time) -> Result<Arc<Opened>, StatusCode> {
        match self.rules.keeps_back(name) {
            true => Err(StatusCode::NOT_FOUND),
            false => self.open_name(name, since).await,
        }
    }

    /// Whether a name that is kept back is that of a directory: files alone are kept back. It is not opened to
    /// find out, since nobody is told that there is a file, nor what is wrong with it.
    async fn is_directory(&self, name: &[u8], since: Time) -> Result<bool, StatusCode> {
        let identify = async || self.identify_below_root(name, since).await;
        match self.or_below_new_root(name, since, identify).await {
            Ok(identity) => Ok(identity.kind() == FileType::Directory),
            // Nobody can tell now, whatever there is.
            Err(status @ (StatusCode::SERVICE_UNAVAILABLE | StatusCode::INTERNAL_SERVER_ERROR)) => {
                Err(status)
            }
            Err(_) => Ok(false),
        }
    }

    /// Finds out what a name stands for, from memory or by a helper.
    async fn identify_below_root(
        &self,
        name: &[u8],
        since: Time,
    ) -> Result<Result<Identity, Errno>, StatusCode> {
        let c_name = CString::new(name).map_err(|_| StatusCode::BAD_REQUEST)?;
        let directory = self.root.directory();
        let may_wait = self.work.opens_in_worker();
        let found = self.spent_on_opening(|| {
            self.with_descriptors(|| open::identify(&directory, &c_name, may_wait))
        });
        // Only a helper can tell.
        if !matches!(found, Err(Errno::XDEV | Errno::AGAIN)) {
            return Ok(found);
        }
        let work = |directory: &Directory, name: &[u8]| {
            DiskResult::Identified(open::identify_on_disk(directory, name))
        };
        match self.by_helper(name, since, Key::Identity, work).await {
            Ok(DiskResult::Identified(found)) => Ok(found.map(|(identity, _)| identity)),
            Ok(_) => Ok(Err(Errno::IO)),
            Err(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    /// Opens a name.
    async fn open_name(&self, name: &[u8], since: Time) -> Result<Arc<Opened>, StatusCode> {
        let open = async || self.open_below_root(name, since).await;
        self.or_below_new_root(name, since, open).await
    }

    /// Takes `step`, which is about `name`. If there is no such name, looks whether the root is still there, and
    /// takes the step again below the one that has its place now.
    pub(super) async fn or_below_new_root<T>(
        &self,
        name: &[u8],
        since: Time,
        step: impl AsyncFn() -> Result<Result<T, Errno>, StatusCode>,
    ) -> Result<T, StatusCode> {
        let below = self.root.directory();
        let mut found = step().await?;
        if matches!(found, Err(Errno::NOENT)) {
            if self.look_for_root(since).await == Look::Vanished {
                return Err(StatusCode::SERVICE_UNAVAILABLE);
            }
            // Another request may have noticed it first.
            if !Arc::ptr_eq(&below, &self.root.directory()) {
                found = step().await?;
            }
        }
        found.map_err(|error| self.failed(name, error))
    }

    /// Takes `step`, again without the files that are kept open if descriptors are short.
    fn with_descriptors<T>(&self, step: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
        match step() {
            Err(Errno::MFILE | Errno::NFILE) => {
                self.open.clear();
                step()
            }
            done => done,
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
        let opened = match self.access.get() {
            Some(Access::Blocking) => Err(Errno::AGAIN),
            _ => self.spent_on_opening(|| {
                self.with_descriptors(|| open::from_memory(&directory, &c_name))
            }),
        };
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
        let reads = !self.work.reads_in_worker();
        let work = move |directory: &Directory, name: &[u8]| {
            DiskResult::Opened(open::from_disk(directory, name, reads).map(Arc::new))
        };
        match self.by_helper(name, since, Key::Name, work).await? {
            DiskResult::Opened(opened) => Ok(opened),
            _ => Ok(Err(Errno::IO)),
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
