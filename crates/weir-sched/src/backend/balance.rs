//! Which of several backends a request goes to: round robin, fewest requests, two choices, hashes.
//! Used by the server's proxy for each request of a route with more than one backend, and by its
//! configuration, which names the ways.
//!
//! Backends are told apart by their place in the list of the configuration.

mod random;
mod weights;

use std::fmt;
use std::str::FromStr;

use self::random::{SplitMix, mixed};
use self::weights::Weights;

/// The ways to choose, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Balance {
    /// One after the other.
    #[default]
    RoundRobin,
    /// The one with the fewest requests; one after the other among equals.
    LeastRequests,
    /// The one with fewer requests of two that are drawn at random (Mitzenmacher 2001, "The power
    /// of two choices in randomized load balancing"). Where several balancers share the backends
    /// they do not all run to the same one.
    TwoChoices,
    /// By the address of the client: one client stays with one backend.
    Hash,
    /// By the path: one path stays with one backend.
    HashPath,
}

impl Balance {
    /// Every way, in the order of the documentation.
    pub const ALL: [Balance; 5] = [
        Balance::RoundRobin,
        Balance::LeastRequests,
        Balance::TwoChoices,
        Balance::Hash,
        Balance::HashPath,
    ];

    /// The name in configuration and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Balance::RoundRobin => "round-robin",
            Balance::LeastRequests => "least-requests",
            Balance::TwoChoices => "two-choices",
            Balance::Hash => "hash",
            Balance::HashPath => "hash-path",
        }
    }
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Balance {
    type Err = UnknownBalance;

    fn from_str(name: &str) -> Result<Self, UnknownBalance> {
        let found = Balance::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownBalance(name.to_owned()))
    }
}

/// A name that is no balance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownBalance(String);

