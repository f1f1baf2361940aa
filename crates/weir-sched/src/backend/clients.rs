//! What each client has of a backend and has had: slots, calls that wait, and the time of its slots
//! so far. The queue serves those first who have had no more than their share; the gate asks here
//! whether a client's next slot would be at the cost of others.
//!
//! Start-time fair queueing (Goyal, Vin & Cheng 1996): what a client's calls take moves its tag on,
//! and the virtual time by that over the number of clients that are here, whether their calls wait
//! or are under way. A client whose tag is not after the virtual time has had no more than its
//! share. What a call is expected to take is counted at its start, the rest when it ends.
//!
//! The time of a slot is remembered until others have had as much, at most [`REMEMBERED`] times as
//! long. Without that bound a client's next request would wait for all newcomers of a busy period,
//! and below overload some would leave for that alone; without memory a client with one long call
//! after the other would get most of what there is.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Duration;

use crate::time::Time;

/// For so many times as long as it had a slot this counts against a client.
const REMEMBERED: u32 = 4;
/// Over about so long it is averaged how many clients are here.
const AVERAGED: Duration = Duration::from_secs(3);
/// More accounts than this, and twice as many as were needed last time, are looked through for those
/// that say nothing any more.
const FEW: usize = 256;

/// What a client has and has had.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    held: u32,
    waiting: u32,
    /// Its slots' time, in nanoseconds of virtual time.
    tag: u64,
    /// From then on it is as if it had had nothing.
    until: Time,
    /// How long its last call that ended had a slot.
    last: Duration,
    /// Its entry in `Clients::pardons`.
    pardon: Option<Time>,
}

impl Account {
    fn is_here(&self) -> bool {
        self.held > 0 || self.waiting > 0
    }
}

/// All clients of one backend.
#[derive(Debug, Default)]
pub(super) struct Clients {
    accounts: HashMap<u64, Account, BuildHasherDefault<Spread>>,
    virtual_time: u64,
    /// Clients with calls that wait or have slots.
    here: usize,
    /// Clients with slots.
    holders: usize,
    /// Slots beyond the first of each client.
    extra: usize,
    average: Average,
    /// Clients whose calls wait that have had more than their share, by when that is forgotten.
    pardons: BTreeSet<(Time, u64)>,
    swept: usize,
}

impl Clients {
    /// A call of this client waits from now on.
    pub(super) fn wait(&mut self, now: Time, id: u64) {
        self.sweep(now);
        let account = self.accounts.entry(id).or_default();
        arrive(account, &mut self.here, &mut self.average, self.virtual_time, now);
        account.waiting += 1;
        file_pardon(account, &mut self.pardons, self.virtual_time, id);
    }

    /// A call of this client waits no more.
    pub(super) fn leave(&mut self, now: Time, id: u64) {
        let Some(account) = self.accounts.get_mut(&id) else { return };
        account.waiting = account.waiting.saturating_sub(1);
        depart(account, &mut self.here, &mut self.average, now);
        file_pardon(account, &mut self.pardons, self.virtual_time, id);
    }

    /// A call of this client gets a slot, and so much is counted for it.
    pub(super) fn start(&mut self, now: Time, id: u64, charged: Duration) {
        self.sweep(now);
        let account = self.accounts.entry(id).or_default();
        arrive(account, &mut self.here, &mut self.average, self.virtual_time, now);
        account.held += 1;
        if account.held > 1 {
            self.extra += 1;
        } else {
            self.holders += 1;
        }
        charge(account, now, charged);
        self.virtual_time = passed(self.virtual_time, charged, self.here);
        file_pardon(account, &mut self.pardons, self.virtual_time, id);
    }

    /// A slot of this client comes back. `took`: for how long it was taken; `charged` of that was
    /// counted at the start.
    pub(super) fn end(&mut self, now: Time, id: u64, took: Duration, charged: Duration) {
        let Some(account) = self.accounts.get_mut(&id).filter(|account| account.held > 0) else {
            return;
        };
        account.last = took;
        let more = took.saturating_sub(charged);
        charge(account, now, more);
        refund(account, self.virtual_time, charged.saturating_sub(took));
        self.virtual_time = passed(self.virtual_time, more, self.here);
        self.release(now, id);
    }

    /// A slot of this client comes back unused: what was counted for it no longer is.
    pub(super) fn undo(&mut self, now: Time, id: u64, charged: Duration) {
        if let Some(account) = self.accounts.get_mut(&id).filter(|account| account.held > 0) {
            refund(account, self.virtual_time, charged);
            self.release(now, id);
        }
    }

    /// The next client that waits and of whom what it has had is forgotten by now.
    pub(super) fn pardon(&mut self, now: Time) -> Option<u64> {
        let &(_, id) = self.pardons.first().filter(|(at, _)| *at <= now)?;
        if let Some(account) = self.accounts.get_mut(&id) {
            account.tag = account.tag.min(self.virtual_time);
            file_pardon(account, &mut self.pardons, self.virtual_time, id);
        }
        Some(id)
    }

