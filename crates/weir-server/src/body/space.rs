//! Memory and temporary files for bodies: how much there is, and how much each client holds. Every
//! [`super::Buffer`], and every answer that came whole, is charged here with what it allocates. Lists of
//! directories have spaces of their own.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::temporary::TemporaryFiles;
use crate::identity;

/// A client may take more while it has less than the free space divided by this: a threshold that
/// sinks as space gets scarce, so that the largest gives way first and something is always left for
/// new clients (Choudhury & Hahne 1998, "Dynamic queue length thresholds for shared-memory packet
/// switches"). One client alone can take a ninth of the whole, each of n clients 1/(8 + n).
const FREE_DIVISOR: u64 = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct Space {
    memory: Level,
    files: Level,
    clients: Mutex<HashMap<IpAddr, Weak<Usage>>>,
    /// Without any, bodies are buffered in memory only.
    temporary: OnceLock<TemporaryFiles>,
}

/// How much of a resource is used, and how much there is, in bytes.
#[derive(Debug)]
struct Level {
    used: AtomicU64,
    capacity: AtomicU64,
}

/// How much one client uses, in bytes.
#[derive(Debug)]
struct Usage {
    client: IpAddr,
    memory: AtomicU64,
    files: AtomicU64,
    space: Arc<Space>,
}

/// One client's account; all its connections share it.
#[derive(Clone, Debug)]
pub(crate) struct Account(Arc<Usage>);

/// Which resource is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory,
    Files,
}

/// Bytes that are charged to an account until this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    account: Account,
    kind: Kind,
    bytes: u64,
}

impl Space {
    /// At most `memory` bytes and, with `temporary` files, `files` bytes of those. Both may be
    /// exceeded a little: by one piece of each body, and by a batch on its way to each file.
    pub(crate) fn new(memory: u64, files: u64, temporary: Option<TemporaryFiles>) -> Arc<Space> {
        let level =
            |capacity| Level { used: AtomicU64::new(0), capacity: AtomicU64::new(capacity) };
        let (memory, files) = (level(memory), level(files));
        let temporary = temporary.map(OnceLock::from).unwrap_or_default();
        Arc::new(Space { memory, files, clients: Mutex::default(), temporary })
    }

    /// From now on there is so much, for bodies that are here, too. `temporary`: files for a space that has
    /// had none.
    pub(super) fn resize(&self, memory: u64, files: u64, temporary: Option<TemporaryFiles>) {
        self.memory.capacity.store(memory, Ordering::Relaxed);
        self.files.capacity.store(files, Ordering::Relaxed);
        if let Some(temporary) = temporary {
            // Those that are there stay.
            let _ = self.temporary.set(temporary);
        }
    }

    /// Whether bodies can be buffered in files.
    pub(super) fn has_temporary(&self) -> bool {
        self.temporary.get().is_some()
    }

    /// The account of the client at `address`: of IPv6 a whole network of 64 bits.
    pub(crate) fn account(self: &Arc<Self>, address: IpAddr) -> Account {
        let client = identity::network(address);
        let mut clients = self.clients();
        if let Some(usage) = clients.get(&client).and_then(Weak::upgrade) {
            return Account(usage);
        }
        let (memory, files) = Default::default();
        let usage = Arc::new(Usage { client, memory, files, space: self.clone() });
        clients.insert(client, Arc::downgrade(&usage));
        Account(usage)
    }

    /// Bytes of memory in use.
    pub(crate) fn memory_used(&self) -> u64 {
        self.memory.used.load(Ordering::Relaxed)
    }

