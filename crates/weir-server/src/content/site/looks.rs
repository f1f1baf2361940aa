//! Notices that another directory has taken the place of the root, and that something else was mounted there.
//! Helpers look where that may wait, beside those of the disks: what hangs must not keep it from being
//! replaced. Used by the site and its lookups.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::timeout;
use weir_sched::Time;

use super::{CHECK, Inner, Looking, OPENING};
use crate::content::mounts::{self, Mounts};
use crate::content::root::{Directory, Look};
use crate::content::work::{DiskResult, Key};
use crate::disk::{DiskError, DiskId, Piece};
use crate::runtime::turn;

/// The place of looks at the mount table. That of looks for a root is the root's.
const AT_MOUNTS: u64 = 0;

impl Inner {
    /// Looks whether the root is still there.
    pub(super) async fn look_for_root(&self, since: Time) -> Look {
        match self.root.look(turn::began()) {
            Look::Unknown => self.look_by_helper(since).await,
            look => self.note(look),
        }
    }

    /// Has a helper look, unless one does, and waits 0.1 s to hear of it. What it finds counts whenever it comes.
    pub(super) async fn look_by_helper(&self, since: Time) -> Look {
        let mut looking = self.looking(since);
        let heard = timeout(CHECK, looking.wait_for(Option::is_some)).await;
        heard.ok().and_then(Result::ok).and_then(|look| *look).unwrap_or(Look::Unknown)
    }

    /// The look that is under way, or a new one.
    fn looking(&self, since: Time) -> Looking {
        if let Some(looking) = self.looking.borrow().as_ref() {
            return looking.clone();
        }
        let (found, looking) = watch::channel(None);
        if let Some(site) = self.me.upgrade() {
            *self.looking.borrow_mut() = Some(looking.clone());
            tokio::task::spawn_local(async move {
                let look = site.find_root(since).await;
                *site.looking.borrow_mut() = None;
                let _ = found.send(Some(look));
            });
        }
        looking
    }

    /// What a helper finds, however long it takes.
    async fn find_root(&self, since: Time) -> Look {
        let place = || self.places.at(&self.root.directory(), b"").place;
        let look = async |place| {
            let path = self.root.path.clone();
            let key = Key::Root(path.clone(), self.places.above());
            let piece = Piece { key, bytes: OPENING, place, since };
            let work = move || DiskResult::Root(Directory::open(&path).map(Arc::new));
            self.disks.run(DiskId::ROOTS, piece, work).await
        };
        let before = place();
        let mut found = look(before).await;
        if matches!(found, Err(DiskError::Refused)) {
            self.look_at_mounts(since).await;
            let now = place();
            if now != before {
                found = look(now).await;
            }
        }
        match found {
            Ok(DiskResult::Root(found)) => self.note(self.root.found(found)),
            _ => Look::Unknown,
        }
    }

    /// Forgets what was known of another root.
    fn note(&self, look: Look) -> Look {
        if matches!(look, Look::Changed | Look::Vanished) {
            self.names.clear();
            self.open.clear();
            self.access.set(None);
        }
        if look == Look::Changed {
            self.places.begin_anew(&self.root.directory());
        }
        look
    }

    /// Has a helper look what is mounted where the site is, if the mount table has changed since one did. For
    /// work that was refused: what it is about may have another place then.
    pub(super) async fn look_at_mounts(&self, since: Time) {
        let changes = mounts::changes();
        if self.places.knows_mounts(changes) {
            return;
        }
        let (path, root) = (self.root.path.clone(), self.places.root());
        let key = Key::Mounts(path.clone(), root.clone(), changes);
        let piece = Piece { key, bytes: OPENING, place: AT_MOUNTS, since };
        let work = move || DiskResult::Mounts(Mounts::around(&path, &root).map(Arc::new));
        let found = self.disks.run(DiskId::MOUNTS, piece, work).await;
        if let Ok(DiskResult::Mounts(Ok(mounts))) = found {
            self.places.found_mounted(&mounts);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::path::Path;
    use std::sync::mpsc;
    use std::time::Duration;

    use http::StatusCode;
    use rustix::io::Errno;
    use tokio::task::{LocalSet, spawn_local, yield_now};

    use super::super::tests::site_of;
    use super::*;
    use crate::sys::clock;

    const DEADLINE: Duration = Duration::from_secs(30);

    /// Puts another directory in the place of this one.
    fn replace(root: &Path) {
        fs::rename(root, root.with_extension("old")).unwrap();
        fs::create_dir(root).unwrap();
    }

    #[tokio::test]
    async fn what_a_helper_finds_when_nobody_waits_any_more_counts() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir(&root).unwrap();
        let site = site_of(&root);
        let inner = &site.0;
        let look = async {
            let before = inner.root.directory();
            // A helper is at it already, and is held up.
            let (release, held) = mpsc::channel::<()>();
            let (path, disks) = (inner.root.path.clone(), inner.disks.clone());
            let key = Key::Root(path.clone(), inner.places.above());
            let piece = Piece { key, bytes: OPENING, place: 1, since: clock::now() };
            let work = move || {
                let _ = held.recv();
                DiskResult::Root(Directory::open(&path).map(Arc::new))
            };
            let first = spawn_local(async move { disks.run(DiskId::ROOTS, piece, work).await });
            while inner.disks.load().queued + inner.disks.load().under_way == 0 {
                yield_now().await;
            }
            for _ in 0..2 {
                assert_eq!(inner.look_by_helper(clock::now()).await, Look::Unknown);
            }
            assert_eq!(inner.metrics.disk_merged.get(), 1, "one look at a time");
            replace(&root);
            drop(release);
            assert!(first.await.unwrap().is_ok());
            while Arc::ptr_eq(&before, &inner.root.directory()) {
                yield_now().await;
            }
            assert!(inner.looking.borrow().is_none());
        };
        timeout(DEADLINE, LocalSet::new().run_until(look)).await.unwrap();
    }

    #[tokio::test]
    async fn what_was_missing_below_the_old_root_is_looked_up_below_the_new_one() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir(&root).unwrap();
        let site = site_of(&root);
        let (inner, steps) = (&site.0, Cell::new(0));
        let step = async || -> Result<Result<u32, Errno>, StatusCode> {
            steps.set(steps.get() + 1);
            if steps.get() > 1 {
                return Ok(Ok(steps.get()));
            }
            // Another request notices it first.
            replace(&root);
            let found = Directory::open(&root).map(Arc::new);
            assert_eq!(inner.note(inner.root.found(found)), Look::Changed);
            Ok(Err(Errno::NOENT))
        };
        let found = inner.or_below_new_root(b"a", clock::now(), step);
        assert_eq!(LocalSet::new().run_until(found).await, Ok(2));
    }
}
