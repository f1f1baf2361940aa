//! How long calls are expected to take, learned from past calls by route and kind. It knows nothing
//! of queues.
//!
//! Under an order by expected time a kind that seemed long once might never be called again, and so
//! never be corrected. So the longer a kind was not seen, the shorter it is taken to be.

use std::collections::BTreeMap;
use std::time::Duration;

use foldhash::HashMap;

use crate::time::Time;

/// Kinds remembered; of more, the one that has not been seen for longest is forgotten.
const MOST_KINDS: usize = 4096;
/// Routes are told apart up to here; more share.
const MOST_ROUTES: u32 = 1024;
/// A kind's mean forgets with a weight of one in so many; a new kind's is the plain mean.
const KIND_MEMORY: u32 = 16;
/// The same for all kinds of a route together, which differ much more.
const ROUTE_MEMORY: u32 = 256;

/// A kind that was not seen for so long is taken to be half as long. At three times what a backend
/// can do, trying what is really long costs it some 5 % of its time.
const HALVED_AFTER: Duration = Duration::from_secs(20);

/// A mean that forgets.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    nanos: f64,
    seen: u32,
}

impl Mean {
    fn add(&mut self, nanos: f64, memory: u32) {
        self.seen = (self.seen + 1).min(memory);
        self.nanos += (nanos - self.nanos) / f64::from(self.seen);
    }
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    mean: Mean,
    /// When it was last seen, as a count of observations.
    used: u64,
    /// The same as a time.
    at: Time,
}

/// Mean service times by route and kind.
#[derive(Debug, Default)]
pub(super) struct Expected {
    kinds: HashMap<(u32, u64), Kind>,
    /// The same kinds in the order of their last use.
    by_use: BTreeMap<u64, (u32, u64)>,
    routes: BTreeMap<u32, Mean>,
    observations: u64,
}

impl Expected {
    /// A call of this kind took so long. Kind 0 is unknown: it teaches about its route only.
    pub(super) fn learn(&mut self, now: Time, route: u32, kind: u64, took: Duration) {
        let route = route % MOST_ROUTES;
        let nanos = took.as_nanos() as f64;
        self.routes.entry(route).or_default().add(nanos, ROUTE_MEMORY);
        if kind == 0 {
            return;
        }
        self.observations += 1;
        let used = self.observations;
        let known = self.kinds.entry((route, kind)).or_insert(Kind {
            mean: Mean::default(),
            used,
            at: now,
        });
        self.by_use.remove(&known.used);
        (known.used, known.at) = (used, now);
        known.mean.add(nanos, KIND_MEMORY);
        self.by_use.insert(used, (route, kind));
        if self.kinds.len() > MOST_KINDS
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.kinds.remove(&oldest);
        }
    }

    /// What calls of this kind took: the mean of its kind, of its route while the kind is unknown.
    pub(super) fn mean(&self, route: u32, kind: u64) -> Option<Duration> {
        let route = route % MOST_ROUTES;
        let kind = self.kinds.get(&(route, kind)).map(|known| known.mean);
        let mean = kind.or_else(|| self.routes.get(&route).copied())?;
        Some(Duration::from_nanos(mean.nanos as u64))
    }

    /// What calls of this kind took, if any is known.
    pub(super) fn of_kind(&self, route: u32, kind: u64) -> Option<Duration> {
        let known = self.kinds.get(&(route % MOST_ROUTES, kind))?;
        Some(Duration::from_nanos(known.mean.nanos as u64))
    }

    /// What a call of this kind takes: the mean of its kind, less the longer it was not seen; of its
    /// route while the kind is unknown, nothing while the route is.
    pub(super) fn of(&self, now: Time, route: u32, kind: u64) -> Option<Duration> {
        let route = route % MOST_ROUTES;
        let nanos = match self.kinds.get(&(route, kind)) {
            Some(known) => {
                let unseen = now.since(known.at).as_secs_f64() / HALVED_AFTER.as_secs_f64();
                known.mean.nanos * (-unseen).exp2()
            }
            None => self.routes.get(&route)?.nanos,
        };
        Some(Duration::from_nanos(nanos as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::ZERO;
    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_kind_is_its_own_mean_and_an_unknown_one_its_routes() {
        let mut expected = Expected::default();
        assert_eq!(expected.of(NOW, 1, 7), None);
        expected.learn(NOW, 1, 7, 2 * MS);
        expected.learn(NOW, 1, 7, 4 * MS);
        expected.learn(NOW, 1, 8, 12 * MS);
        assert_eq!(expected.of(NOW, 1, 7), Some(3 * MS));
        assert_eq!(expected.of(NOW, 1, 9), Some(6 * MS));
        assert_eq!(expected.of(NOW, 1, 0), Some(6 * MS));
        assert_eq!(expected.of(NOW, 2, 7), None, "another route's kinds are its own");
    }

    #[test]
    fn a_change_is_followed() {
        let mut expected = Expected::default();
        for took in [10, 100] {
            (0..200).for_each(|_| expected.learn(NOW, 1, 7, took * MS));
        }
        let now = expected.of(NOW, 1, 7).unwrap_or_default();
        assert!(now > 99 * MS && now <= 100 * MS, "{now:?}");
    }

    #[test]
    fn the_kind_not_seen_for_longest_is_forgotten() {
        let mut expected = Expected::default();
        let most = MOST_KINDS as u64;
        for kind in 1..=most {
            expected.learn(NOW, 0, kind, 5 * MS);
        }
        expected.learn(NOW, 0, 1, 5 * MS);
        expected.learn(NOW, 0, 0, 1000 * MS);
        expected.learn(NOW, 0, most + 1, 5 * MS);
        assert_eq!((expected.kinds.len(), expected.by_use.len()), (MOST_KINDS, MOST_KINDS));
        assert_eq!(expected.of(NOW, 0, 1), Some(5 * MS));
        assert_ne!(expected.of(NOW, 0, 2), Some(5 * MS), "only its route is known any more");
    }

    #[test]
    fn what_seemed_long_is_tried_again() {
        let mut expected = Expected::default();
        expected.learn(NOW, 1, 7, 600 * MS);
        let after = |seconds| expected.of(NOW + Duration::from_secs(seconds), 1, 7);
        assert_eq!(
            (after(0), after(20), after(60)),
            (Some(600 * MS), Some(300 * MS), Some(75 * MS))
        );
    }
}
