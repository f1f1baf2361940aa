//! How long calls take and how long they have slots, learned from past calls by route and kind. For
//! the gate: what a call is expected to take, and what is counted for it against its client.
//!
//! Under an order by expected time a kind that seemed long once might never be called again, and so
//! never be corrected. So the longer a kind was not seen, the shorter it is taken to be.

use std::collections::BTreeMap;
use std::time::Duration;

use foldhash::HashMap;

use super::mean::Mean;
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

/// What is known of the calls of a kind, or of a route.
#[derive(Clone, Copy, Debug, Default)]
struct Means {
    /// How long they take.
    service: Mean,
    /// How long they have slots.
    slot: Mean,
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    means: Means,
    /// When it was last seen, as a count of observations.
    used: u64,
    /// When it was last served.
    at: Time,
}

/// Means by route and kind.
#[derive(Debug, Default)]
pub(super) struct ServiceTimes {
    kinds: HashMap<(u32, u64), Kind>,
    /// The same kinds in the order of their last use.
    by_use: BTreeMap<u64, (u32, u64)>,
    routes: BTreeMap<u32, Means>,
    observations: u64,
}

impl ServiceTimes {
    /// A call of this kind took so long. Kind 0 is unknown: it teaches about its route only.
    pub(super) fn served(&mut self, now: Time, route: u32, kind: u64, took: Duration) {
        let route = route % MOST_ROUTES;
        self.routes.entry(route).or_default().service.add(took, ROUTE_MEMORY);
        if kind != 0 {
            let known = self.kind(now, route, kind);
            known.at = now;
            known.means.service.add(took, KIND_MEMORY);
        }
    }

    /// A call of this kind had its slot for so long, as [`ServiceTimes::served`].
    pub(super) fn slot_freed(&mut self, now: Time, route: u32, kind: u64, took: Duration) {
        let route = route % MOST_ROUTES;
        self.routes.entry(route).or_default().slot.add(took, ROUTE_MEMORY);
        if kind != 0 {
            self.kind(now, route, kind).means.slot.add(took, KIND_MEMORY);
        }
    }

    /// How long calls of this kind took: of its route while the kind is unknown.
    pub(super) fn service(&self, route: u32, kind: u64) -> Option<Duration> {
        self.mean(route, kind, |means| means.service)
    }

    /// How long calls of this kind had slots: of its route while the kind is unknown.
    pub(super) fn slot(&self, route: u32, kind: u64) -> Option<Duration> {
        self.mean(route, kind, |means| means.slot)
    }

    /// How long calls of this kind had slots, if any did.
    pub(super) fn slot_of_kind(&self, route: u32, kind: u64) -> Option<Duration> {
        let known = self.kinds.get(&(route % MOST_ROUTES, kind))?;
        Some(known.means.slot.known()?.duration())
    }

    /// What a call of this kind takes: the mean of its kind, less the longer it was not seen; of its
    /// route while the kind is unknown, nothing while the route is.
    pub(super) fn of(&self, now: Time, route: u32, kind: u64) -> Option<Duration> {
        let known = self.kinds.get(&(route % MOST_ROUTES, kind));
        let Some((known, mean)) = known.and_then(|it| Some((it, it.means.service.known()?))) else {
            return self.service(route, 0);
        };
        let unseen = now.since(known.at).as_secs_f64() / HALVED_AFTER.as_secs_f64();
        Some(Duration::from_nanos((mean.nanos() * (-unseen).exp2()) as u64))
    }

    fn mean(&self, route: u32, kind: u64, which: impl Fn(&Means) -> Mean) -> Option<Duration> {
        let route = route % MOST_ROUTES;
        let kind = self.kinds.get(&(route, kind)).and_then(|it| which(&it.means).known());
        let mean = kind.or_else(|| which(self.routes.get(&route)?).known())?;
        Some(mean.duration())
    }

