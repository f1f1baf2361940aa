//! Gives work on a name to the helpers of the disk that it is on, again if they refuse it because of what was
//! mounted there before. Used by lookups.

use std::sync::Arc;

use tokio::task::spawn_local;
use weir_sched::Time;

use super::{Inner, OPENING};
use crate::content::places::At;
use crate::content::root::Directory;
use crate::content::work::{DiskResult, Key};
use crate::disk::{DiskError, Piece};

impl Inner {
    /// Has a helper do `work` on a name below the root. `key`: that of such work, by the device and the inode
    /// of the root, the place, and the name.
    pub(super) async fn by_helper(
        &self,
        name: &[u8],
        since: Time,
        key: fn([u64; 3], Arc<[u8]>) -> Key,
        work: impl FnOnce(&Directory, &[u8]) -> DiskResult + Clone + Send + 'static,
    ) -> Result<DiskResult, DiskError> {
        let directory = self.root.directory();
        // It may wait for long, so it is there once.
        let name: Arc<[u8]> = name.into();
        let run = async |at: At| {
            let key = key([directory.device, directory.inode, at.place], name.clone());
            let piece = Piece { key, bytes: OPENING, place: at.place, since };
            let (directory, name, work) = (directory.clone(), name.clone(), work.clone());
            self.disks.run(at.disk, piece, move || work(&directory, &name)).await
        };
        let at = self.places.at(&directory, &name);
        let mut result = run(at).await;
        if matches!(result, Err(DiskError::Refused)) {
            self.look_at_mounts(since).await;
            let now = self.places.at(&directory, &name);
            if now.place != at.place {
                result = run(now).await;
            }
        }
        let result = result?;
        // A name without a slash says nothing of others, unless they are below it.
        if let Some(disk) = result.disk()
            && (name.contains(&b'/') || result.is_directory())
        {
            let is_news = self.places.learn(&directory, &name, disk);
            // If it hangs one day, it is known what was mounted when it did not.
            if let Some(site) = self.me.upgrade().filter(|_| is_news) {
                spawn_local(async move {
                    site.look_at_mounts(since).await;
                    // Its place may be another one by that.
                    site.places.learn(&directory, &name, disk);
                });
            }
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use tokio::task::{LocalSet, yield_now};
    use tokio::time::timeout;

    use super::super::tests::site_of;
    use super::*;
    use crate::sys::clock;

    const DEADLINE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn the_disk_of_a_mount_is_known_after_the_look_that_it_starts() {
        let elsewhere = tempfile::tempdir().unwrap();
        let (path, name) = (Path::new("/"), b"proc/version");
        let site = site_of(path);
        let inner = &site.0;
        let root = inner.root.directory();
        // It goes by what is mounted around another root, until a helper looks.
        let other = Directory::open(elsewhere.path()).unwrap();
        let unseen = Directory { mounts: other.mounts.clone(), ..Directory::open(path).unwrap() };
        inner.places.begin_anew(&other);
        inner.places.begin_anew(&unseen);
        let before = inner.places.at(&root, name);
        let opened = async {
            assert!(inner.open_by_helper(name, clock::now()).await.unwrap().is_ok());
            while inner.places.at(&root, name).place == before.place {
                yield_now().await;
            }
            assert_ne!(inner.places.at(&root, name).disk, root.disk);
        };
        timeout(DEADLINE, LocalSet::new().run_until(opened)).await.unwrap();
    }
}