    /// Bytes of temporary files in use.
    pub(crate) fn files_used(&self) -> u64 {
        self.files.used.load(Ordering::Relaxed)
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<IpAddr, Weak<Usage>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Usage {
    fn of(&self, kind: Kind) -> (&AtomicU64, &Level) {
        match kind {
            Kind::Memory => (&self.memory, &self.space.memory),
            Kind::Files => (&self.files, &self.space.files),
        }
    }
}

impl Drop for Usage {
    fn drop(&mut self) {
        let mut clients = self.space.clients();
        // Somebody may have opened another account for the same client meanwhile.
        if clients.get(&self.client).is_some_and(|usage| usage.strong_count() == 0) {
            clients.remove(&self.client);
        }
    }
}

impl Account {
    /// Whether this client may take more.
    pub(crate) fn has_room(&self, kind: Kind) -> bool {
        let (own, level) = self.0.of(kind);
        let capacity = level.capacity.load(Ordering::Relaxed);
        let free = capacity.saturating_sub(level.used.load(Ordering::Relaxed));
        own.load(Ordering::Relaxed) < free / FREE_DIVISOR
    }

    /// Charges `bytes`, whether or not there is room.
    pub(crate) fn charge(&self, kind: Kind, bytes: u64) -> Charge {
        let mut charge = Charge { account: self.clone(), kind, bytes: 0 };
        charge.set(bytes);
        charge
    }

    /// The temporary files, if bodies may go there.
    pub(crate) fn temporary(&self) -> Option<&TemporaryFiles> {
        self.0.space.temporary.get()
    }
}

impl Charge {
    /// Changes the charge to `bytes`.
    pub(crate) fn set(&mut self, bytes: u64) {
        let (own, level) = self.account.0.of(self.kind);
        for used in [own, &level.used] {
            match bytes.checked_sub(self.bytes) {
                Some(0) => {}
                Some(more) => drop(used.fetch_add(more, Ordering::Relaxed)),
                None => drop(used.fetch_sub(self.bytes - bytes, Ordering::Relaxed)),
            }
        }
        self.bytes = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_client_is_an_address_or_a_network_of_version_six_and_is_forgotten() {
        let space = Space::new(1000, 1000, None);
        let one = space.account(address("10.0.0.1"));
        let mapped = space.account(address("::ffff:10.0.0.1"));
        let other = space.account(address("10.0.0.2"));
        let near = [space.account(address("2001:db8::1")), space.account(address("2001:db8::2:3"))];
        let far = space.account(address("2001:db8:0:1::1"));
        let _held = one.charge(Kind::Memory, 400);
        let _also = near[0].charge(Kind::Memory, 400);
        assert!(!mapped.has_room(Kind::Memory) && other.has_room(Kind::Memory));
        assert!(!near[1].has_room(Kind::Memory) && far.has_room(Kind::Memory));
        assert!(one.has_room(Kind::Files), "memory and files are apart");
        assert_eq!(space.clients().len(), 4);
        drop((one, mapped, other, near, far, _held, _also));
        assert_eq!((space.clients().len(), space.memory_used()), (0, 0));
    }

    #[test]
    fn a_space_that_is_in_use_can_become_larger_and_smaller() {
        let space = Space::new(1000, 0, None);
        let (one, other) = (space.account(address("10.0.0.1")), space.account(address("10.0.0.2")));
        let held = one.charge(Kind::Memory, 900);
        assert!(!one.has_room(Kind::Memory) && other.has_room(Kind::Memory));
        space.resize(100_000, 1000, None);
        assert!(one.has_room(Kind::Memory) && other.has_room(Kind::Files));
        space.resize(500, 0, None);
        assert!(!other.has_room(Kind::Memory) && !other.has_room(Kind::Files));
        drop(held);
        assert!(other.has_room(Kind::Memory) && !space.has_temporary());
    }

    proptest! {
        /// However many clients take all they may, and whatever they give back, nobody is ever
        /// larger than who comes new could become, and there is room for one who comes new.
        #[test]
        fn the_largest_gives_way(
            steps in prop::collection::vec((0_u8..20, 1_u64..60, any::<bool>()), 0..2000),
        ) {
            const MOST: u64 = 64_000;
            let space = Space::new(MOST, 0, None);
            let accounts: Vec<_> = (0..20)
                .map(|number| space.account(IpAddr::from([10, 0, 0, number])))
                .collect();
            let mut held: Vec<Vec<Charge>> = accounts.iter().map(|_| Vec::new()).collect();
            for (number, bytes, gives_back) in steps {
                let number = usize::from(number);
                if gives_back {
                    held[number].pop();
                }
                let before = accounts[number].0.memory.load(Ordering::Relaxed);
                while accounts[number].has_room(Kind::Memory) {
                    held[number].push(accounts[number].charge(Kind::Memory, bytes));
                }
                let after = accounts[number].0.memory.load(Ordering::Relaxed);
                let free = MOST - space.memory_used();
                prop_assert!(after == before || after <= free / FREE_DIVISOR + bytes * (FREE_DIVISOR + 1));
                prop_assert!(space.account(address("10.0.1.1")).has_room(Kind::Memory));
            }
            drop(held);
            prop_assert_eq!(space.memory_used(), 0);
        }
    }
}
