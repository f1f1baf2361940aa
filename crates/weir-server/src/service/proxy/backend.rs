//! A backend as all workers share it: its gate, the requests that wait there, and its health. Used by
//! [`super::attempt`] and [`super::call`] for each call, by [`super::backends`] and by the metrics.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::oneshot;
use weir_sched::health::{Health, PassiveConfig, Trial};
use weir_sched::{BackendConfig, BackendGate, Call, CallNext, CallSpec, Time};
use weir_tls::client::ClientTls;

use crate::config::{BackendAddress, HealthCheck};
use crate::identity;
use crate::metrics::{Answers, Reading};
use crate::runtime::turn;
use crate::sys::clock;

/// The gate refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// When to try again.
    pub(super) retry_after: Duration,
}

type Admission = Result<(), Refused>;

/// See the module.
pub(super) struct Backend {
    pub(super) address: BackendAddress,
    /// What is counted of its answers.
    pub(super) answers: Answers,
    /// How to speak TLS to it, if it does.
    tls: RwLock<Option<ClientTls>>,
    /// Its name, for `Host`.
    pub(super) authority: HeaderValue,
    /// Its health check, if it has one, until somebody makes it.
    check: Mutex<Option<HealthCheck>>,
    state: Mutex<State>,
    health: Mutex<Health>,
}

