//! The order in which SURGE's files are asked for: files asked for lately are likely to come again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::FileSet;
use super::model::Model;
use crate::hash;
use crate::law::{Law, Lognormal};

/// A file gets its requests in portions of about so many.
const PORTION: u32 = 20;
/// Portions are given out this many requests ahead, so that there is something to choose from.
const AHEAD: u64 = 300;

/// An endless sequence of files, as places in the [`FileSet`].
///
/// After Barford & Crovella 1998, section 3.2: the files lie in a stack, the last asked for on
/// top, and the next one lies at a depth that follows the law of stack distances; among the files
/// around that depth which have requests left, the more are left the likelier. They make one
/// sequence of a given length, in which each file has as many requests as its popularity says.
/// This one has no end and no drift: in each [`Sequence::round`] every file gets that many, strewn
/// evenly over the round in portions. A file that had used up its portion, or nothing of it, is
/// asked for when it gets the next, so the depth of those requests (one in eight, with 2000 files)
/// is what their popularity makes it; all others follow the law, up to the choice among
/// neighbours: with the published parameters, half lie above 4 (the law says 4.5).
#[derive(Clone, Debug)]
pub struct Sequence {
    random: Xoshiro256PlusPlus,
    distance: Lognormal,
    portions: Vec<Portions>,
    /// Files by the turn when they get their next portion.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Files that got a portion after having used up the one before, or nothing of it.
    fresh: VecDeque<u32>,
    /// Requests that each file has left.
    left: Vec<u64>,
    /// All files, the last asked for first.
    stack: Vec<u32>,
    round: u64,
    turn: u64,
}

/// How a file gets its requests.
#[derive(Clone, Debug)]
struct Portions {
    /// Requests in a round.
    requests: u64,
    /// Portions in a round.
    number: u64,
    /// Portions it got.
    got: u64,
    /// When it gets them, as a part of the time between two.
    phase: f64,
}

impl Portions {
    /// The turn of the next portion.
    fn turn(&self, round: u64) -> u64 {
        ((self.got as f64 + self.phase) * (round as f64 / self.number as f64)) as u64
    }

    /// Take the next portion: requests that add up to those of the round.
    fn take(&mut self) -> u64 {
        let up_to = |portion: u64| portion * self.requests / self.number;
        let portion = up_to(self.got + 1) - up_to(self.got);
        self.got += 1;
        portion
    }
}

impl Sequence {
    pub(super) fn new(model: &Model, set: &FileSet) -> Sequence {
        let files = set.files();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(hash::mixed(model.seed, SEQUENCE, 0));
        let portions: Vec<Portions> = files
            .iter()
            .map(|file| {
                let requests = (files.len() as f64 / f64::from(file.rank + 1)).round().max(1.0);
                let number = (requests / f64::from(PORTION)).round().max(1.0);
                let phase = random.random::<f64>();
                Portions { requests: requests as u64, number: number as u64, got: 0, phase }
            })
            .collect();
        let round = portions.iter().map(|file| file.requests).sum();
        let mut stack: Vec<u32> = (0..files.len() as u32).collect();
        stack.shuffle(&mut random);
        let due = (0..).zip(&portions).map(|(at, file)| Reverse((file.turn(round), at))).collect();
        let left = vec![0; files.len()];
        let distance = model.stack_distance;
        let fresh = VecDeque::new();
        let mut sequence =
            Sequence { random, distance, portions, due, fresh, left, stack, round, turn: 0 };
        // What is given out ahead of the first turn does not come in the order it was given.
        sequence.give_out(AHEAD);
        sequence.fresh.clear();
        sequence
    }

    /// Requests in which every file is asked for as often as its popularity says, the least
    /// popular once.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Give out the portions that are due by a turn.
    fn give_out(&mut self, until: u64) {
        while self.due.peek().is_some_and(|Reverse((turn, _))| *turn <= until) {
            self.give_next();
        }
    }

    fn give_next(&mut self) {
        let Some(Reverse((_, file))) = self.due.pop() else { return };
        let place = file as usize;
        let portion = self.portions[place].take();
        if self.left[place] == 0 || self.left[place] >= portion {
            self.fresh.push_back(file);
        }
        self.left[place] += portion;
        self.due.push(Reverse((self.portions[place].turn(self.round), file)));
    }

