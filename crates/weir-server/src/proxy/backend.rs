//! A backend as all workers share it: its gate, the requests that wait there, and whether it is
//! well. It opens no connections and does not know requests.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::oneshot;
use weir_sched::health::{Health, PassiveConfig, Trial};
use weir_sched::{BackendConfig, BackendGate, Call, CallNext, CallSpec, Time};

use super::identity;
use crate::clock;
use crate::config::{BackendAddress, HealthCheck};
use crate::metrics::Reading;
use crate::turn;

/// Nobody answers from this backend: why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// When to ask again.
    pub(super) retry_after: Duration,
}

type Verdict = Result<(), Refused>;

/// See the module.
pub(super) struct Backend {
    pub(super) address: BackendAddress,
    /// Its name as a `Host` field has it.
    pub(super) authority: HeaderValue,
    /// How it is asked whether it is well.
    pub(super) check: Option<HealthCheck>,
    /// Clients that left while they were sent its answers.
    left_in_answer: AtomicU64,
    state: Mutex<State>,
    health: Mutex<Health>,
}

struct State {
    gate: BackendGate,
    /// Who waits at the gate, by the tag of the call.
    waiting: HashMap<u64, oneshot::Sender<Verdict>>,
    issued: u64,
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Backend {
    pub(super) fn new(
        address: BackendAddress,
        config: BackendConfig,
        passive: PassiveConfig,
        check: Option<HealthCheck>,
    ) -> Arc<Backend> {
        let active = check.as_ref().map(|check| (check.healthy, check.unhealthy));
        let gate = BackendGate::new(config);
        let state = State { gate, waiting: HashMap::new(), issued: 0 };
        let health = Mutex::new(Health::new(passive, active));
        let authority = authority(&address);
        let (left_in_answer, state) = (AtomicU64::new(0), Mutex::new(state));
        Arc::new(Backend { address, authority, check, left_in_answer, state, health })
    }

    /// Waits until the backend may be called. Dropping the future takes the request from the queue.
    ///
    /// `spec`: its tag is chosen here.
    pub(super) async fn admit(self: &Arc<Self>, spec: CallSpec) -> Result<Slot, Refused> {
        let (mut entry, entered) = self.enter(spec);
        // An error of the channel means that the server is ending.
        let ended = Refused { retry_after: Duration::from_secs(1) };
        let verdict = match entered {
            Ok(Some(verdict)) => verdict.await.unwrap_or(Err(ended)),
            Ok(None) => Ok(()),
            Err(refused) => Err(refused),
        };
        entry.held = false;
        verdict?;
        Ok(Slot { backend: self.clone(), call: entry.call, ended: false, gone: false })
    }

    /// Enters the queue; without a verdict to wait for, the call has started.
    fn enter(
        self: &Arc<Self>,
        spec: CallSpec,
    ) -> (Entry, Result<Option<oneshot::Receiver<Verdict>>, Refused>) {
        let mut state = self.lock();
        let now = clock::now();
        state.issued += 1;
        let tag = state.issued;
        let spec = CallSpec { tag, ..spec };
        if let Some(call) = state.gate.start_at_once(now, spec) {
            return (Entry { backend: self.clone(), call, tag, held: true }, Ok(None));
        }
        let call = state.gate.arrive(now, spec);
        let mut own = None;
        state.hand_out(now, |other, verdict| match other == tag {
            true => own = Some(verdict),
            false => unreachable_tag(other),
        });
        let entry = Entry { backend: self.clone(), call, tag, held: true };
        let entered = match own {
            Some(verdict) => verdict.map(|()| None),
            None => {
                let (sender, receiver) = oneshot::channel();
                state.waiting.insert(tag, sender);
                Ok(Some(receiver))
            }
        };
        (entry, entered)
    }

    /// Looks who must not wait any longer; call it now and then.
    pub(super) fn look(&self) {
        let mut state = self.lock();
        if state.gate.waiting() > 0 {
            state.hand_out(clock::now(), |tag, _| unreachable_tag(tag));
        }
    }

    /// What the gate is doing and has counted.
    pub(super) fn reading(&self) -> Reading {
        let up = self.health().is_healthy();
        let state = self.lock();
        let gate = &state.gate;
        let counts = gate.counts();
        Reading {
            up,
            waiting: gate.waiting(),
            under_way: gate.under_way(),
            aside: gate.aside(),
            limit: gate.limit(),
            calls: counts.started,
            failed: counts.failed,
            refused: counts.refused,
            dead_in_queue: counts.abandoned_waiting,
            dead_in_service: counts.abandoned_under_way,
            dead_while_sending: self.left_in_answer.load(Ordering::Relaxed),
            saved: counts.dead_work_saved,
            wasted: counts.dead_work_wasted,
        }
    }

    /// A client left while it was sent an answer.
    pub(super) fn left_in_answer(&self) {
        self.left_in_answer.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls that wait or are under way, and whether one more would start at once; `None` if the
    /// backend is not well and a call of `client` may not try whether it is again.
    pub(super) fn load(&self, client: IpAddr) -> Option<(usize, bool)> {
        let health = self.health();
        let well = health.is_healthy();
        let may_try = !well && health.may_try(turn::began(), identity::client(client));
        drop(health);
        let gate = &self.lock().gate;
        let load = gate.waiting() + gate.under_way();
        // One that is tried is not waited for. Calls that hang there do not keep it from being tried.
        let may_try = may_try && load - gate.aside() < gate.limit() as usize;
        (well || may_try).then(|| (load, gate.has_room()))
    }

    /// Whether more is asked of it than it can do now.
    pub(super) fn is_overloaded(&self) -> bool {
        self.lock().gate.waiting() > 0
    }

    /// A call of this client goes to it, and may be one that tries whether it is back.
    pub(super) fn call_started(&self, client: u64) -> Option<Trial> {
        self.health().call_started(turn::began(), client)
    }

    /// A call of it was answered.
    pub(super) fn call_answered(&self, tried: Option<Trial>) {
        self.noting_change("", |health| health.call_ended(turn::began(), tried, true));
    }

    /// A call of it ended without an answer: why.
    pub(super) fn call_failed(&self, tried: Option<Trial>, why: impl fmt::Display) {
        let why = format_args!("calls fail, the last: {why}");
        self.noting_change(why, |health| health.call_ended(turn::began(), tried, false));
    }

    /// The client of a call has left before the answer, which may come still.
    pub(super) fn client_left(&self, tried: Option<Trial>) {
        if let Some(tried) = tried {
            self.health().client_left(turn::began(), tried);
        }
    }

    /// A call came to nothing, and neither client nor backend is to blame.
    pub(super) fn take_back(&self, tried: Option<Trial>) {
        if let Some(tried) = tried {
            self.health().take_back(turn::began(), tried);
        }
    }

    /// A check of it ended, and if it was no good one, why.
    pub(super) fn checked(&self, found: Result<(), String>) {
        let well = found.is_ok();
        let why = found.err().unwrap_or_default();
        let why = format_args!("checks fail, the last: {why}");
        self.noting_change(why, |health| health.check_ended(well));
    }

    fn noting_change(&self, why: impl fmt::Display, change: impl FnOnce(&mut Health)) {
        let mut health = self.health();
        let before = health.is_healthy();
        change(&mut health);
        let after = health.is_healthy();
        drop(health);
        match (before, after) {
            (true, false) => tracing::warn!("backend {} marked unhealthy: {why}", self.address),
            (false, true) => tracing::info!("backend {} is up again", self.address),
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn authority(address: &BackendAddress) -> HeaderValue {
    let written = address.to_string();
    let name = written.split_once("://").map_or("localhost", |(_, authority)| authority);
    HeaderValue::from_str(name).unwrap_or(HeaderValue::from_static("localhost"))
}

/// Every tag the gate returns belongs to somebody who waits.
fn unreachable_tag(tag: u64) {
    tracing::error!(tag, "a backend's gate named a request that nobody knows");
}

impl State {
    /// The client left before the backend heard of its call, even if its turn had come.
    fn withdraw(&mut self, call: Call) {
        let now = clock::now();
        self.gate.requeue(now, call);
        self.gate.abandoned(now, call);
        self.hand_out(now, |tag, _| unreachable_tag(tag));
    }

    /// Tells those whose turn has come. `other` hears of tags that do not wait here.
    fn hand_out(&mut self, now: Time, mut other: impl FnMut(u64, Verdict)) {
        loop {
            let (tag, verdict) = match self.gate.next(now) {
                CallNext::Start { tag, .. } => (tag, Ok(())),
                CallNext::Refuse { tag, retry_after, .. } => (tag, Err(Refused { retry_after })),
                CallNext::Full { .. } | CallNext::Idle => return,
            };
            match self.waiting.remove(&tag) {
                // Who has stopped waiting in this moment says so when its entry is dropped.
                Some(waiter) => drop(waiter.send(verdict)),
                None => other(tag, verdict),
            }
        }
    }
}

/// A place in the queue.
struct Entry {
    backend: Arc<Backend>,
    call: Call,
    tag: u64,
    held: bool,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.held {
            return;
        }
        let mut state = self.backend.lock();
        state.waiting.remove(&self.tag);
        state.withdraw(self.call);
    }
}

/// Leave for one call; it comes back when this says that the call has ended, or is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    backend: Arc<Backend>,
    call: Call,
    gone: bool,
    ended: bool,
}

impl Slot {
    pub(super) fn backend(&self) -> &Arc<Backend> {
        &self.backend
    }

    /// The answer begins.
    pub(super) fn answered(&self) {
        self.backend.lock().gate.answered(clock::now(), self.call);
    }

    /// The client turned out to have left before the backend was asked.
    pub(super) fn found_dead(mut self) {
        self.ended = true;
        self.backend.lock().withdraw(self.call);
    }

    /// The client has left; the backend is still at work.
    pub(super) fn client_left(&mut self) {
        if !std::mem::replace(&mut self.gone, true) {
            self.backend.lock().gate.abandoned(clock::now(), self.call);
        }
    }

    /// The backend has done what it was asked, or need not do it any more.
    pub(super) fn ended(mut self) {
        self.give_back(true);
    }

    /// The backend gave no answer, and it is to blame.
    pub(super) fn failed(mut self) {
        self.give_back(false);
    }

    fn give_back(&mut self, well: bool) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let mut state = self.backend.lock();
        let now = clock::now();
        match well {
            true => state.gate.ended(now, self.call),
            false => state.gate.failed(now, self.call),
        }
        state.hand_out(now, |tag, _| unreachable_tag(tag));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.give_back(true);
    }
}
