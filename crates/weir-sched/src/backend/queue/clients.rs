//! What each client has of a backend and has had: slots, calls that wait, the time of its slots. The
//! queue asks here who has had no more than its share, and the gate whether a client's next slot would
//! be at the cost of others.
//!
//! Start-time fair queueing (Goyal, Vin & Cheng 1996): the time that a client's calls have slots moves
//! its tag on, and the virtual time by that over the number of clients that are here, whether their
//! calls wait or have slots. A client whose tag is not after the virtual time has had no more than its
//! share. What a call is expected to take is counted at its start, the rest when its slot comes back.
//!
//! What a client has had is remembered when none of its calls waits any more, or one with a long call
//! after the other would get most of what there is. But a call of average length is forgiven when it
//! comes again, and the rest in [`REMEMBERED`] times as long as it took: a client with one call at a
//! time and calls like all others keeps nobody from anything, and must not wait for all newcomers.

use std::time::Duration;

use foldhash::HashMap;

use super::account::{Account, MEMORY, OWN_MEMORY};
use super::active_clients::ActiveClients;
use crate::backend::mean::Mean;
use crate::time::Time;

/// For so many times as long as it had a slot this is remembered of a client ...
const REMEMBERED: u64 = 4;
/// ... but never more than so much, however long a call had one.
const MOST_REMEMBERED: Duration = Duration::from_secs(10);
/// A call is long that takes so many times what calls take on average, ...
const TIMES: u32 = 4;
/// ... or so long.
const LONG: Duration = Duration::from_secs(1);
/// More accounts than this, and twice as many as were needed last time, are looked through for those
/// that say nothing any more.
const FEW: usize = 256;

/// All clients of one backend.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    accounts: HashMap<u64, Account>,
    virtual_time: u64,
    active: ActiveClients,
    /// Clients with slots.
    holders: usize,
    /// Slots beyond the first of each client.
    extra: usize,
    /// How long all calls had slots.
    took: Mean,
    swept: usize,
}

impl Clients {
    /// A call of this client waits from now on.
    pub(crate) fn wait(&mut self, now: Time, id: u64) {
        let time = self.virtual_time;
        let forgiven = self.took.duration();
        let account = self.arrive(now, id);
        if account.waiting == 0 {
            let forgiven = nanos(forgiven) + nanos(now.since(account.quiet)) / REMEMBERED;
            let most = time.saturating_add(nanos(MOST_REMEMBERED));
            // No credit for the time without calls that wait.
            account.tag = account.tag.saturating_sub(forgiven).clamp(time, most);
        }
        account.waiting += 1;
    }

    /// A call of this client waits no more.
    pub(crate) fn leave(&mut self, now: Time, id: u64) {
        let Some(account) = self.accounts.get_mut(&id).filter(|it| it.waiting > 0) else { return };
        account.waiting -= 1;
        if account.waiting == 0 {
            account.quiet = now;
        }
        self.depart(now, id);
    }

    /// A call of this client gets a slot, and so much is counted for it.
    pub(crate) fn start(&mut self, now: Time, id: u64, charged: Duration) {
        let account = self.arrive(now, id);
        account.held += 1;
        account.tag = account.tag.saturating_add(nanos(charged));
        match account.held {
            1 => self.holders += 1,
            _ => self.extra += 1,
        }
        self.pass(charged);
    }

    /// A slot of this client comes back, which was taken for `took`; `charged` was counted at the
    /// start. `aside`: the call has not ended.
    pub(crate) fn end(
        &mut self,
        now: Time,
        id: u64,
        took: Duration,
        charged: Duration,
        aside: bool,
    ) {
        self.settle(now, id, took, charged);
        self.took.add(took, MEMORY);
        if let Some(account) = self.accounts.get_mut(&id) {
            account.took.add(took, OWN_MEMORY);
            account.aside += u32::from(aside);
        }
    }

    /// A slot of this client comes back unused: what was counted for it no longer is.
    pub(crate) fn undo(&mut self, now: Time, id: u64, charged: Duration) {
        self.settle(now, id, Duration::ZERO, charged);
    }

    /// A call of this client that was set aside has ended.
    pub(crate) fn aside_ended(&mut self, id: u64) {
        if let Some(account) = self.accounts.get_mut(&id) {
            account.aside = account.aside.saturating_sub(1);
        }
    }

