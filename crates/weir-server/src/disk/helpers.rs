//! The helper threads, which wait for the disk so that no worker has to. They take their jobs from the
//! disk's gate. Started by [`super::Disk`] as they are needed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use weir_sched::DiskNext;

use super::{Disk, DiskError, Job, Key, State};
use crate::sys::clock;

/// How long a helper waits for work before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// Wakes an idle helper for what is queued, or starts another.
pub(super) fn call<K, T>(disk: &Arc<Disk<K, T>>, state: &mut State<K, T>)
where
    K: Key,
    T: Clone + Send + 'static,
{
    if state.idle > 0 {
        disk.work_added.notify_one();
        return;
    }
    // One more than may ever run: it waits for one of them to be given up as stuck.
    if state.helpers > disk.config.under_way + disk.config.most_stuck {
        return;
    }
    let helper = disk.clone();
    match thread::Builder::new().name("weir-disk".to_owned()).spawn(move || help(&helper)) {
        Ok(_) => state.helpers += 1,
        // Those that run will do the work.
        Err(error) if state.helpers > 0 => {
            tracing::warn!("cannot start another helper thread for the disk: {error}")
        }
        Err(error) => {
            tracing::error!(
                "cannot start a helper thread for the disk: {error}; what is not in memory gets 503"
            );
            refuse_all(state);
        }
    }
}

fn refuse_all<K, T>(state: &mut State<K, T>)
where
    K: Key,
{
    state.held = 0;
    for (id, job) in state.jobs.drain() {
        for waiter in job.waiters.into_values() {
            state.gate.leave(id);
            let _ = waiter.send(Err(DiskError::Refused));
        }
    }
}

/// Does one job after another; ends when it has had nothing to do for 10 s.
fn help<K, T>(disk: &Arc<Disk<K, T>>)
where
    K: Key,
    T: Clone + Send + 'static,
{
    let mut state = disk.lock();
    loop {
        let wait = match state.gate.next(clock::now()) {
            DiskNext::Start(job) => {
                let work = state.jobs.get_mut(&job).and_then(|job| job.work.take());
                if state.gate.waiting() > 0 {
                    // This may be the helper that was woken for that work, and its own job may hang.
                    call(disk, &mut state);
                }
                drop(state);
                let result = work.and_then(|work| catch_unwind(AssertUnwindSafe(work)).ok());
                state = disk.lock();
                disk.metrics.disk_jobs.inc();
                state.gate.done(job, clock::now());
                let job = state.take(job);
                // Results that nobody waits for any more may take long to drop.
                drop(state);
                answer(job, result.ok_or(DiskError::Refused));
                state = disk.lock();
                continue;
            }
            DiskNext::Refuse(job) => {
                let job = state.take(job);
                drop(state);
                answer(job, Err(DiskError::Refused));
                state = disk.lock();
                continue;
            }
            DiskNext::Full { until } => until.map_or(IDLE, |until| until.since(clock::now())),
            DiskNext::Idle => IDLE,
        };
        state.idle += 1;
        let waited = disk.work_added.wait_timeout(state, wait);
        let (guard, timed_out) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        state = guard;
        state.idle -= 1;
        if wait == IDLE && timed_out.timed_out() && state.gate.waiting() == 0 {
            state.helpers -= 1;
            return;
        }
    }
}

fn answer<T: Clone>(job: Option<Job<T>>, result: Result<T, DiskError>) {
    let Some(mut job) = job else { return };
    let last = job.waiters.pop_last();
    for waiter in job.waiters.into_values() {
        let _ = waiter.send(result.clone());
    }
    if let Some((_, waiter)) = last {
        let _ = waiter.send(result);
    }
}
