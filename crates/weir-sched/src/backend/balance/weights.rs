//! The choice among backends of different weights: each gets requests in proportion to its own. Used by
//! [`super::Balancer`] where weights differ.

use std::cmp::Ordering;

use super::random::{SplitMix, mixed};

/// The weights of the backends, by their place, and whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    /// At least 1 each.
    each: Vec<u32>,
    /// What each is ahead of its turns (above 0: behind).
    owed: Vec<i64>,
}

impl Weights {
    /// A weight of 0 is taken for 1.
    pub(super) fn new(weights: &[u32]) -> Weights {
        let each = weights.iter().map(|weight| (*weight).max(1)).collect();
        Weights { each, owed: vec![0; weights.len()] }
    }

    /// Smooth turns, as nginx has them: each is owed its weight with every request, and who is owed most
    /// is chosen and pays for all. So a heavy backend gets its requests spread over the others' and not in
    /// a row.
    pub(super) fn in_turn(&mut self, is_eligible: impl Fn(usize) -> bool) -> Option<usize> {
        let (mut total, mut chosen) = (0, None);
        for (backend, (weight, owed)) in self.each.iter().zip(&mut self.owed).enumerate() {
            if !is_eligible(backend) {
                continue;
            }
            *owed += i64::from(*weight);
            total += i64::from(*weight);
            // The first of equals.
            if chosen.is_none_or(|(_, most)| *owed > most) {
                chosen = Some((backend, *owed));
            }
        }
        let (backend, _) = chosen?;
        self.owed[backend] -= total;
        Some(backend)
    }

    /// The one that would have the fewest requests for its weight with one more; smooth turns among
    /// equals.
    pub(super) fn least(&mut self, load: impl Fn(usize) -> Option<usize>) -> Option<usize> {
        let loads: Vec<Option<usize>> = (0..self.each.len()).map(load).collect();
        let well = loads.iter().enumerate().filter_map(|(backend, load)| Some((backend, (*load)?)));
        let least = well.min_by(|one, other| self.compare(*one, *other))?;
        let weights = self.each.clone();
        self.in_turn(|backend| {
            let is_equal = |load| compare(&weights, (backend, load), least) == Ordering::Equal;
            loads[backend].is_some_and(is_equal)
        })
    }

    /// The one with fewer requests for its weight of two that are drawn by weight.
    pub(super) fn two_choices(
        &self,
        load: impl Fn(usize) -> Option<usize>,
        random: &mut SplitMix,
    ) -> Option<usize> {
        let first = self.draw(|backend| load(backend).is_some(), random)?;
        let is_other = |backend| backend != first && load(backend).is_some();
        let second = self.draw(is_other, random).unwrap_or(first);
        let drawn = [first, second].into_iter().filter_map(|one| Some((one, load(one)?)));
        let chosen = drawn.min_by(|one, other| self.compare(*one, *other));
        chosen.map(|(backend, _)| backend)
    }

    /// One drawn at random, by weight.
    fn draw(&self, is_eligible: impl Fn(usize) -> bool, random: &mut SplitMix) -> Option<usize> {
        let eligible = || (0..self.each.len()).filter(|backend| is_eligible(*backend));
        let total: usize = eligible().map(|backend| self.each[backend] as usize).sum();
        let mut at = random.below(total);
        eligible().find(|backend| {
            let weight = self.each[*backend] as usize;
            let is_here = at < weight;
            at = at.saturating_sub(weight);
            is_here
        })
    }

    /// The well backend that scores most with the key (weighted rendezvous, Schindelhauer and Schomaker
    /// 2005): each has keys in proportion to its weight, and when one is lost only its keys move.
    pub(super) fn hashed(&self, load: impl Fn(usize) -> Option<usize>, key: u64) -> Option<usize> {
        let score = |backend: &usize| {
            // 53 bits, which a float has, as a number between 0 and 1.
            let bits = mixed(key ^ mixed(*backend as u64 + 1)) >> 11;
            let uniform = (bits as f64 + 0.5) / (1_u64 << 53) as f64;
            f64::from(self.each[*backend]) / -uniform.ln()
        };
        let well = (0..self.each.len()).filter(|backend| load(*backend).is_some());
        well.max_by(|one, other| score(one).total_cmp(&score(other)))
    }

    fn compare(&self, one: (usize, usize), other: (usize, usize)) -> Ordering {
        compare(&self.each, one, other)
    }
}

