//! How many cells fit side by side: those with much to do, or with many connections open, stand for
//! several. The runner takes slots before a cell and gives them back after it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weir_peers::interrupt;

use crate::backend;
use crate::cell::{Cell, Demand};
use crate::link::demand::piled_up;

/// Descriptors of a cell beside its generator's connections: namespaces, counters, logs, the probe
/// and the files that it writes.
const OTHERS: u64 = 64;

/// Of `all` cells that may run side by side, how many one stands for, when their generators share a
/// process that may have `open_files` descriptors. Files on a slow disk need both cores.
pub(crate) fn slots_of(cell: &Cell, all: usize, open_files: u64) -> usize {
    if matches!(cell.demand, Demand::Files(_)) {
        return all;
    }
    let connections = open_files.saturating_sub(OTHERS * all as u64).max(1);
    let each = connections as f64 / all as f64;
    backend::slots(cell).max((piled_up(cell) / each).ceil() as usize)
}

/// How many more cells the machine has room for; some stand for several.
pub(crate) struct Slots {
    all: usize,
    free: Mutex<usize>,
    more: Condvar,
}

/// A wait for room looks so often whether the run was interrupted.
const LOOK: Duration = Duration::from_millis(200);

impl Slots {
    /// Room for so many.
    pub(crate) fn of(all: usize) -> Slots {
        Slots { all, free: Mutex::new(all), more: Condvar::new() }
    }

    /// Wait until there is room for so many, or for all if that is fewer; how many it was. Nothing
    /// after an interruption.
    pub(crate) fn acquire(&self, wanted: usize) -> Option<usize> {
        let wanted = wanted.min(self.all);
        let mut free = self.free();
        loop {
            if interrupt::check().is_err() {
                return None;
            }
            if *free >= wanted {
                *free -= wanted;
                return Some(wanted);
            }
            free = match self.more.wait_timeout(free, LOOK) {
                Ok((free, _)) => free,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Give back what was taken.
    pub(crate) fn release(&self, taken: usize) {
        *self.free() += taken;
        self.more.notify_all();
    }

    fn free(&self) -> MutexGuard<'_, usize> {
        // A number is whole whatever another thread's panic left.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Law, LoadIs, Network, Users};
    use weir_workload::law::WorldCup;

    #[test]
    fn lasting_overload_takes_the_room_of_its_connections() {
        let cell = |periods: &[(f64, f64)], users: Users| Cell {
            system: "apache-prefork".into(),
            network: Network::default(),
            users,
            demand: Demand::Open {
                law: Law::WorldCup,
                periods: periods.to_vec(),
                load_is: LoadIs::File,
                duration: 300.0,
            },
            seed: 1,
        };
        // A fifth of 10 Mbit/s for 300 s in files of the law's mean size.
        let lasting = cell(&[(300.0, 1.2)], Users::default());
        let open = 0.2 * 1.25e6 * 300.0 / weir_workload::law::Law::mean(&WorldCup);
        let found = piled_up(&lasting);
        assert!((found / open - 1.0).abs() < 0.01, "{found} of {open}");
        // Two such cells at once must never have more connections than there are descriptors.
        let slots = slots_of(&lasting, 15, 20_000);
        assert!(slots as f64 >= found / ((20_000.0 - 15.0 * 64.0) / 15.0), "{slots}");
        assert!((8..=15).contains(&slots), "{slots} for {found} connections");
        assert_eq!(slots_of(&lasting, 15, 1 << 20), 1);
        assert!(slots_of(&lasting, 15, 0) >= 15);
        // Users who leave have made room.
        let hasty = Users { abort_after: Some(5.0), retries: 1, ..Users::default() };
        let found = piled_up(&cell(&[(300.0, 1.2)], hasty));
        assert!((found / (open / 30.0) - 1.0).abs() < 0.01, "{found}");
        // Overload that ends is worked off.
        let passing = cell(&[(25.0, 1.2), (25.0, 0.2)], Users::default());
        assert_eq!(slots_of(&passing, 15, 20_000), 1);
    }

    #[test]
    fn a_cell_that_stands_for_several_waits_for_all_of_them() {
        let slots = Slots::of(3);
        assert_eq!(slots.acquire(1), Some(1));
        std::thread::scope(|scope| {
            // More than there is room for at all takes all of it.
            let other = scope.spawn(|| slots.acquire(5));
            assert_eq!(slots.acquire(2), Some(2));
            slots.release(2);
            slots.release(1);
            assert_eq!(other.join().expect("no panic"), Some(3));
        });
        slots.release(3);
        assert_eq!(*slots.free(), 3);
    }
}