impl fmt::Display for UnknownBalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Balance::ALL.map(Balance::name).join(", ");
        write!(f, "no balance is called \"{}\"; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownBalance {}

/// Chooses among the backends of one route.
#[derive(Clone, Debug)]
pub struct Balancer {
    kind: Balance,
    count: usize,
    /// Who is first in turn.
    turn: usize,
    random: SplitMix,
    /// If they differ.
    weights: Option<Weights>,
}

impl Balancer {
    /// A balancer for `count` backends. The same `seed` makes the same random choices; hashes do not
    /// depend on it, so all workers and all servers agree on them.
    pub fn new(kind: Balance, count: usize, seed: u64) -> Balancer {
        Balancer { kind, count, turn: 0, random: SplitMix(seed), weights: None }
    }

    /// The same for backends with these weights, at least 1: each gets requests in proportion to its own.
    /// For `LeastRequests` and `TwoChoices` that is the number under way at a time.
    pub fn weighted(kind: Balance, weights: &[u32], seed: u64) -> Balancer {
        let differ = weights.windows(2).any(|pair| pair[0] != pair[1]);
        let uneven = differ.then(|| Weights::new(weights));
        Balancer { weights: uneven, ..Balancer::new(kind, weights.len(), seed) }
    }

    /// The backend for the next request. `loads` holds the requests of each backend that wait or
    /// are under way, `None` for one that is not well; what is missing at the end counts as not
    /// well, what is too much is ignored. `key` is what hashes go by, well mixed or not.
    ///
    /// If no backend is well the choice is among all of them, as if nothing were known of their
    /// loads: one of them may be well by now, and without asking nobody would find out. `None` only
    /// if there are no backends. Takes O(backends).
    pub fn pick(&mut self, loads: &[Option<usize>], key: u64) -> Option<usize> {
        let any = loads.iter().take(self.count).any(Option::is_some);
        let load = |backend: usize| match any {
            true => loads.get(backend).copied().flatten(),
            false => Some(0),
        };
        if let Some(weights) = &mut self.weights {
            return match self.kind {
                Balance::RoundRobin => weights.in_turn(|backend| load(backend).is_some()),
                Balance::LeastRequests => weights.least(load),
                Balance::TwoChoices => weights.two_choices(load, &mut self.random),
                Balance::Hash | Balance::HashPath => weights.hashed(load, key),
            };
        }
        match self.kind {
            Balance::RoundRobin => self.least(|backend| load(backend).map(|_| 0)),
            Balance::LeastRequests => self.least(load),
            Balance::TwoChoices => self.two_choices(load),
            Balance::Hash | Balance::HashPath => rendezvous(self.count, load, key),
        }
    }

    /// The backend with the least load, the first in turn among equals; the one after it is then
    /// first in turn.
    fn least(&mut self, load: impl Fn(usize) -> Option<usize>) -> Option<usize> {
        let in_turn = (self.turn..self.count).chain(0..self.turn);
        let loaded = in_turn.filter_map(|backend| Some((load(backend)?, backend)));
        // The first of equals: `min_by_key` promises that.
        let (_, chosen) = loaded.min_by_key(|(load, _)| *load)?;
        self.turn = (chosen + 1) % self.count;
        Some(chosen)
    }

    fn two_choices(&mut self, load: impl Fn(usize) -> Option<usize>) -> Option<usize> {
        let count = self.count;
        let well = || (0..count).filter_map(|backend| Some((load(backend)?, backend)));
        let number = well().count();
        if number <= 1 {
            return well().next().map(|(_, backend)| backend);
        }
        let first = self.random.below(number);
        let second = self.random.below(number - 1);
        // The second is drawn from the others.
        let second = if second >= first { second + 1 } else { second };
        let chosen = [first, second]
            .into_iter()
            .filter_map(|place| well().nth(place))
            .min_by_key(|(load, _)| *load);
        chosen.map(|(_, backend)| backend)
    }
}

/// The well backend that weighs most together with the key (highest random weight, Thaler and
/// Ravishankar 1998): when one is lost only its keys move, and they come back with it.
fn rendezvous(count: usize, load: impl Fn(usize) -> Option<usize>, key: u64) -> Option<usize> {
    let weight = |backend: usize| mixed(key ^ mixed(backend as u64 + 1));
    (0..count).filter(|backend| load(*backend).is_some()).max_by_key(|backend| weight(*backend))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn picks(balancer: &mut Balancer, loads: &[Option<usize>], times: u64) -> Vec<usize> {
        (0..times).map(|key| balancer.pick(loads, key).unwrap()).collect()
    }

    #[test]
    fn names_are_read_as_they_are_printed() {
        for kind in Balance::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "random".parse::<Balance>().unwrap_err().to_string();
        assert!(error.contains("\"random\"; there are round-robin, least-requests"), "{error}");
    }

    #[test]
    fn round_robin_skips_the_unwell() {
        let mut balancer = Balancer::new(Balance::RoundRobin, 3, 0);
        assert_eq!(picks(&mut balancer, &[Some(9), Some(0), Some(5)], 5), [0, 1, 2, 0, 1]);
        assert_eq!(picks(&mut balancer, &[Some(0), None, Some(0)], 4), [2, 0, 2, 0]);
        assert_eq!(picks(&mut balancer, &[None, None, None], 4), [1, 2, 0, 1]);
    }

    #[test]
    fn least_requests_takes_equals_in_turn() {
        let mut balancer = Balancer::new(Balance::LeastRequests, 4, 0);
        assert_eq!(picks(&mut balancer, &[Some(2), Some(1), None, Some(1)], 4), [1, 3, 1, 3]);
        assert_eq!(picks(&mut balancer, &[None; 4], 5), [0, 1, 2, 3, 0]);
    }

    #[test]
    fn two_choices_never_takes_the_most_loaded_and_takes_all_others() {
        let mut balancer = Balancer::new(Balance::TwoChoices, 4, 7);
        let chosen = picks(&mut balancer, &[Some(3), Some(9), Some(1), Some(2)], 300);
        assert!(!chosen.contains(&1));
        // With four backends, half of the pairs hold the least loaded one, a third of them the
        // next without the least, and a sixth the third with the most loaded.
        for (backend, expected) in [(2, 150), (3, 100), (0, 50)] {
            let count = chosen.iter().filter(|one| **one == backend).count();
            assert!(count.abs_diff(expected) < 40, "{backend}: {count}, not about {expected}");
        }
        let again = picks(&mut Balancer::new(Balance::TwoChoices, 4, 7), &[Some(0); 4], 20);
        let equal = picks(&mut Balancer::new(Balance::TwoChoices, 4, 7), &[Some(0); 4], 20);
        assert_eq!(again, equal, "not repeatable");
        let other = picks(&mut Balancer::new(Balance::TwoChoices, 4, 8), &[Some(0); 4], 20);
        assert_ne!(again, other, "the seed does nothing");
    }

    #[test]
    fn hashes_are_spread_evenly_and_know_no_seed() {
        let mut balancer = Balancer::new(Balance::Hash, 5, 1);
        let chosen = picks(&mut balancer, &[Some(0); 5], 10_000);
        for backend in 0..5 {
            let count = chosen.iter().filter(|one| **one == backend).count();
            assert!(count.abs_diff(2000) < 200, "{backend}: {count}, not about 2000");
        }
        let mut other = Balancer::new(Balance::HashPath, 5, 2);
        assert_eq!(picks(&mut other, &[Some(7); 5], 10_000), chosen);
    }

    #[test]
    fn equal_weights_change_nothing_and_unequal_ones_do() {
        let loads = [Some(0), None, Some(0)];
        for kind in Balance::ALL {
            let plain = picks(&mut Balancer::new(kind, 3, 5), &loads, 50);
            let equal = picks(&mut Balancer::weighted(kind, &[4, 4, 4], 5), &loads, 50);
            assert_eq!(plain, equal, "{kind}");
            let uneven = picks(&mut Balancer::weighted(kind, &[1, 9, 4], 5), &loads, 50);
            let heavy = uneven.iter().filter(|backend| **backend == 2).count();
            assert!(heavy > 30 && !uneven.contains(&1), "{kind}: {uneven:?}");
            let none_well = picks(&mut Balancer::weighted(kind, &[1, 9, 4], 5), &[None; 3], 50);
            assert!(none_well.contains(&1), "{kind}: {none_well:?}");
        }
    }

    proptest! {
        #[test]
        fn the_well_are_chosen_if_there_are_any(
            kind in prop::sample::select(Balance::ALL.to_vec()),
            rounds in prop::collection::vec(
                (prop::collection::vec(prop::option::of(0usize..4), 0..8), any::<u64>()), 1..40),
            count in 0usize..7,
            seed in any::<u64>(),
        ) {
            let mut balancer = Balancer::new(kind, count, seed);
            for (loads, key) in rounds {
                let picked = balancer.pick(&loads, key);
                let known = &loads[..loads.len().min(count)];
                let least = known.iter().flatten().min().copied();
                match picked {
                    None => prop_assert_eq!(count, 0),
                    Some(backend) if least.is_none() => prop_assert!(backend < count),
                    Some(backend) => {
                        let load = known.get(backend).copied().flatten();
                        prop_assert!(load.is_some(), "{backend} is not well");
                        if kind == Balance::LeastRequests {
                            prop_assert_eq!(load, least);
                        }
                    }
                }
            }
        }

        /// With the same ones well all the while, nobody gets two requests more than another.
        #[test]
        fn turns_are_fair(
            loads in prop::collection::vec(prop::option::of(Just(1usize)), 1..8),
            times in 1usize..60,
            kind in prop::sample::select(vec![Balance::RoundRobin, Balance::LeastRequests]),
        ) {
            let mut balancer = Balancer::new(kind, loads.len(), 0);
            let mut counts = vec![0usize; loads.len()];
            for _ in 0..times {
                counts[balancer.pick(&loads, 0).unwrap()] += 1;
            }
            let none_well = loads.iter().all(Option::is_none);
            let shares = || {
                let in_turn = loads.iter().zip(&counts).filter(|(load, _)| none_well || load.is_some());
                in_turn.map(|(_, count)| *count)
            };
            prop_assert!(shares().max().unwrap() - shares().min().unwrap() <= 1, "{:?}", counts);
        }

        #[test]
        fn only_the_keys_of_a_lost_backend_move(
            count in 2usize..8, lost in 0usize..8, keys in prop::collection::vec(any::<u64>(), 1..50),
        ) {
            let lost = lost % count;
            let all = vec![Some(0); count];
            let mut without = all.clone();
            without[lost] = None;
            let mut balancer = Balancer::new(Balance::Hash, count, 0);
            for key in keys {
                let before = balancer.pick(&all, key).unwrap();
                let after = balancer.pick(&without, key).unwrap();
                prop_assert!(after != lost);
                prop_assert!(before == lost || before == after, "{key} moved without need");
            }
        }
    }
}
