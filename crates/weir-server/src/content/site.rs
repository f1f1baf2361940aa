//! A directory that is served: finds what a path stands for, from the cache, from memory, or by a helper
//! thread. No worker waits for a disk here; changes are noticed within a second. Used through
//! [`super::Content`].

mod helpers;
mod learn;
mod list;
mod looks;
mod lookup;
mod negotiate;

use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use rustix::io::Errno;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use weir_http::message::path::SitePath;
use weir_sched::Time;

use super::coding::{Accepts, SiteCoding};
use super::config::SiteConfig;
use super::entry::{Entry, Known, KnownFile};
use super::file::{FetchError, File};
use super::hot::HotSet;
use super::listing::EACH;
use super::mount::Access;
use super::names::{NameBudget, Names};
use super::object::{Body, Found, Object};
use super::open::{self, CHUNK};
use super::open_files::OpenFiles;
use super::places::Places;
use super::root::{Look, Root};
use super::rules::Rules;
use super::work::FileDisks;
use crate::body::Space;
use crate::config::{DiskWork, FileDepartures};
use crate::disk::DiskError;
use crate::metrics::{Cause, Metrics};
use crate::runtime::turn;
use crate::runtime::wait::Wait;
use crate::sys::clock;

/// Bytes that a helper is expected to read for a name.
const OPENING: u64 = 16 * 1024;

/// How long a request waits to hear whether what is known is still true; then that is served.
const CHECK: Duration = Duration::from_millis(100);

/// Lists that may be made in a site of a worker at once, in memory that clients share as they do that for
/// bodies: who begins many and does not read them keeps nobody else from one.
const LISTS: u64 = 64;

/// Tells what a helper has found where the root should be.
type Looking = watch::Receiver<Option<Look>>;

/// A directory that is served; clones are the same site.
#[derive(Clone, Debug)]
pub(crate) struct Site(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    /// For what goes on when nobody waits for it any more.
    me: Weak<Inner>,
    root: Root,
    /// A helper looks where the root is.
    looking: RefCell<Option<Looking>>,
    rules: Arc<Rules>,
    /// In room that the sites of a worker share.
    names: Names,
    /// The sites of a worker share it.
    hot: Rc<HotSet>,
    open: OpenFiles,
    /// Memory for the lists that are being made.
    lists: Arc<Space>,
    window: Cell<u64>,
    /// How files of the root's own file system are read.
    access: Cell<Option<Access>>,
    scratch: RefCell<Box<[u8]>>,
    disks: Arc<FileDisks>,
    places: Places,
    work: DiskWork,
    departures: FileDepartures,
    /// `None`: files are sent as they are.
    coding: Option<SiteCoding>,
    metrics: Arc<Metrics>,
}

impl Site {
    /// `hot`: the memory for small files, `names`: that for names.
    pub(super) fn new(config: SiteConfig, hot: Rc<HotSet>, names: Rc<NameBudget>) -> Site {
        let places = Places::new(&config.root.directory());
        Site(Rc::new_cyclic(|me| Inner {
            me: me.clone(),
            root: config.root,
            looking: RefCell::default(),
            rules: config.rules,
            names: Names::new(names),
            hot,
            open: OpenFiles::new(config.open),
            lists: Space::new(LISTS * EACH, 0, None),
            window: Cell::new(config.window),
            access: Cell::new(None),
            scratch: RefCell::new(vec![0; CHUNK as usize].into()),
            disks: config.disks,
            places,
            work: config.work,
            departures: config.departures,
            coding: config.coding,
            metrics: config.metrics,
        }))
    }

    /// What `path` stands for, if that and its bytes are in memory; otherwise [`Site::find`] tells.
    pub(crate) fn find_in_memory(
        &self,
        path: &SitePath<'_>,
        accepts: &Accepts<'_>,
    ) -> Option<Result<Found, StatusCode>> {
        let site = &self.0;
        if site.root.is_stale(turn::began()) {
            return None;
        }
        let entry = site.names.get(path).filter(|entry| site.is_fresh(entry))?;
        let found = match &entry.known {
            Known::File(file) => {
                let object = site.in_memory(file, accepts)?;
                file.used.set(turn::began());
                Ok(Found::Object(object))
            }
            other => other.found()?,
        };
        site.metrics.cache_hits.inc();
        entry.uses.count();
        Some(found)
    }

    /// What `path` stands for; `since`: when it was asked for, `wait`: the wait for a disk meanwhile.
    pub(crate) async fn find(
        &self,
        path: &SitePath<'_>,
        accepts: &Accepts<'_>,
        since: Time,
        wait: Option<&Wait<'_>>,
    ) -> Result<Found, StatusCode> {
        let site = &self.0;
        if site.root.is_stale(turn::began()) {
            Box::pin(site.look_for_root(since)).await;
            if site.root.has_vanished() {
                return Err(StatusCode::SERVICE_UNAVAILABLE);
            }
        }
        let known = site.names.get(path);
        if let Some(entry) = &known
            && let Some(found) = site.from_cache(entry, since).await
        {
            site.metrics.cache_hits.inc();
            entry.uses.count();
            return site.as_accepted(path, found, accepts, since, wait).await;
        }
        site.metrics.cache_misses.inc();
        // Boxed, here and below: rare work must not make every connection larger.
        let found = Box::pin(site.look_up(path, known, since)).await;
        site.as_accepted(path, found, accepts, since, wait).await
    }