    /// This client is served though it has had more than its share, so nobody waits who has had
    /// less: the virtual time moves on to its tag.
    pub(super) fn advance_to(&mut self, id: u64) {
        self.virtual_time = self.virtual_time.max(self.tag(id));
    }

    /// A client whose tag is not after this has had no more than its share.
    pub(super) fn virtual_time(&self) -> u64 {
        self.virtual_time
    }

    /// See [`Clients::virtual_time`].
    pub(super) fn tag(&self, id: u64) -> u64 {
        self.accounts.get(&id).map_or(self.virtual_time, |account| account.tag)
    }

    /// Slots that this client has.
    pub(super) fn held(&self, id: u64) -> u32 {
        self.accounts.get(&id).map_or(0, |account| account.held)
    }

    /// Whether all slots that are taken are one client's, and are several.
    pub(super) fn is_one_with_all(&self) -> bool {
        self.holders == 1 && self.extra > 0
    }

    /// How long the last call of this client that ended had a slot; zero if that is not known.
    pub(super) fn last(&self, id: u64) -> Duration {
        self.accounts.get(&id).map(|account| account.last).unwrap_or_default()
    }

    /// Whether one slot more for this client, which has one, would be one that others need. Of `limit`
    /// slots they need one for each client that is here, or is on average over some seconds.
    pub(super) fn is_at_others_cost(&self, id: u64, limit: usize) -> bool {
        let needed = self.here.max(self.average.clients.round() as usize);
        self.extra + 1 + needed > limit && self.held(id) > 0
    }

    fn release(&mut self, now: Time, id: u64) {
        let Some(account) = self.accounts.get_mut(&id) else { return };
        account.held -= 1;
        if account.held > 0 {
            self.extra -= 1;
        } else {
            self.holders -= 1;
        }
        depart(account, &mut self.here, &mut self.average, now);
        file_pardon(account, &mut self.pardons, self.virtual_time, id);
    }

    /// Forgets accounts that say nothing any more, now and then.
    fn sweep(&mut self, now: Time) {
        if self.accounts.len() >= FEW.max(2 * self.swept) {
            self.accounts.retain(|_, account| account.is_here() || account.until > now);
            self.swept = self.accounts.len();
        }
    }
}

/// A call of the client comes: it is here from now on.
fn arrive(account: &mut Account, here: &mut usize, average: &mut Average, time: u64, now: Time) {
    if !account.is_here() {
        average.note(now, *here);
        *here += 1;
        if account.until <= now {
            account.tag = time;
        }
    }
    if account.waiting == 0 {
        // No credit for the time without calls that wait.
        account.tag = account.tag.max(time);
    }
}

/// A call of the client has gone, which may have been its last.
fn depart(account: &Account, here: &mut usize, average: &mut Average, now: Time) {
    if !account.is_here() {
        average.note(now, *here);
        *here = here.saturating_sub(1);
    }
}

fn charge(account: &mut Account, now: Time, used: Duration) {
    account.tag = account.tag.saturating_add(nanos(used));
    account.until = account.until.max(now) + used.saturating_mul(REMEMBERED);
}

/// Undoes what was counted, but for the virtual time and not below that.
fn refund(account: &mut Account, time: u64, charged: Duration) {
    let least = time.min(account.tag);
    account.tag = account.tag.saturating_sub(nanos(charged)).max(least);
    account.until = account.until.before(charged.saturating_mul(REMEMBERED));
}

/// The virtual time when a slot was used for so long while so many clients were here.
fn passed(time: u64, used: Duration, here: usize) -> u64 {
    time.saturating_add(nanos(used) / here.max(1) as u64)
}

fn file_pardon(account: &mut Account, pardons: &mut BTreeSet<(Time, u64)>, time: u64, id: u64) {
    let pardon = (account.waiting > 0 && account.tag > time).then_some(account.until);
    if pardon == account.pardon {
        return;
    }
    if let Some(at) = account.pardon {
        pardons.remove(&(at, id));
    }
    if let Some(at) = pardon {
        pardons.insert((at, id));
    }
    account.pardon = pardon;
}

/// How many clients are here, on average over the last seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    clients: f64,
    at: Time,
}

impl Average {
    /// So many were here until now.
    fn note(&mut self, now: Time, here: usize) {
        let share = now.since(self.at).as_secs_f64() / AVERAGED.as_secs_f64();
        self.clients += (here as f64 - self.clients) * share.min(1.0);
        self.at = now;
    }
}

/// Spreads numbers that are hashes already, or small.
#[derive(Clone, Copy, Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, value: u64) {
        let spread = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = spread ^ (spread >> 32);
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
