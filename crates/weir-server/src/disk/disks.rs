//! All disks: a gate for each, made when it is first needed, so that a slow or hanging disk takes
//! nothing from the others and none keeps to the limit or the order of another. Shared by the workers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weir_sched::DiskConfig;

use super::{Disk, DiskError, DiskId, Key, Load, Piece};
use crate::metrics::Metrics;

/// Beyond so many gates, disks share one.
const MOST: usize = 64;

/// See the module.
#[derive(Debug)]
pub(crate) struct Disks<K, T> {
    gates: Mutex<HashMap<DiskId, Arc<Disk<K, T>>>>,
    /// Of the disks that have none of their own.
    others: Arc<Disk<K, T>>,
    patience: Duration,
    metrics: Arc<Metrics>,
}

impl<K: Key, T: Clone + Send + 'static> Disks<K, T> {
    /// `patience`: the longest that a request waits for one piece of work, and from when on that counts as
    /// stuck.
    pub(crate) fn new(patience: Duration, metrics: Arc<Metrics>) -> Arc<Disks<K, T>> {
        let others = Disk::new(DiskConfig::default(), patience, metrics.clone());
        Arc::new(Disks { gates: Mutex::default(), others, patience, metrics })
    }

    /// Has `work` done by a helper of the disk `on`, or waits for the same work (that with the same key)
    /// if it is queued already.
    ///
    /// # Errors
    ///
    /// It was refused, or took too long.
    pub(crate) async fn run(
        &self,
        on: DiskId,
        piece: Piece<K>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, DiskError> {
        let disk = self.disk(on);
        disk.run(piece, work).await
    }

    pub(super) fn disk(&self, on: DiskId) -> Arc<Disk<K, T>> {
        let mut gates = self.gates();
        if let Some(disk) = gates.get(&on) {
            return disk.clone();
        }
        if gates.len() >= MOST {
            // Helpers and waiters hold their disk: what nobody holds has nothing to do.
            gates.retain(|_, disk| Arc::strong_count(disk) > 1);
        }
        // Looks for what was mounted anew have theirs, however many disks hang.
        if gates.len() >= MOST && on.is_disk() {
            return self.others.clone();
        }
        let disk = Disk::new(DiskConfig::default(), self.patience, self.metrics.clone());
        gates.entry(on).or_insert(disk).clone()
    }

    /// What all gates and helpers are doing now, added up.
    pub(crate) fn load(&self) -> Load {
        let others = (Arc::strong_count(&self.others) > 1).then(|| (None, self.others.clone()));
        let gates = self.gates();
        let of_disks = gates.iter().map(|(id, disk)| (Some(*id), disk.clone()));
        let disks: Vec<_> = of_disks.chain(others).collect();
        drop(gates);
        disks.iter().fold(Load::default(), |sum, (id, disk)| {
            let load = disk.load();
            let is_disk = id.is_none_or(DiskId::is_disk);
            Load {
                queued: sum.queued + load.queued,
                under_way: sum.under_way + load.under_way,
                stuck: sum.stuck + load.stuck,
                limit: sum.limit + if is_disk { load.limit } else { 0 },
            }
        })
    }

    fn gates(&self) -> MutexGuard<'_, HashMap<DiskId, Arc<Disk<K, T>>>> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