/// Which of two backends, each with its load, would have fewer requests for its weight with one more.
fn compare(weights: &[u32], one: (usize, usize), other: (usize, usize)) -> Ordering {
    let with_one_more = |(_, load): (usize, usize)| load as u128 + 1;
    let weight = |(backend, _): (usize, usize)| u128::from(weights[backend]);
    (with_one_more(one) * weight(other)).cmp(&(with_one_more(other) * weight(one)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_heavy_one_gets_its_turns_spread_over_the_others() {
        let mut weights = Weights::new(&[5, 1, 1]);
        let turns: Vec<_> = (0..7).map(|_| weights.in_turn(|_| true).unwrap()).collect();
        // nginx's example.
        assert_eq!(turns, [0, 0, 1, 0, 2, 0, 0]);
        let turns: Vec<_> =
            (0..2).map(|_| weights.in_turn(|backend| backend > 0).unwrap()).collect();
        assert_eq!(turns, [1, 2]);
        assert_eq!(weights.in_turn(|_| false), None);
    }

    #[test]
    fn the_least_is_that_for_its_weight() {
        let mut weights = Weights::new(&[3, 1]);
        let mut loads = [0_usize; 2];
        for _ in 0..40 {
            let chosen = weights.least(|backend| Some(loads[backend])).unwrap();
            loads[chosen] += 1;
        }
        assert_eq!(loads, [30, 10]);
        assert_eq!(weights.least(|backend| (backend == 1).then_some(900)), Some(1));
        assert_eq!(weights.least(|_| None), None);
    }

    #[test]
    fn draws_and_hashes_go_by_weight() {
        let weights = Weights::new(&[1, 0, 8]);
        let mut random = SplitMix(7);
        let mut drawn = [0_usize; 3];
        for _ in 0..10_000 {
            drawn[weights.draw(|_| true, &mut random).unwrap()] += 1;
        }
        let mut hashed = [0_usize; 3];
        for key in 0..10_000 {
            hashed[weights.hashed(|_| Some(0), key).unwrap()] += 1;
        }
        for counts in [drawn, hashed] {
            for (count, expected) in counts.into_iter().zip([1000, 1000, 8000]) {
                assert!(count.abs_diff(expected) < 200, "{counts:?}");
            }
        }
        let one_well = |backend| (backend == 1).then_some(5);
        assert_eq!(weights.two_choices(one_well, &mut random), Some(1));
        assert_eq!(weights.two_choices(|_| None, &mut random), None);
        // Of two with room for their weight, the freer one.
        let loads = |backend| Some([0, 50, 0][backend]);
        assert!((0..200).all(|_| weights.two_choices(loads, &mut random) != Some(1)));
    }

    proptest! {
        /// In each round of all turns everybody has exactly as many as its weight.
        #[test]
        fn a_round_has_every_weight(
            each in prop::collection::vec(1_u32..9, 1..6),
            rounds in 1_usize..4,
        ) {
            let mut weights = Weights::new(&each);
            let total: u32 = each.iter().sum();
            for _ in 0..rounds {
                let mut counts = vec![0_u32; each.len()];
                for _ in 0..total {
                    counts[weights.in_turn(|_| true).unwrap()] += 1;
                }
                prop_assert_eq!(&counts, &each);
            }
        }

        #[test]
        fn only_the_keys_of_a_lost_one_move(
            each in prop::collection::vec(1_u32..50, 2..8),
            lost in 0_usize..8,
            keys in prop::collection::vec(any::<u64>(), 1..50),
        ) {
            let lost = lost % each.len();
            let weights = Weights::new(&each);
            for key in keys {
                let before = weights.hashed(|_| Some(0), key).unwrap();
                let after = weights.hashed(|backend| (backend != lost).then_some(0), key).unwrap();
                prop_assert!(after != lost && (before == lost || before == after));
            }
        }

        /// Whoever is well or not from one request to the next, nobody's turns are put off for long.
        #[test]
        fn debts_stay_small(
            each in prop::collection::vec(1_u32..20, 2..6),
            steps in prop::collection::vec(any::<u8>(), 1..300),
        ) {
            let mut weights = Weights::new(&each);
            for step in steps {
                weights.in_turn(|backend| step >> backend & 1 == 1);
                let most = i64::from(each.iter().sum::<u32>()) * each.len() as i64;
                prop_assert!(weights.owed.iter().all(|owed| owed.abs() <= most), "{:?}", weights);
                prop_assert_eq!(weights.owed.iter().sum::<i64>(), 0);
            }
        }
    }
}