    /// This client is served though it has had more than its share, so nobody waits who has had
    /// less: the virtual time moves on to its tag.
    pub(crate) fn advance_to(&mut self, id: u64) {
        self.virtual_time = self.virtual_time.max(self.tag(id));
    }

    /// A client whose tag is not after this has had no more than its share.
    pub(crate) fn virtual_time(&self) -> u64 {
        self.virtual_time
    }

    /// See [`Clients::virtual_time`].
    pub(crate) fn tag(&self, id: u64) -> u64 {
        self.accounts.get(&id).map_or(self.virtual_time, |account| account.tag)
    }

    /// Slots that this client has.
    pub(crate) fn held(&self, id: u64) -> u32 {
        self.accounts.get(&id).map_or(0, |account| account.held)
    }

    /// Calls of this client that were set aside.
    pub(crate) fn aside(&self, id: u64) -> u32 {
        self.accounts.get(&id).map_or(0, |account| account.aside)
    }

    /// Whether all slots that are taken are one client's, and are several.
    pub(crate) fn is_one_with_all(&self) -> bool {
        self.holders == 1 && self.extra > 0
    }

    /// Whether one slot more for this client, which has one, would be one that others need: of `limit`
    /// slots one for each other client that is here, or is on average, and one if there was any lately.
    /// Its calls that were set aside count as well, for the backend may be at work on them.
    pub(crate) fn is_at_others_cost(&self, now: Time, id: u64, limit: usize) -> bool {
        let Some(account) = self.accounts.get(&id).filter(|it| it.held > 0) else { return false };
        let others = self.active.clients(now).saturating_sub(1);
        let others = others.max(usize::from(self.active.others(now, id)));
        others > 0 && self.extra + account.aside as usize + 2 + others > limit
    }

    /// Whether a call of this client that has a slot for so long has it for much longer than calls do.
    /// If that is not known, whether its last ones had; true if nothing is known.
    pub(crate) fn is_long(&self, id: u64, usual: Option<Duration>) -> bool {
        let own = || Some(self.accounts.get(&id)?.took.known()?.duration());
        usual.or_else(own).is_none_or(|took| took > LONG.min(self.took.duration() * TIMES))
    }

    /// The account of a client of which a call comes or gets a slot.
    fn arrive(&mut self, now: Time, id: u64) -> &mut Account {
        self.sweep(now);
        let new = Account { tag: self.virtual_time, quiet: now, ..Account::default() };
        let account = self.accounts.entry(id).or_insert(new);
        self.active.seen(now, id);
        if !account.is_here() {
            self.active.arrive(now);
        }
        account
    }

    /// A call of the client has gone, which may have been its last.
    fn depart(&mut self, now: Time, id: u64) {
        if self.accounts.get(&id).is_some_and(|account| !account.is_here()) {
            self.active.depart(now);
        }
    }

    /// A slot comes back; `used` counts for it instead of `charged`.
    fn settle(&mut self, now: Time, id: u64, used: Duration, charged: Duration) {
        let time = self.virtual_time;
        let Some(account) = self.accounts.get_mut(&id).filter(|it| it.held > 0) else { return };
        let more = used.saturating_sub(charged);
        let less = nanos(charged.saturating_sub(used));
        let tag = account.tag.saturating_add(nanos(more));
        account.tag = tag.saturating_sub(less).max(time.min(tag));
        account.held -= 1;
        match account.held {
            0 => self.holders -= 1,
            _ => self.extra -= 1,
        }
        self.pass(more);
        self.depart(now, id);
    }

    /// A slot was used for so long: the virtual time passes.
    fn pass(&mut self, used: Duration) {
        let share = nanos(used) / self.active.here().max(1) as u64;
        self.virtual_time = self.virtual_time.saturating_add(share);
    }

    /// Forgets accounts that say nothing any more, now and then.
    fn sweep(&mut self, now: Time) {
        if self.accounts.len() < FEW.max(2 * self.swept) {
            return;
        }
        let time = self.virtual_time;
        self.accounts.retain(|_, account| {
            let forgiven = nanos(now.since(account.quiet)) / REMEMBERED;
            let forgotten = account.tag <= time.saturating_add(forgiven);
            account.is_here() || account.aside > 0 || !forgotten
        });
        self.swept = self.accounts.len();
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
