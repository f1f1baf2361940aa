//! The backends of one route, and the choice among them. Used by [`mod@super::respond`].

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use weir_sched::balance::{Balance, Balancer};

use super::backend::Backend;

/// Backends and the choice among them, for all workers.
#[derive(Debug)]
pub(super) struct Backends {
    pub(super) all: Vec<Arc<Backend>>,
    balancer: Mutex<Balancer>,
    /// The balance hashes: equal requests go to one backend, however long its queue is.
    sticky: bool,
}

impl Backends {
    /// `weights`: one for each of `all`, if they differ.
    pub(super) fn new(
        all: Vec<Arc<Backend>>,
        balance: Balance,
        weights: Option<&[u32]>,
        seed: u64,
    ) -> Backends {
        let balancer = match weights {
            Some(weights) => Balancer::weighted(balance, weights, seed),
            None => Balancer::new(balance, all.len(), seed),
        };
        let sticky = matches!(balance, Balance::Hash | Balance::HashPath);
        Backends { all, balancer: Mutex::new(balancer), sticky }
    }

    /// The number of the backend to try next for `client`. `key` is what a hashing balance hashes;
    /// `tried` are the backends that failed for this request. `None`: all were tried.
    pub(super) fn pick(
        &self,
        client: IpAddr,
        key: impl Fn() -> u64,
        tried: &[usize],
    ) -> Option<usize> {
        if self.all.len() == 1 {
            return tried.is_empty().then_some(0);
        }
        let load = |(index, backend): (usize, &Arc<Backend>)| match tried.contains(&index) {
            true => None,
            false => backend.load(client),
        };
        let loads: Vec<_> = self.all.iter().enumerate().map(load).collect();
        // No request queues at one backend while another could start it at once.
        let only_with_room = !self.sticky && loads.iter().flatten().any(|(_, has_room)| *has_room);
        let eligible =
            |load: Option<(usize, bool)>| load.filter(|(_, has_room)| *has_room || !only_with_room);
        let loads: Vec<_> =
            loads.into_iter().map(|it| eligible(it).map(|(load, _)| load)).collect();
        let mut balancer = self.balancer.lock().unwrap_or_else(PoisonError::into_inner);
        let picked = balancer.pick(&loads, key())?;
        // With no healthy backend the balancer picks any; one that was tried is of no use.
        match tried.contains(&picked) {
            false => Some(picked),
            true => (0..self.all.len()).find(|index| !tried.contains(index)),
        }
    }
}
