//! Worked cases of helpers, waiters and several disks. Work is held back by channels, never by time.

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

/// As many run at once as ever may.
fn disk(patience: Duration) -> TestDisk {
    let most = DiskConfig::default().under_way;
    let config = DiskConfig { least_under_way: most, ..DiskConfig::default() };
    Disk::new(config, patience, Arc::new(Metrics::new()))
}

fn piece(key: u32, place: u64) -> Piece<u32> {
    Piece { key, bytes: 1, place, since: clock::now() }
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
        let first = disk.run(piece(7, 0), move || {
            let _ = held.recv();
            42
        });
        let mut first = std::pin::pin!(first);
        assert!(futures_poll(first.as_mut()).is_none());
        let mut second = std::pin::pin!(disk.run(piece(7, 0), || unreachable!("it is merged")));
        assert!(futures_poll(second.as_mut()).is_none());
        assert_eq!(disk.metrics.disk_merged.get(), 1);
        drop(release);
        assert_eq!((first.await, second.await), (Ok(42), Ok(42)));
        assert_eq!(disk.run(piece(7, 0), || 43).await, Ok(43));
    });
}

#[test]
fn those_who_stay_when_most_leave_are_answered() {
    block_on(async {
        let disk = disk(LONG);
        let (release, held) = mpsc::channel::<()>();
        let mut first = std::pin::pin!(disk.run(piece(7, 0), move || {
            let _ = held.recv();
            42
        }));
        assert!(futures_poll(first.as_mut()).is_none());
        let join = |_| Box::pin(disk.run(piece(7, 0), || unreachable!("it is merged")));
        let mut all: Vec<_> = (0..3_000).map(join).collect();
        assert!(all.iter_mut().all(|waiting| futures_poll(waiting.as_mut()).is_none()));
        let mut stay = Vec::new();
        for (place, waiting) in all.into_iter().enumerate() {
            if place.is_multiple_of(3) {
                stay.push(waiting);
            }
        }
        // They are numbered in the order in which they came.
        let waiters: Vec<u64> =
            disk.lock().jobs.values().flat_map(|job| job.waiters.keys().copied()).collect();
        let expected: Vec<u64> = [1].into_iter().chain((2..3_002).step_by(3)).collect();
        assert_eq!(waiters, expected);
        drop(release);
        assert_eq!(first.await, Ok(42));
        for waiting in stay {
            assert_eq!(waiting.await, Ok(42));
        }
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
            let mut blocker = Box::pin(disk.run(piece(key, 0), move || {
                let _ = held.lock().unwrap_or_else(PoisonError::into_inner).recv();
                0
            }));
            assert!(futures_poll(blocker.as_mut()).is_none());
            blockers.push(blocker);
        }
        while disk.load().under_way < disk.config.under_way {
            tokio::task::yield_now().await;
        }
        let mut gone = Box::pin(disk.run(piece(1000, 0), || unreachable!("nobody waits for it")));
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
            let mut waiting = Box::pin(disk.run(piece(key, 0), move || {
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
        assert_eq!(disk.run(piece(LARGE + 4, 0), || 7).await, Ok(7));
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
            disk.run(piece(key, place), move || {
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
        assert_eq!(disk.run(piece(100, 2), || 5).await, Ok(5));
        drop(release);
        while disk.load().stuck + disk.load().under_way > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(disk.run(piece(5, 1), || 6).await, Ok(6));
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

#[test]
fn a_disk_that_hangs_takes_nothing_from_another() {
    block_on(async {
        let disks = Disks::<u32, u32>::new(LONG, Arc::new(Metrics::new()));
        let [hung, well] = [1, 2].map(DiskId::numbered);
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let mut waiting = Vec::new();
        for key in 0..100 {
            let held = held.clone();
            let mut blocked = Box::pin(disks.run(hung, piece(key, 0), move || {
                let _ = held.lock().unwrap_or_else(PoisonError::into_inner).recv();
                key
            }));
            assert!(futures_poll(blocked.as_mut()).is_none());
            waiting.push(blocked);
        }
        let load = disks.load();
        assert_eq!(load.queued + load.under_way, 100);
        // The same keys: they are of another disk.
        for key in 0..100 {
            assert_eq!(disks.run(well, piece(key, 0), move || key + 1000).await, Ok(key + 1000));
        }
        drop(release);
        for (key, blocked) in waiting.into_iter().enumerate() {
            assert_eq!(blocked.await, Ok(key as u32));
        }
    });
}

#[test]
fn disks_beyond_the_most_share_a_gate_and_idle_ones_give_theirs_up() {
    let disks = Disks::<u32, u32>::new(LONG, Arc::new(Metrics::new()));
    let of = |device| disks.disk(DiskId::numbered(device));
    let held: Vec<TestDisk> = (1..=64).map(of).collect();
    assert!(Arc::ptr_eq(&held[6], &of(7)));
    let shared = of(1000);
    assert!(Arc::ptr_eq(&shared, &of(2000)) && held.iter().all(|own| !Arc::ptr_eq(own, &shared)));
    let [roots, mounts] = [DiskId::ROOTS, DiskId::MOUNTS].map(|looks| disks.disk(looks));
    assert!(![&mounts, &shared].iter().any(|other| Arc::ptr_eq(&roots, other)));
    assert!(!Arc::ptr_eq(&mounts, &shared));
    drop((held, roots, mounts));
    let own = of(1000);
    assert!(!Arc::ptr_eq(&own, &shared) && Arc::ptr_eq(&own, &of(1000)));
    assert!(!Arc::ptr_eq(&own, &of(2000)));
}
