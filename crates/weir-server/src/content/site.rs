//! Names below a directory, from what is known, from memory, or by a helper. Workers wait for no
//! disk here; changes are noticed within a second.

use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::FileType;
use rustix::io::Errno;
use tokio::sync::oneshot;
use tokio::time::timeout;
use weir_http::Status;
use weir_http::path::SitePath;

use super::file::DIRECT_FROM;
use super::hot::HotSet;
use super::kept::KeptOpen;
use super::mount::{self, Access};
use super::names::{Entry, Known, KnownFile, Names};
use super::open::{self, CHUNK, Opened};
use super::root::{Directory, Look, Root};
use super::{Body, Done, File, FileDisk, Found, Key, Object};
use crate::clock;
use crate::disk::Trouble;
use crate::metrics::{Cause, Metrics};
use crate::turn;

/// What a helper is expected to read for a name.
const OPENING: u64 = 16 * 1024;

/// How long a request waits to hear whether what is known is still true; then that is served.
const CHECK: Duration = Duration::from_millis(100);

/// What a site is made of: it stays with the worker that makes it.
#[derive(Debug)]
pub(crate) struct SiteConfig {
    /// The directory, which was opened.
    pub(crate) root: Root,
    pub(crate) disk: Arc<FileDisk>,
    pub(crate) metrics: Arc<Metrics>,
    /// Names that are remembered.
    pub(crate) names: usize,
    /// Bytes of small files.
    pub(crate) hot: usize,
    /// Descriptors of large files.
    pub(crate) open: usize,
    /// How much of a file a helper brings at once.
    pub(crate) window: u64,
}

/// A directory that is served.
#[derive(Debug)]
pub(crate) struct Site(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    root: Root,
    names: Names,
    hot: HotSet,
    open: KeptOpen,
    window: u64,
    /// How files of the root's own file system are read.
    access: Cell<Option<Access>>,
    scratch: RefCell<Box<[u8]>>,
    disk: Arc<FileDisk>,
    metrics: Arc<Metrics>,
}

impl Site {
    pub(crate) fn new(config: SiteConfig) -> Site {
        Site(Rc::new(Inner {
            root: config.root,
            names: Names::new(config.names),
            hot: HotSet::new(config.hot),
            open: KeptOpen::new(config.open),
            window: config.window,
            access: Cell::new(None),
            scratch: RefCell::new(vec![0; CHUNK as usize].into()),
            disk: config.disk,
            metrics: config.metrics,
        }))
    }

    pub(crate) async fn find(&self, path: &SitePath<'_>) -> Result<Found, Status> {
        let site = &self.0;
        if site.root.is_stale(turn::began()) {
            Box::pin(site.look_for_root()).await;
            if site.root.has_vanished() {
                return Err(Status::ServiceUnavailable);
            }
        }
        let known = site.names.get(path);
        if let Some(entry) = &known
            && let Some(found) = site.from_cache(entry).await
        {
            site.metrics.cache_hits.inc();
            entry.uses.count();
            return found;
        }
        site.metrics.cache_misses.inc();
        // Boxed, here and below: what is rare should not make every connection larger.
        Box::pin(site.look_up(path, known)).await
    }

    pub(crate) fn disk(&self) -> &Arc<FileDisk> {
        &self.0.disk
    }

    /// Whether sending a file from `offset` on can begin without a disk.
    pub(crate) fn is_ready(&self, file: &File, offset: u64) -> bool {
        let mut scratch = self.0.scratch.borrow_mut();
        turn::spent_on(Cause::Read, &self.0.metrics, || file.is_ready(offset, &mut scratch))
    }

    /// How much of a file a helper brings at once.
    pub(crate) fn window(&self) -> u64 {
        self.0.window
    }

    /// Closes descriptors that were not used lately.
    pub(crate) fn sweep(&self) {
        self.0.open.sweep(clock::now());
    }
}

impl Inner {
    async fn look_for_root(&self) -> Look {
        let mut look = self.root.look(turn::began());
        if look == Look::Unknown {
            let path = self.root.path.clone();
            let work = move || Done::Root(Directory::open(&path).map(Arc::new));
            let patience = timeout(CHECK, self.disk.run(Key::Root, OPENING, 0, work));
            if let Ok(Ok(Done::Root(found))) = patience.await {
                look = self.root.found(found);
            }
        }
        if matches!(look, Look::Changed | Look::Vanished) {
            self.names.clear();
            self.open.clear();
            self.access.set(None);
        }
        look
    }