struct State {
    gate: BackendGate,
    /// The requests that wait at the gate, by the tag of the call.
    waiting: HashMap<u64, oneshot::Sender<Admission>>,
    last_tag: u64,
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Backend {
    pub(super) fn new(
        address: BackendAddress,
        tls: Option<ClientTls>,
        config: BackendConfig,
        passive: PassiveConfig,
        check: Option<HealthCheck>,
        answers: Answers,
    ) -> Arc<Backend> {
        let active = check.as_ref().map(|check| (check.healthy, check.unhealthy));
        let gate = BackendGate::new(config);
        let state = State { gate, waiting: HashMap::new(), last_tag: 0 };
        let health = Mutex::new(Health::new(passive, active));
        let tls = RwLock::new(tls);
        let authority = HeaderValue::from_str(&address.authority());
        let authority = authority.unwrap_or(HeaderValue::from_static("localhost"));
        let (check, state) = (Mutex::new(check), Mutex::new(state));
        Arc::new(Backend { address, answers, tls, authority, check, state, health })
    }

    /// Whether it is not marked unhealthy and, if it is checked, a check has ever gone well.
    pub(super) fn is_proven(&self) -> bool {
        self.health().is_proven()
    }

    /// Its health check, for the first who asks.
    pub(super) fn take_check(&self) -> Option<HealthCheck> {
        self.check.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// How to speak TLS on a new connection, if it speaks that.
    pub(super) fn tls(&self) -> Option<ClientTls> {
        self.tls.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on new connections do it like this.
    pub(super) fn set_tls(&self, tls: ClientTls) {
        *self.tls.write().unwrap_or_else(PoisonError::into_inner) = Some(tls);
    }

    /// Asks whether the backend may be called. The tag of `spec` is chosen here.
    pub(super) fn admit(self: &Arc<Self>, spec: CallSpec) -> Admitted {
        let (entry, entered) = self.enter(spec);
        match entered {
            Ok(Some(admission)) => Admitted::Waiting(Waiting { entry, admission }),
            Ok(None) => Admitted::Now(Ok(entry.into_slot())),
            Err(refused) => Admitted::Now(entry.refused(refused)),
        }
    }

    /// Enters the queue. `Ok(None)`: the call has started.
    fn enter(
        self: &Arc<Self>,
        spec: CallSpec,
    ) -> (QueueEntry, Result<Option<oneshot::Receiver<Admission>>, Refused>) {
        let mut state = self.lock();
        let now = clock::now();
        state.last_tag += 1;
        let tag = state.last_tag;
        let spec = CallSpec { tag, ..spec };
        if let Some(call) = state.gate.start_at_once(now, spec) {
            return (QueueEntry { backend: self.clone(), call, tag, is_waiting: true }, Ok(None));
        }
        let call = state.gate.arrive(now, spec);
        let mut own = None;
        state.dispatch(now, |other, admission| match other == tag {
            true => own = Some(admission),
            false => report_unknown_tag(other),
        });
        let entry = QueueEntry { backend: self.clone(), call, tag, is_waiting: true };
        let entered = match own {
            Some(admission) => admission.map(|()| None),
            None => {
                let (sender, receiver) = oneshot::channel();
                state.waiting.insert(tag, sender);
                Ok(Some(receiver))
            }
        };
        (entry, entered)
    }

    /// Refuses requests that have waited too long; to be called regularly.
    pub(super) fn poll_gate(&self) {
        let mut state = self.lock();
        if state.gate.waiting() > 0 {
            state.dispatch(clock::now(), |tag, _| report_unknown_tag(tag));
        }
    }

    /// The state and the counters, for the metrics.
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
            dead_while_sending: self.answers.left_while_sending(),
            saved: counts.dead_work_saved,
            wasted: counts.dead_work_wasted,
        }
    }

    /// The number of calls that wait or are in progress, and whether one more would start at once.
    /// `None`: the backend is ejected, and a call of `client` may not try it.
    pub(super) fn load(&self, client: IpAddr) -> Option<(usize, bool)> {
        let health = self.health();
        let healthy = health.is_healthy();
        let may_try = !healthy && health.may_try(turn::began(), identity::client_key(client));
        drop(health);
        let gate = &self.lock().gate;
        let load = gate.waiting() + gate.under_way();
        // Nobody queues at a backend that is being tried. Calls that hang there do not prevent a try.
        let may_try = may_try && load - gate.aside() < gate.limit() as usize;
        (healthy || may_try).then(|| (load, gate.has_room()))
    }

    /// Whether requests wait at its gate.
    pub(super) fn is_overloaded(&self) -> bool {
        self.lock().gate.waiting() > 0
    }

    /// A call of this client starts; it may be one that tries an ejected backend.
    pub(super) fn call_started(&self, client: u64) -> Option<Trial> {
        self.health().call_started(turn::began(), client)
    }

    /// A call got its response.
    pub(super) fn call_answered(&self, tried: Option<Trial>) {
        self.update_health("", |health| health.call_ended(turn::began(), tried, true));
    }

    /// A call failed: why.
    pub(super) fn call_failed(&self, tried: Option<Trial>, why: impl fmt::Display) {
        let why = format_args!("calls fail, the last: {why}");
        self.update_health(why, |health| health.call_ended(turn::began(), tried, false));
    }

    /// The client left before the response, which may still arrive.
    pub(super) fn client_left(&self, tried: Option<Trial>) {
        if let Some(tried) = tried {
            self.health().client_left(turn::began(), tried);
        }
    }

    /// A call had no result that says anything about the backend's health.
    pub(super) fn inconclusive(&self, tried: Option<Trial>) {
        if let Some(tried) = tried {
            self.health().take_back(turn::began(), tried);
        }
    }

    /// A health check ended; an error says why it failed.
    pub(super) fn checked(&self, found: Result<(), String>) {
        let healthy = found.is_ok();
        let why = found.err().unwrap_or_default();
        let why = format_args!("checks fail, the last: {why}");
        self.update_health(why, |health| health.check_ended(healthy));
    }

    fn update_health(&self, why: impl fmt::Display, change: impl FnOnce(&mut Health)) {
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

/// Every tag that the gate returns belongs to a waiting request.
fn report_unknown_tag(tag: u64) {
    tracing::error!(tag, "internal error: a backend's gate named an unknown request");
}

impl State {
    /// The client left before its call was sent, even if the gate had admitted it.
    fn withdraw(&mut self, call: Call) {
        let now = clock::now();
        self.gate.requeue(now, call);
        self.gate.abandoned(now, call);
        self.dispatch(now, |tag, _| report_unknown_tag(tag));
    }

    /// Tells the requests that the gate admits or refuses; `other` gets tags that are not in `waiting`.
    fn dispatch(&mut self, now: Time, mut other: impl FnMut(u64, Admission)) {
        loop {
            let (tag, admission) = match self.gate.next(now) {
                CallNext::Start { tag, .. } => (tag, Ok(())),
                CallNext::Refuse { tag, retry_after, .. } => (tag, Err(Refused { retry_after })),
                CallNext::Full { .. } | CallNext::Idle => return,
            };
            match self.waiting.remove(&tag) {
                // If it has just stopped waiting, dropping its entry withdraws the call.
                Some(waiter) => drop(waiter.send(admission)),
                None => other(tag, admission),
            }
        }
    }
}

/// A place in the queue; dropping it while it waits withdraws the call.
struct QueueEntry {
    backend: Arc<Backend>,
    call: Call,
    tag: u64,
    is_waiting: bool,
}

/// What the gate says to a call.
pub(super) enum Admitted {
    Now(Result<Slot, Refused>),
    Waiting(Waiting),
}

/// A call that waits at the gate. Dropping it takes it from the queue.
pub(super) struct Waiting {
    entry: QueueEntry,
    admission: oneshot::Receiver<Admission>,
}

impl Waiting {
    /// Waits until the backend may be called.
    pub(super) async fn admission(self) -> Result<Slot, Refused> {
        let Waiting { entry, admission } = self;
        match admission.await {
            Ok(Ok(())) => Ok(entry.into_slot()),
            Ok(Err(refused)) => entry.refused(refused),
            // The channel breaks only when the server ends.
            Err(_) => entry.refused(Refused { retry_after: Duration::from_secs(1) }),
        }
    }
}

impl QueueEntry {
    fn into_slot(mut self) -> Slot {
        self.is_waiting = false;
        let backend = self.backend.clone();
        Slot { backend, call: self.call, ended: false, client_gone: false }
    }

    fn refused(mut self, refused: Refused) -> Result<Slot, Refused> {
        self.is_waiting = false;
        Err(refused)
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        if !self.is_waiting {
            return;
        }
        let mut state = self.backend.lock();
        state.waiting.remove(&self.tag);
        state.withdraw(self.call);
    }
}

/// The right to make one call. It is given back when the call has ended, or on drop.
#[derive(Debug)]
pub(super) struct Slot {
    backend: Arc<Backend>,
    call: Call,
    client_gone: bool,
    ended: bool,
}

impl Slot {
    pub(super) fn backend(&self) -> &Arc<Backend> {
        &self.backend
    }

    /// The response has begun.
    pub(super) fn answered(&self) {
        self.backend.lock().gate.answered(clock::now(), self.call);
    }

    /// The client was found to have left before the call was sent.
    pub(super) fn withdraw(mut self) {
        self.ended = true;
        self.backend.lock().withdraw(self.call);
    }

    /// The client has left, while the backend is still working.
    pub(super) fn client_left(&mut self) {
        if !std::mem::replace(&mut self.client_gone, true) {
            self.backend.lock().gate.abandoned(clock::now(), self.call);
        }
    }

    /// The backend is done, or is not needed any more.
    pub(super) fn ended(mut self) {
        self.give_back(true);
    }

    /// The backend failed.
    pub(super) fn failed(mut self) {
        self.give_back(false);
    }

    fn give_back(&mut self, healthy: bool) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let mut state = self.backend.lock();
        let now = clock::now();
        match healthy {
            true => state.gate.ended(now, self.call),
            false => state.gate.failed(now, self.call),
        }
        state.dispatch(now, |tag, _| report_unknown_tag(tag));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.give_back(true);
    }
}
