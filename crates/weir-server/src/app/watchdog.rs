//! The watchdog of the service manager: it is told that the server is alive while all workers turn. One that
//! hangs lets the manager restart the server. Workers keep their beats, the main thread looks at them; if no
//! watchdog is set, neither is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::sys::service_manager::ServiceManager;

/// The count of a worker that has ended.
const ENDED: u64 = u64::MAX;

/// How often each worker has turned.
#[derive(Debug)]
pub(super) struct Beats {
    /// How often they are looked at: twice in the time of the watchdog (sd_watchdog_enabled(3)).
    every: Duration,
    counts: Vec<AtomicU64>,
}

impl Beats {
    /// Those of so many workers; `None`: nobody wants to know.
    pub(super) fn new(manager: &ServiceManager, workers: usize) -> Option<Arc<Beats>> {
        let every = manager.watchdog()? / 2;
        let counts = (0..workers).map(|_| AtomicU64::new(0)).collect();
        Some(Arc::new(Beats { every, counts }))
    }

    /// Counts the turns of worker `index`, for as long as it runs.
    pub(super) async fn keep(&self, index: usize) {
        let Some(count) = self.counts.get(index) else { return };
        let _end = End(count);
        loop {
            count.fetch_add(1, Ordering::Relaxed);
            // Twice between two looks, so that one is there however late a look is.
            sleep(self.every / 2).await;
        }
    }

    /// Tells the service manager that the server is alive, for as long as all workers turn.
    pub(super) async fn watch(&self, manager: &ServiceManager) {
        let mut looks = interval(self.every);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first comes at once: workers may not have begun.
        looks.tick().await;
        manager.alive();
        let mut before = self.read();
        loop {
            looks.tick().await;
            let now = self.read();
            match hanging(&before, &now) {
                None => manager.alive(),
                Some(index) => tracing::error!(
                    "worker {index} hangs: the watchdog of the service manager is not told that the \
                     server is alive"
                ),
            }
            before = now;
        }
    }

    fn read(&self) -> Vec<u64> {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// Notes at the end of a worker that it does not hang; that of one that panics is no end.
#[derive(Debug)]
struct End<'a>(&'a AtomicU64);

impl Drop for End<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.store(ENDED, Ordering::Relaxed);
        }
    }
}

/// The first worker that has not turned between two looks.
fn hanging(before: &[u64], now: &[u64]) -> Option<usize> {
    before.iter().zip(now).position(|(before, now)| before == now && *now != ENDED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;
    use std::pin::pin;

    #[test]
    fn one_that_hangs_is_found() {
        assert_eq!(hanging(&[0, 1, 2], &[1, 2, 3]), None);
        assert_eq!(hanging(&[0, 1, 2], &[1, 1, 2]), Some(1));
        assert_eq!(hanging(&[ENDED, 1, 2], &[ENDED, 2, 2]), Some(2));
    }

    #[tokio::test]
    async fn the_manager_hears_only_while_all_turn() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify").display().to_string();
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        let manager = ServiceManager::at(Some(path), Some(20_000));
        let beats = Beats::new(&manager, 2).unwrap();
        let heard = async || {
            let mut bytes = [0; 100];
            while socket.recv(&mut bytes).is_err() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let mut second = pin!(beats.keep(1));
        tokio::select! {
            () = beats.watch(&manager) => {}
            () = beats.keep(0) => {}
            () = &mut second => {}
            () = async { for _ in 0..5 { heard().await } } => {}
        }
        // One worker alone, the other hangs: what is told at the beginning is all.
        while socket.recv(&mut [0; 100]).is_ok() {}
        tokio::select! {
            () = beats.watch(&manager) => {}
            () = beats.keep(0) => {}
            () = async {
                heard().await;
                sleep(Duration::from_millis(100)).await;
            } => {}
        }
        assert!(socket.recv(&mut [0; 100]).is_err());
        // The first has ended, and the second turns again: the server stops.
        tokio::select! {
            () = beats.watch(&manager) => {}
            () = &mut second => {}
            () = async { for _ in 0..5 { heard().await } } => {}
        }
        assert!(Beats::new(&ServiceManager::default(), 2).is_none());
    }
}
