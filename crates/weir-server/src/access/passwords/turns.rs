//! Whose job is done next, where each job takes long: one at a time for each owner, owners in turn, and
//! bounded in all. Used by [`super::checker`], whose owners are networks and whose jobs are passwords.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The most jobs that wait for one owner: as many people may share an address and begin at the same moment.
const OF_ONE: usize = 16;

/// The most jobs that wait in all.
const IN_ALL: usize = 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Turns<K, J> {
    owners: HashMap<K, Line<J>>,
    /// Owners with jobs that wait and none that is being done.
    ready: VecDeque<K>,
    /// Jobs that wait.
    waiting: usize,
}

#[derive(Debug)]
struct Line<J> {
    jobs: VecDeque<J>,
    /// One is being done.
    is_busy: bool,
}

impl<K, J> Default for Turns<K, J> {
    fn default() -> Turns<K, J> {
        Turns { owners: HashMap::new(), ready: VecDeque::new(), waiting: 0 }
    }
}

impl<K: Clone + Eq + Hash, J> Turns<K, J> {
    /// A job comes; false if too many wait.
    pub(super) fn arrive(&mut self, owner: &K, job: J) -> bool {
        let line = self.owners.get(owner);
        let of_one = line.map_or(0, |line| line.jobs.len());
        if self.waiting >= IN_ALL || of_one >= OF_ONE {
            return false;
        }
        let new = || Line { jobs: VecDeque::new(), is_busy: false };
        let line = self.owners.entry(owner.clone()).or_insert_with(new);
        line.jobs.push_back(job);
        self.waiting += 1;
        if line.jobs.len() == 1 && !line.is_busy {
            self.ready.push_back(owner.clone());
        }
        true
    }

    /// A job of this owner that waits and is like that.
    pub(super) fn find(&self, owner: &K, is_wanted: impl Fn(&J) -> bool) -> Option<&J> {
        self.owners.get(owner)?.jobs.iter().find(|job| is_wanted(job))
    }

    /// The next job to do, and its owner: tell [`Turns::done`] when it is done.
    pub(super) fn next(&mut self) -> Option<(K, J)> {
        let owner = self.ready.pop_front()?;
        let line = self.owners.get_mut(&owner)?;
        let job = line.jobs.pop_front()?;
        line.is_busy = true;
        self.waiting -= 1;
        Some((owner, job))
    }

    /// How many jobs can be done at the same time, beside those that are being done.
    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// The job of this owner is done.
    pub(super) fn done(&mut self, owner: &K) {
        let Some(line) = self.owners.get_mut(owner) else { return };
        line.is_busy = false;
        if line.jobs.is_empty() {
            self.owners.remove(owner);
        } else {
            self.ready.push_back(owner.clone());
        }
    }

    /// Forgets all jobs that wait.
    pub(super) fn clear(&mut self) {
        self.ready.clear();
        self.waiting = 0;
        self.owners.retain(|_, line| {
            line.jobs.clear();
            line.is_busy
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_at_a_time_for_each_and_owners_in_turn() {
        let mut turns = Turns::default();
        for (owner, job) in [("a", 1), ("a", 2), ("a", 3), ("b", 4)] {
            assert!(turns.arrive(&owner, job));
        }
        assert_eq!(turns.next(), Some(("a", 1)));
        assert_eq!(turns.next(), Some(("b", 4)));
        assert_eq!(turns.next(), None, "both have one that is being done");
        turns.done(&"a");
        assert!(turns.arrive(&"b", 5));
        assert_eq!(turns.next(), Some(("a", 2)));
        assert_eq!(turns.next(), None);
        turns.done(&"b");
        turns.done(&"a");
        assert_eq!((turns.next(), turns.next()), (Some(("b", 5)), Some(("a", 3))));
        turns.done(&"a");
        turns.done(&"b");
        assert!(turns.owners.is_empty() && turns.ready.is_empty());
    }

    #[test]
    fn who_brings_too_many_is_refused_and_others_are_not() {
        let mut turns = Turns::default();
        let taken = (0..100).filter(|job| turns.arrive(&0, *job)).count();
        assert_eq!(taken, OF_ONE);
        assert!(turns.arrive(&1, 0));
        let taken = (2..10_000).filter(|owner| turns.arrive(owner, 0)).count();
        assert_eq!(taken, IN_ALL - OF_ONE - 1);
        assert!(turns.next().is_some());
        turns.clear();
        assert_eq!((turns.next(), turns.waiting, turns.owners.len()), (None, 0, 1));
        turns.done(&0);
        assert!(turns.owners.is_empty() && turns.arrive(&0, 7));
        assert_eq!(turns.next(), Some((0, 7)));
    }

    #[test]
    fn jobs_that_wait_are_found_by_their_owner() {
        let mut turns = Turns::default();
        for (owner, job) in [("a", 1), ("a", 2), ("b", 3)] {
            assert!(turns.arrive(&owner, job));
        }
        assert_eq!(turns.find(&"a", |job| *job > 1), Some(&2));
        assert_eq!((turns.find(&"b", |job| *job < 3), turns.find(&"c", |_| true)), (None, None));
        assert_eq!(turns.next(), Some(("a", 1)));
        assert_eq!(turns.find(&"a", |job| *job == 1), None, "it is being done");
    }

    proptest! {
        /// Whatever comes and ends, no owner has two at once, no job is lost, and an owner's jobs keep
        /// their order.
        #[test]
        fn every_job_is_done_once(steps in prop::collection::vec((0_u8..4, any::<bool>()), 0..200)) {
            let mut turns = Turns::default();
            let (mut arrived, mut done) = (vec![Vec::new(); 4], vec![Vec::new(); 4]);
            let mut busy: Vec<u8> = Vec::new();
            for (number, (owner, comes)) in steps.into_iter().enumerate() {
                if comes {
                    if turns.arrive(&owner, number) {
                        arrived[usize::from(owner)].push(number);
                    }
                } else if busy.len() > usize::from(owner) {
                    turns.done(&busy.remove(usize::from(owner)));
                } else if let Some((owner, job)) = turns.next() {
                    prop_assert!(!busy.contains(&owner));
                    busy.push(owner);
                    done[usize::from(owner)].push(job);
                }
            }
            loop {
                busy.drain(..).for_each(|owner| turns.done(&owner));
                let Some((owner, job)) = turns.next() else { break };
                busy.push(owner);
                done[usize::from(owner)].push(job);
            }
            prop_assert_eq!(arrived, done);
            prop_assert!(turns.owners.is_empty() && turns.waiting == 0);
        }
    }
}
