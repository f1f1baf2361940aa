//! The backends of one route and which of them a request goes to. It does not call them.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use weir_sched::balance::{Balance, Balancer};

use super::backend::Backend;

/// Backends and the choice among them, for all workers.
#[derive(Debug)]
pub(super) struct Backends {
    pub(super) all: Vec<Arc<Backend>>,
    balancer: Mutex<Balancer>,
    /// Requests that belong together go to one backend, whatever waits there.
    sticky: bool,
}

impl Backends {
    pub(super) fn new(all: Vec<Arc<Backend>>, balance: Balance, seed: u64) -> Backends {
        let balancer = Mutex::new(Balancer::new(balance, all.len(), seed));
        Backends { all, balancer, sticky: matches!(balance, Balance::Hash | Balance::HashPath) }
    }

    /// The one that `client` asks next, by its place; `key` gives what requests that belong
    /// together share.
    ///
    /// `tried`: those that could not be reached for this request.
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
        // Nobody goes to wait for one backend while another could begin.
        let only_with_room = !self.sticky && loads.iter().flatten().any(|(_, has_room)| *has_room);
        let eligible =
            |load: Option<(usize, bool)>| load.filter(|(_, has_room)| *has_room || !only_with_room);
        let loads: Vec<_> =
            loads.into_iter().map(|it| eligible(it).map(|(load, _)| load)).collect();
        let mut balancer = self.balancer.lock().unwrap_or_else(PoisonError::into_inner);
        let picked = balancer.pick(&loads, key())?;
        // Of none that is well it picks any: one that was tried already is no use.
        match tried.contains(&picked) {
            false => Some(picked),
            true => (0..self.all.len()).find(|index| !tried.contains(index)),
        }
    }
}
