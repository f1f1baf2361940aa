//! The backends of one route and which of them a request goes to. It does not call them.

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

    /// The one to ask next, by its place; `key` is what requests that belong together share.
    ///
    /// `tried`: those that could not be reached for this request.
    pub(super) fn pick(&self, key: u64, tried: &[usize]) -> Option<usize> {
        if self.all.len() == 1 {
            return tried.is_empty().then_some(0);
        }
        let weigh = |(place, backend): (usize, &Arc<Backend>)| match tried.contains(&place) {
            true => None,
            false => backend.weight(),
        };
        let mut loads: Vec<_> = self.all.iter().enumerate().map(weigh).collect();
        if !self.sticky {
            self.leave_out_full(&mut loads);
        }
        let mut balancer = self.balancer.lock().unwrap_or_else(PoisonError::into_inner);
        let picked = balancer.pick(&loads, key)?;
        // Of none that is well it picks any: one that was tried already is no use.
        match tried.contains(&picked) {
            false => Some(picked),
            true => (0..self.all.len()).find(|place| !tried.contains(place)),
        }
    }

    /// Nobody waits for one backend while another could begin: those that could not are left out, if
    /// there are any that could.
    fn leave_out_full(&self, loads: &mut [Option<usize>]) {
        let has_room = |place: usize| self.all[place].has_room();
        let able: Vec<bool> = loads
            .iter()
            .enumerate()
            .map(|(place, load)| load.is_some() && has_room(place))
            .collect();
        if able.contains(&true) {
            for (load, able) in loads.iter_mut().zip(able) {
                *load = load.filter(|_| able);
            }
        }
    }
}
