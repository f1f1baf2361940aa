//! Worked cases of helpers and waiters. Work is held back by channels, never by time.

use std::future::Future;
use std::sync::mpsc;

use super::*;

/// From here on a key takes a quarter of what all may take.
const LARGE: u32 = 1_000_000;

impl Key for u32 {
    fn bytes(&self) -> usize {
        if *self < LARGE { 0 } else { QUEUED_BYTES / 4 }
    }
}

type TestDisk = Arc<Disk<u32, u32>>;

fn disk(patience: Duration) -> TestDisk {
    Disk::new(patience, Arc::new(Metrics::new()))
}

fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

const LONG: Duration = Duration::from_secs(600);

#[test]
fn one_piece_of_work_serves_all_who_wait_for_it() {
    block_on(async {
        let disk = disk(LONG);
        let (release, held) = mpsc::channel::<()>();
        let first = disk.run(7, 1, 0, move || {
            let _ = held.recv();
            42
        });
        let mut first = std::pin::pin!(first);
        assert!(futures_poll(first.as_mut()).is_none());
        let mut second = std::pin::pin!(disk.run(7, 1, 0, || unreachable!("it is merged")));
        assert!(futures_poll(second.as_mut()).is_none());
        assert_eq!(disk.load().merged, 1);
        drop(release);
        assert_eq!((first.await, second.await), (Ok(42), Ok(42)));
        assert_eq!(disk.run(7, 1, 0, || 43).await, Ok(43));
    });
}

#[test]
fn work_nobody_waits_for_is_not_begun() {
    block_on(async {
        let disk = disk(LONG);
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let mut blockers = Vec::new();
        for key in 0..disk.config.under_way as u32 {
            let held = held.clone();
            let mut blocker = Box::pin(disk.run(key, 1, 0, move || {
                let _ = held.lock().unwrap_or_else(PoisonError::into_inner).recv();
                0
            }));
            assert!(futures_poll(blocker.as_mut()).is_none());
            blockers.push(blocker);
        }
        while disk.load().under_way < disk.config.under_way {
            tokio::task::yield_now().await;
        }
        let mut gone = Box::pin(disk.run(1000, 1, 0, || unreachable!("nobody waits for it")));
        assert!(futures_poll(gone.as_mut()).is_none());
        assert_eq!(disk.load().queued, 1);
        drop(gone);
        assert_eq!(disk.load().queued, 0);
        drop(release);
        for blocker in blockers {
            assert_eq!(blocker.await, Ok(0));
        }
    });
}

#[test]
fn keys_are_queued_by_their_bytes() {
    block_on(async {
        let disk = disk(LONG);
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let start = |key: u32| {
            let held = held.clone();
            let mut waiting = Box::pin(disk.run(key, 1, 0, move || {
                let _ = held.lock().unwrap_or_else(PoisonError::into_inner).recv();
                key
            }));
            let refused = futures_poll(waiting.as_mut());
            (waiting, refused)
        };
        let mut waiting: Vec<_> = (LARGE..LARGE + 4).map(start).collect();
        assert!(waiting.iter().all(|(_, refused)| refused.is_none()));
        assert_eq!(start(LARGE + 4).1, Some(Err(DiskError::Refused)));
        // Short ones have room.
        let short = start(1);
        assert!(short.1.is_none() && disk.lock().held == QUEUED_BYTES);
        drop(release);
        while let Some((answer, _)) = waiting.pop() {
            assert!(answer.await.is_ok());
        }
        assert_eq!(short.0.await, Ok(1));
        assert_eq!(disk.lock().held, 0);
        assert_eq!(disk.run(LARGE + 4, 1, 0, || 7).await, Ok(7));
    });
}

#[test]
fn what_hangs_is_given_up_and_others_go_on() {
    block_on(async {
        let disk = disk(Duration::from_millis(50));
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let hang = |key: u32, place: u64| {
            let held = held.clone();
            disk.run(key, 1, place, move || {
                let _ = held.lock().unwrap_or_else(PoisonError::into_inner).recv();
                0
            })
        };
        for key in 0..4 {
            assert_eq!(hang(key, 1).await, Err(DiskError::TimedOut));
        }
        // The place is known to hang now; elsewhere work goes on.
        let mut answer = hang(4, 1).await;
        while answer == Err(DiskError::TimedOut) {
            answer = hang(4, 1).await;
        }
        assert_eq!(answer, Err(DiskError::Refused));
        assert_eq!(disk.run(100, 1, 2, || 5).await, Ok(5));
        drop(release);
        while disk.load().stuck + disk.load().under_way > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(disk.run(5, 1, 1, || 6).await, Ok(6));
    });
}

/// Polls once.
fn futures_poll<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}