    /// The kind, used just now.
    fn kind(&mut self, now: Time, route: u32, kind: u64) -> &mut Kind {
        const NEW: u64 = u64::MAX;
        let ServiceTimes { kinds, by_use, observations, .. } = self;
        let id = (route, kind);
        if kinds.len() >= MOST_KINDS
            && !kinds.contains_key(&id)
            && let Some((_, oldest)) = by_use.pop_first()
        {
            kinds.remove(&oldest);
        }
        let known = kinds.entry(id).or_insert(Kind { means: Means::default(), used: NEW, at: now });
        // The last that was used stays the last.
        if known.used != *observations {
            *observations += 1;
            by_use.remove(&known.used);
            by_use.insert(*observations, id);
            known.used = *observations;
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::ZERO;
    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_kind_is_its_own_mean_and_an_unknown_one_its_routes() {
        let mut expected = ServiceTimes::default();
        assert_eq!(expected.of(NOW, 1, 7), None);
        expected.served(NOW, 1, 7, 2 * MS);
        expected.served(NOW, 1, 7, 4 * MS);
        expected.served(NOW, 1, 8, 12 * MS);
        assert_eq!(expected.of(NOW, 1, 7), Some(3 * MS));
        assert_eq!(expected.of(NOW, 1, 9), Some(6 * MS));
        assert_eq!(expected.of(NOW, 1, 0), Some(6 * MS));
        assert_eq!(expected.of(NOW, 2, 7), None, "another route's kinds are its own");
    }

    #[test]
    fn a_change_is_followed() {
        let mut expected = ServiceTimes::default();
        for took in [10, 100] {
            (0..200).for_each(|_| expected.served(NOW, 1, 7, took * MS));
        }
        let now = expected.of(NOW, 1, 7).unwrap_or_default();
        assert!(now > 99 * MS && now <= 100 * MS, "{now:?}");
    }

    #[test]
    fn the_kind_not_seen_for_longest_is_forgotten() {
        let mut expected = ServiceTimes::default();
        let most = MOST_KINDS as u64;
        for kind in 1..=most {
            expected.served(NOW, 0, kind, 5 * MS);
        }
        expected.served(NOW, 0, 1, 5 * MS);
        expected.served(NOW, 0, 0, 1000 * MS);
        expected.served(NOW, 0, most + 1, 5 * MS);
        assert_eq!((expected.kinds.len(), expected.by_use.len()), (MOST_KINDS, MOST_KINDS));
        assert_eq!(expected.of(NOW, 0, 1), Some(5 * MS));
        assert_ne!(expected.of(NOW, 0, 2), Some(5 * MS), "only its route is known any more");
    }

    #[test]
    fn how_long_calls_have_slots_is_told_apart_from_how_long_they_take() {
        let mut expected = ServiceTimes::default();
        expected.slot_freed(NOW, 1, 7, 8 * MS);
        assert_eq!((expected.slot(1, 7), expected.slot(1, 9)), (Some(8 * MS), Some(8 * MS)));
        assert_eq!(
            (expected.slot_of_kind(1, 7), expected.slot_of_kind(1, 9)),
            (Some(8 * MS), None)
        );
        assert_eq!((expected.service(1, 7), expected.of(NOW, 1, 7)), (None, None));
        expected.served(NOW, 1, 7, 2 * MS);
        assert_eq!((expected.service(1, 7), expected.slot(1, 7)), (Some(2 * MS), Some(8 * MS)));
        assert_eq!((expected.kinds.len(), expected.by_use.len()), (1, 1));
    }

    #[test]
    fn what_seemed_long_is_tried_again() {
        let mut expected = ServiceTimes::default();
        expected.served(NOW, 1, 7, 600 * MS);
        let after = |seconds| expected.of(NOW + Duration::from_secs(seconds), 1, 7);
        assert_eq!(
            (after(0), after(20), after(60)),
            (Some(600 * MS), Some(300 * MS), Some(75 * MS))
        );
    }
}
