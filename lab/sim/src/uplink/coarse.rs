//! A link that serves whole bytes under the server's policies, without packets, leases and round
//! trips: a million requests in a second, for logs of millions of lines.

use weir_sched::policy::{Arrival, Choice};
use weir_sched::{BitRate, FairState, Path, Policy, PolicyKind, Time, VirtualFair};

use super::{Invalid, LATEST, in_order};

/// A response that is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// Seconds, from 0, in order.
    pub at: f64,
    /// Bytes on the wire; 0 counts as 1.
    pub bytes: u64,
}

/// The least that a grant is worth: a full segment on Ethernet.
const SEGMENT: u64 = 1514;

/// Grants that a replay makes at most, so that a million requests take a second.
const GRANTS: u64 = 4_000_000;

/// With more responses than this a question takes long, ...
const LONG: usize = 1000;
/// ... so a policy that foresees is asked for so many grants at once. It then takes care of others a
/// little earlier than it must, and makes nobody later than with smaller grants.
const AHEAD: u64 = 8;

/// What a grant of [`finishes`] is worth in bytes: 1 ms of the link, as the server's, and at least
/// a segment; more if there would be more than four million of them.
pub fn grant_for(rate: BitRate, requests: &[Asked]) -> u64 {
    let bytes = requests.iter().fold(0_u64, |sum, asked| sum.saturating_add(asked.bytes));
    (rate.bits() / 8000).max(SEGMENT).max(bytes / GRANTS)
}

/// When a link of `rate` has sent each response whole, in seconds.
///
/// An arrival may always change who is served; beyond that the policy is asked again when a response
/// is whole. A policy whose choice may change in between is asked again after each `grant` bytes
/// (`fair`, `las`), or after those for which it says that its choice holds (`protective`), so its
/// finishes are exact but for a grant; those of the others are exact.
///
/// # Errors
///
/// A time that is no number or out of order; more bytes than the link carries in a hundred years.
pub fn finishes(
    policy: PolicyKind,
    rate: BitRate,
    grant: u64,
    requests: &[Asked],
) -> Result<Vec<f64>, Invalid> {
    can_be_played(rate, requests)?;
    let speed = rate.bits() as f64 / 8.0;
    let mut server = Server::new(policy, rate, grant.max(1));
    let mut finish = vec![0.0; requests.len()];
    let mut next = 0;
    while let Some(first) = requests.get(next) {
        // A busy period: counted in bytes, which add up exactly, from the arrival that begins it.
        let begin = first.at;
        let place = |asked: &Asked| ((asked.at - begin) * speed) as u64;
        let mut sent = 0;
        loop {
            while let Some(asked) = requests.get(next).filter(|asked| place(asked) <= sent) {
                server.arrive(next, asked);
                next += 1;
            }
            let until = requests.get(next).map_or(u64::MAX, place);
            let Some((bytes, whole)) = server.serve(until - sent) else { break };
            sent += bytes;
            if let Some(index) = whole {
                finish[index] = begin + sent as f64 / speed;
            }
        }
    }
    Ok(finish)
}

/// Times are in order, and the end is near enough to be counted in nanoseconds.
pub(super) fn can_be_played(rate: BitRate, requests: &[Asked]) -> Result<(), Invalid> {
    in_order(requests.iter().map(|asked| asked.at))?;
    let bytes: f64 = requests.iter().map(|asked| asked.bytes as f64).sum();
    let seconds = bytes * 8.0 / rate.bits() as f64;
    let Some((index, largest)) = requests.iter().enumerate().max_by_key(|(_, asked)| asked.bytes)
    else {
        return Ok(());
    };
    if seconds < LATEST {
        return Ok(());
    }
    Err(Invalid(format!(
        "{bytes:.3e} bytes take a link of {rate} {seconds:.1e} s; expected less than {LATEST:.1e} s \
         (the largest response, of request {}, has {} bytes)",
        index + 1,
        largest.bytes
    )))
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    index: usize,
    left: u64,
    /// Not finished in the virtual fair server.
    sharing: bool,
}

/// The policy and who is here, by the policy's small numbers.
#[derive(Debug)]
struct Server {
    policy: Box<dyn Policy>,
    /// Only for the policies that look at it.
    fair: Option<VirtualFair>,
    /// `None`: the choice holds until somebody arrives or is done.
    grant: Option<u64>,
    /// The policy says for how much its choice holds: it chooses for a grant of any size.
    foresees: bool,
    slots: Vec<Slot>,
    free: Vec<u32>,
    here: usize,
}

impl Server {
    fn new(kind: PolicyKind, rate: BitRate, grant: u64) -> Server {
        let needs = kind.needs();
        Server {
            policy: kind.build(rate),
            fair: needs.fair_server.then(VirtualFair::default),
            grant: (needs.choice != Choice::WhileServed).then_some(grant),
            foresees: needs.choice == Choice::Foreseen,
            slots: Vec::new(),
            free: Vec::new(),
            here: 0,
        }
    }

    fn arrive(&mut self, index: usize, asked: &Asked) {
        let size = asked.bytes.max(1);
        let slot = Slot { index, left: size, sharing: self.fair.is_some() };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        let fair = self.state();
        let finish = self.fair.as_mut().map(|fair| fair.join(id, size)).unwrap_or_default();
        let at = Time::from_nanos((asked.at * 1e9) as u64);
        self.policy.arrive(
            id,
            &Arrival { order: index as u64, at, size, fair, finish, path: Path::default() },
        );
        self.policy.ready(id);
        self.here += 1;
    }

    /// Serves whoever is next, at most `most` bytes. Returns how many, and which response is whole
    /// now; `None` if nobody is here.
    fn serve(&mut self, most: u64) -> Option<(u64, Option<usize>)> {
        let grant = self.grant_used(most);
        let state = self.state();
        let id = self.policy.pick(state, grant.unwrap_or(1))?;
        let wanted = self.slots[id as usize].left.min(most);
        let bytes = match grant {
            // All at once if the policy would choose the same for so large a grant.
            Some(grant) if grant < wanted => {
                let holds = self.foresees && self.policy.pick(state, wanted) == Some(id);
                if holds { wanted } else { grant }
            }
            _ => wanted,
        };
        let slot = &mut self.slots[id as usize];
        slot.left -= bytes;
        let whole = (slot.left == 0).then_some(slot.index);
        self.policy.served(id, bytes);
        if whole.is_some() {
            self.policy.depart(id);
            self.here -= 1;
            if !slot.sharing {
                self.free.push(id);
            }
        }
        let Server { policy, fair, slots, free, .. } = self;
        if let Some(fair) = fair {
            fair.serve(bytes, |id, _| {
                policy.virtually_finished(id);
                let slot = &mut slots[id as usize];
                slot.sharing = false;
                if slot.left == 0 {
                    free.push(id);
                }
                None
            });
        }
        Some((bytes, whole))
    }

    /// What the policy is asked for, `most` bytes before somebody arrives.
    fn grant_used(&self, most: u64) -> Option<u64> {
        let grant = self.grant.filter(|_| self.here > 1)?;
        let long = self.foresees && self.here > LONG;
        Some(if long { most.min(AHEAD * grant).max(grant) } else { grant })
    }

    fn state(&self) -> FairState {
        let level = self.fair.as_ref().map(VirtualFair::level).unwrap_or_default();
        FairState { level, behind: 0 }
    }
}