    /// What is known of a name, if it is still true and enough to answer with.
    async fn from_cache(self: &Rc<Self>, entry: &Rc<Entry>) -> Option<Result<Found, Status>> {
        let file = match &entry.known {
            Known::Directory if self.is_fresh(entry) => return Some(Ok(Found::Directory)),
            Known::Error(status) if self.is_fresh(entry) => return Some(Err(*status)),
            Known::Directory | Known::Error(_) => return None,
            Known::File(file) => file,
        };
        let body = match file.hot.get() {
            Some(bytes) => Body::Text(bytes),
            None => Body::File(file.open.borrow().clone()?),
        };
        // A file that is changed in place: what was announced could not be sent.
        if matches!(&body, Body::File(open) if !open.is_as_opened())
            || !self.is_fresh(entry) && !Box::pin(self.check(entry, file)).await
        {
            return None;
        }
        file.used.set(turn::began());
        Some(Ok(Found::Object(Object { facts: file.facts.clone(), body })))
    }

    fn is_fresh(&self, entry: &Entry) -> bool {
        entry.is_fresh(turn::began())
    }

    /// Whether the file is still what it was. If nobody can tell soon, it counts as the same.
    async fn check(self: &Rc<Self>, entry: &Rc<Entry>, file: &KnownFile) -> bool {
        let now = turn::began();
        if entry.checking.get() {
            return true;
        }
        let Ok(name) = CString::new(&*file.name) else { return false };
        let directory = self.root.directory();
        match self.spent_on_opening(|| open::identify(&directory, &name)) {
            Ok(identity) if identity == file.identity => {
                entry.confirm(now);
                return true;
            }
            Err(Errno::AGAIN | Errno::XDEV) => {}
            // Nobody can tell now.
            Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => return true,
            _ => return false,
        }
        entry.checking.set(true);
        let (answer, told) = oneshot::channel();
        let (site, entry) = (self.clone(), entry.clone());
        tokio::task::spawn_local(async move {
            let is_same = site.check_by_helper(&entry).await;
            entry.checking.set(false);
            let _ = answer.send(is_same);
        });
        timeout(CHECK, told).await.ok().and_then(Result::ok).unwrap_or(true)
    }

    async fn check_by_helper(&self, entry: &Rc<Entry>) -> bool {
        let Some(file) = entry.file() else { return false };
        match self.open_by_helper(&file.name).await {
            Ok(Ok(opened)) if opened.identity == file.identity => entry.confirm(opened.at),
            Ok(_) => {
                self.names.forget(entry);
                return false;
            }
            // It hangs; what is known is all there is.
            Err(Trouble::Refused | Trouble::TimedOut) => entry.confirm(clock::now()),
        }
        true
    }

    async fn look_up(
        self: &Rc<Self>,
        path: &SitePath<'_>,
        known: Option<Rc<Entry>>,
    ) -> Result<Found, Status> {
        let name = path.as_bytes();
        let opened = match self.open_name(name).await {
            Ok(opened) => opened,
            Err(status) => return Err(self.learn_error(path, status)),
        };
        match opened.kind {
            FileType::RegularFile if !path.wants_directory() => {
                self.learn_file(path, name.into(), &opened, known)
            }
            FileType::RegularFile => Err(self.learn_error(path, Status::NotFound)),
            FileType::Directory if path.wants_directory() => self.index(path, known).await,
            FileType::Directory => {
                self.names.learn(path, Known::Directory, turn::began());
                Ok(Found::Directory)
            }
            _ => Err(self.learn_error(path, Status::Forbidden)),
        }
    }

    async fn index(
        self: &Rc<Self>,
        path: &SitePath<'_>,
        known: Option<Rc<Entry>>,
    ) -> Result<Found, Status> {
        let mut name = path.as_bytes().to_vec();
        if !name.is_empty() {
            name.push(b'/');
        }
        name.extend_from_slice(b"index.html");
        let opened = match self.open_name(&name).await {
            Ok(opened) => opened,
            // There is no list of what the directory holds.
            Err(Status::NotFound) => return Err(self.learn_error(path, Status::Forbidden)),
            Err(status) => return Err(self.learn_error(path, status)),
        };
        match opened.kind {
            FileType::RegularFile => self.learn_file(path, name.into(), &opened, known),
            _ => Err(self.learn_error(path, Status::Forbidden)),
        }
    }

    /// Remembers that a name leads nowhere, but not that something went wrong.
    fn learn_error(&self, path: &SitePath<'_>, status: Status) -> Status {
        if matches!(status, Status::NotFound | Status::Forbidden) {
            self.names.learn(path, Known::Error(status), turn::began());
        }
        status
    }

    /// Opens a name, and looks whether the root is still there if there is no such name.
    async fn open_name(&self, name: &[u8]) -> Result<Arc<Opened>, Status> {
        let opened = self.open_below_root(name).await?;
        if !matches!(opened, Err(Errno::NOENT)) {
            return opened.map_err(|error| open::status(error, name));
        }
        match self.look_for_root().await {
            Look::Same | Look::Unknown => Err(Status::NotFound),
            Look::Vanished => Err(Status::ServiceUnavailable),
            Look::Changed => {
                let opened = self.open_below_root(name).await?;
                opened.map_err(|error| open::status(error, name))
            }
        }
    }