    pub(crate) fn disks(&self) -> &Arc<FileDisks> {
        &self.0.disks
    }

    /// Whether a response is given up when its client has left.
    pub(crate) fn notices_departures(&self) -> bool {
        self.0.departures == FileDepartures::Noticed
    }

    /// Whether sending a file from `offset` on can begin without a disk.
    pub(crate) fn is_ready(&self, file: &File, offset: u64) -> bool {
        let mut scratch = self.0.scratch.borrow_mut();
        turn::spent_on(Cause::Read, &self.0.metrics, || file.is_ready(offset, &mut scratch))
    }

    /// How much of a file a helper fetches at once.
    pub(crate) fn window(&self) -> u64 {
        self.0.window.get()
    }

    /// From now on so much of a file is fetched at once.
    pub(crate) fn set_window(&self, window: u64) {
        self.0.window.set(window);
    }

    /// The answer when a helper did not fetch what is to be sent.
    pub(crate) fn fetch_failed(&self, file: &File, error: &FetchError) -> StatusCode {
        self.0.fetch_failed(file, error)
    }

    /// Closes files that were not requested lately.
    pub(crate) fn sweep(&self) {
        self.0.open.sweep(clock::now());
    }

    /// Gives up all that is remembered, with the memory for small files that the sites of the worker share:
    /// others have taken their places. What is being sent is held by its response, for as long as that takes.
    pub(crate) fn give_up(&self) {
        let site = &self.0;
        site.names.clear();
        site.open.clear();
        site.hot.clear();
    }
}

impl Inner {
    /// What a name stands for that no client has asked for.
    async fn plain(self: &Rc<Self>, path: &SitePath<'_>, since: Time) -> Result<Found, StatusCode> {
        let known = self.names.get(path);
        if let Some(entry) = &known
            && let Some(found) = self.from_cache(entry, since).await
        {
            entry.uses.count();
            return found;
        }
        self.look_up(path, known, since).await
    }

    /// What is known of a name, if it is still valid and enough to answer with.
    async fn from_cache(
        self: &Rc<Self>,
        entry: &Rc<Entry>,
        since: Time,
    ) -> Option<Result<Found, StatusCode>> {
        let file = match &entry.known {
            // Where one may have come to stand before it, that is looked for anew.
            Known::File(file) if file.is_first || self.is_fresh(entry) => file,
            other if self.is_fresh(entry) => return other.found(),
            _ => return None,
        };
        let body = match file.hot.get() {
            Some(bytes) => Body::Text(bytes),
            None => Body::File(file.open.borrow().clone()?),
        };
        // A file that was changed in place could not be sent as announced.
        if matches!(&body, Body::File(open) if !open.is_as_opened())
            || !self.is_fresh(entry) && !Box::pin(self.check(entry, file, since)).await
        {
            return None;
        }
        file.used.set(turn::began());
        Some(Ok(Found::Object(Object { facts: file.facts.clone(), body })))
    }

    fn is_fresh(&self, entry: &Entry) -> bool {
        entry.is_fresh(turn::began())
    }

    /// Whether the file is still what it was. If that takes more than 0.1 s, it counts as the same.
    async fn check(self: &Rc<Self>, entry: &Rc<Entry>, file: &KnownFile, since: Time) -> bool {
        let now = turn::began();
        if entry.checking.get() {
            return true;
        }
        let Ok(name) = CString::new(&*file.name) else { return false };
        let directory = self.root.directory();
        let may_wait = self.work.opens_in_worker();
        let found = self.spent_on_opening(|| open::identify(&directory, &name, may_wait));
        match found {
            Ok(identity) if identity == file.identity => {
                entry.confirm(now);
                return true;
            }
            // A helper has to look.
            Err(Errno::AGAIN | Errno::XDEV) => {}
            // Nobody can tell now.
            Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => return true,
            _ => return false,
        }
        entry.checking.set(true);
        let (answer, told) = oneshot::channel();
        let (site, entry) = (self.clone(), entry.clone());
        tokio::task::spawn_local(async move {
            let is_same = site.check_by_helper(&entry, since).await;
            entry.checking.set(false);
            let _ = answer.send(is_same);
        });
        timeout(CHECK, told).await.ok().and_then(Result::ok).unwrap_or(true)
    }

    async fn check_by_helper(&self, entry: &Rc<Entry>, since: Time) -> bool {
        let Some(file) = entry.file() else { return false };
        match self.open_by_helper(&file.name, since).await {
            Ok(Ok(opened)) if opened.identity == file.identity => entry.confirm(opened.at),
            Ok(_) => {
                self.names.forget(entry);
                return false;
            }
            // The disk hangs: what is known is served.
            Err(DiskError::Refused | DiskError::TimedOut) => entry.confirm(clock::now()),
        }
        true
    }

    fn spent_on_opening<T>(&self, work: impl FnOnce() -> T) -> T {
        turn::spent_on(Cause::Open, &self.metrics, work)
    }
}

#[cfg(test)]
mod tests;
