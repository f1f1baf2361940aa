//! The backends of one route and which of them a request goes to. It does not call them.

use std::sync::{Arc, Mutex, PoisonError};

use weir_sched::balance::Balancer;

use super::backend::Backend;

/// Backends and the choice among them, for all workers.
#[derive(Debug)]
pub(super) struct Backends {
    pub(super) all: Vec<Arc<Backend>>,
    balancer: Mutex<Balancer>,
}

impl Backends {
    pub(super) fn new(all: Vec<Arc<Backend>>, balancer: Balancer) -> Backends {
        Backends { all, balancer: Mutex::new(balancer) }
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
        let loads: Vec<_> = self.all.iter().enumerate().map(weigh).collect();
        let mut balancer = self.balancer.lock().unwrap_or_else(PoisonError::into_inner);
        let picked = balancer.pick(&loads, key)?;
        // Of none that is well it picks any: one that was tried already is no use.
        match tried.contains(&picked) {
            false => Some(picked),
            true => (0..self.all.len()).find(|place| !tried.contains(place)),
        }
    }
}