    /// Opens a name from memory or by a helper.
    async fn open_below_root(&self, name: &[u8]) -> Result<Result<Arc<Opened>, Errno>, Status> {
        let name = if name.is_empty() { b"." } else { name };
        let c_name = CString::new(name).map_err(|_| Status::BadRequest)?;
        let directory = self.root.directory();
        // Where reading is for helpers, they open as well: that is one job instead of two.
        let mut opened = match self.access.get() {
            Some(Access::Untold) => Err(Errno::AGAIN),
            _ => self.spent_on_opening(|| open::from_memory(&directory, &c_name)),
        };
        if matches!(opened, Err(Errno::MFILE | Errno::NFILE)) {
            self.open.clear();
            opened = open::from_memory(&directory, &c_name);
        }
        match opened {
            Err(Errno::AGAIN | Errno::XDEV) => {
                self.open_by_helper(name).await.map_err(|_| Status::ServiceUnavailable)
            }
            opened => Ok(opened.map(Arc::new)),
        }
    }

    async fn open_by_helper(&self, name: &[u8]) -> Result<Result<Arc<Opened>, Errno>, Trouble> {
        let directory = self.root.directory();
        let Ok(c_name) = CString::new(name) else { return Ok(Err(Errno::INVAL)) };
        let key = Key::Name(directory.device, directory.inode, name.into());
        let work = move || Done::Opened(open::from_disk(&directory, &c_name).map(Arc::new));
        match self.disk.run(key, OPENING, place(name), work).await? {
            Done::Opened(opened) => Ok(opened),
            Done::Part(_) | Done::Root(_) => Ok(Err(Errno::IO)),
        }
    }

    fn spent_on_opening<T>(&self, work: impl FnOnce() -> T) -> T {
        turn::spent_on(Cause::Open, &self.metrics, work)
    }

    /// Remembers a file, and serves it.
    fn learn_file(
        &self,
        path: &SitePath<'_>,
        name: Box<[u8]>,
        opened: &Arc<Opened>,
        known: Option<Rc<Entry>>,
    ) -> Result<Found, Status> {
        let now = turn::began();
        let access = self.access(opened, &name)?;
        let is_known =
            |entry: &Rc<Entry>| entry.file().is_some_and(|file| file.identity == opened.identity);
        let (entry, again) = match known.filter(is_known) {
            Some(entry) => {
                entry.confirm(opened.at);
                entry.uses.count();
                (entry, true)
            }
            None => {
                let known = Known::File(KnownFile::new(opened.identity, name, now));
                (self.names.learn(path, known, opened.at), false)
            }
        };
        let Some(known) = entry.file() else { return Err(Status::InternalServerError) };
        known.used.set(now);
        let body = self.body(&entry, opened, access, again);
        Ok(Found::Object(Object { facts: known.facts.clone(), body }))
    }

    /// Where to take the bytes of a file from, and whether to keep them or the descriptor.
    fn body(&self, entry: &Rc<Entry>, opened: &Arc<Opened>, access: Access, again: bool) -> Body {
        let file = Rc::new(File::new(opened, access));
        let length = opened.identity.length;
        let small = if file.tells() { DIRECT_FROM } else { CHUNK };
        if length > small {
            if file.tells() {
                self.open.keep(entry, &file);
            }
            return Body::File(file);
        }
        let Some(whole) = self.whole(&file, opened) else { return Body::File(file) };
        // What was asked for once may never be asked for again.
        if again
            && opened.is_steady()
            && let Some(known) = entry.file()
        {
            self.hot.admit(&known.hot, whole.clone());
        }
        Body::Text(whole)
    }

    /// A small file, if it is in memory.
    fn whole(&self, file: &File, opened: &Opened) -> Option<Arc<[u8]>> {
        let length = usize::try_from(opened.identity.length).ok()?;
        if let Some(first) = &opened.first {
            return (first.len() == length).then(|| first.clone());
        }
        let mut scratch = self.scratch.borrow_mut();
        let out = scratch.get_mut(..length)?;
        let read = turn::spent_on(Cause::Read, &self.metrics, || file.read(0, out));
        matches!(read, Ok(count) if count == length).then(|| (&*out).into())
    }

    fn access(&self, opened: &Opened, name: &[u8]) -> Result<Access, Status> {
        if let Some(access) = opened.access {
            return Ok(access);
        }
        // A worker opened it, so it is of the root's own mount, which is local.
        if let Some(access) = self.access.get() {
            return Ok(access);
        }
        let access = mount::access(&opened.fd).map_err(|error| open::status(error, name))?;
        self.access.set(Some(access));
        Ok(access)
    }
}

/// The part of the site that a name lies in: mounts are mostly first segments.
fn place(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let first = name.split(|&byte| byte == b'/').next().filter(|first| first.len() < name.len());
    first.hash(&mut hasher);
    hasher.finish()
}