    /// The depth, counted from 0, of a file with requests left, by the law of distances.
    fn depth(&mut self) -> Option<usize> {
        let last = self.stack.len().checked_sub(1)?;
        let distance = self.distance.quantile(self.random.random::<f64>()).round().max(1.0);
        let depth = (distance as usize - 1).min(last);
        // A sixth of the distance to either side, or as far as there is one.
        let mut around = (depth + 1) / 6;
        loop {
            let (from, to) = (depth.saturating_sub(around), (depth + around).min(last));
            let left = |at: usize| self.left[self.stack[at] as usize];
            let total: u64 = (from..=to).map(left).sum();
            if total > 0 {
                let mut drawn = self.random.random_range(0..total);
                return (from..=to).find(|&at| {
                    let found = drawn < left(at);
                    drawn = drawn.saturating_sub(left(at));
                    found
                });
            }
            if around > last {
                return None;
            }
            around += 1 + around / 4;
        }
    }
}

impl Iterator for Sequence {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.give_out(self.turn + AHEAD);
        self.turn += 1;
        let depth = loop {
            if let Some(file) = self.fresh.pop_front() {
                if self.left[file as usize] == 0 {
                    continue;
                }
                break self.stack.iter().position(|&other| other == file);
            }
            match self.depth() {
                Some(depth) => break Some(depth),
                None if self.due.is_empty() => break None,
                None => self.give_next(),
            }
        }?;
        self.stack[..=depth].rotate_right(1);
        let file = self.stack[0] as usize;
        self.left[file] = self.left[file].saturating_sub(1);
        Some(file)
    }
}

/// The purpose of the hash.
const SEQUENCE: u64 = 0x7375_7267_6573_6571;

#[cfg(test)]
mod tests {
    use super::*;

    const ROUNDS: usize = 4;

    fn sequence(seed: u64) -> Sequence {
        let model = Model::new(1, seed);
        let set = model.file_set().expect("files");
        Sequence::new(&model, &set)
    }

    fn drawn(sequence: &Sequence, count: usize) -> Vec<usize> {
        sequence.clone().take(count).collect()
    }

    #[test]
    fn every_file_is_asked_for_as_often_as_its_popularity_says() {
        let sequence = sequence(1);
        let round = sequence.round() as usize;
        assert_eq!(round, 16_287, "2000 files: the sum of 2000/rank, rounded");
        let mut counts = vec![0_u64; 2000];
        drawn(&sequence, ROUNDS * round).iter().for_each(|&file| counts[file] += 1);
        let mut off = 0;
        for (count, file) in counts.iter().zip(&sequence.portions) {
            let wanted = ROUNDS as u64 * file.requests;
            off += count.abs_diff(wanted);
            assert!(count.abs_diff(wanted) <= 2 * u64::from(PORTION), "{count} of {wanted}");
        }
        assert!((off as f64) < 0.01 * (ROUNDS * round) as f64, "{off}");
    }

    #[test]
    fn stack_distances_are_near_their_law() {
        for seed in 1..=3 {
            let sequence = sequence(seed);
            let round = sequence.round() as usize;
            let mut stack: Vec<usize> = Vec::new();
            let mut logs = Vec::new();
            for (turn, file) in drawn(&sequence, ROUNDS * round).into_iter().enumerate() {
                let depth = stack.iter().position(|&other| other == file);
                if let Some(depth) = depth {
                    stack.remove(depth);
                }
                stack.insert(0, file);
                if let Some(depth) = depth.filter(|_| turn > round) {
                    logs.push(((depth + 1) as f64).ln());
                }
            }
            // Those that come because they got a new portion have depths of their own.
            logs.sort_by(f64::total_cmp);
            let near = &logs[..logs.len() * 88 / 100];
            let quantile = |u: f64| near[(u * near.len() as f64) as usize].exp();
            let law = Lognormal { mu: 1.5, sigma: 0.80 };
            for u in [0.1, 0.25, 0.5, 0.75, 0.9] {
                let (found, wanted) = (quantile(u), law.quantile(u));
                assert!((found - wanted).abs() < 0.7 + 0.2 * wanted, "{u}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn it_does_not_drift() {
        // A tenth of a round has about a tenth of the requests for the most popular file, and for
        // the files that are asked for once.
        let sequence = sequence(2);
        let round = sequence.round() as usize;
        let most = sequence.portions.iter().position(|file| file.requests == 2000).expect("one");
        for (tenth, files) in drawn(&sequence, 2 * round).chunks_exact(round / 10).enumerate() {
            let popular = files.iter().filter(|&&file| file == most).count();
            assert!((120..=280).contains(&popular), "tenth {tenth}: {popular}");
            let once = files.iter().filter(|&&file| sequence.portions[file].requests == 1).count();
            assert!((40..=100).contains(&once), "tenth {tenth}: {once}");
        }
    }
}
