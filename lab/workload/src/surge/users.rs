//! User equivalents: each asks for the files of a page one after the other, waits, and begins the
//! next page. Their waits begin when a response has ended, so they make a closed loop.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::model::Model;
use super::{FileSet, Sequence, Timing};
use crate::arrivals::Classes;
use crate::hash;
use crate::request::Request;

/// The users of a closed loop (Barford & Crovella 1998, section 2).
///
/// Files come from one sequence that all users share, in the order in which they ask, so that
/// popularity and locality are those of the server's log. Each user has random numbers of their
/// own for pages and waits.
#[derive(Debug)]
pub struct SurgeUsers {
    set: FileSet,
    sequence: Sequence,
    timing: Timing,
    classes: Classes,
    users: Vec<User>,
}

#[derive(Debug)]
struct User {
    random: Xoshiro256PlusPlus,
    /// Files of the page that are still to be asked for.
    left: u32,
    /// Whether there was a page before.
    begun: bool,
}

impl SurgeUsers {
    pub(super) fn new(model: &Model, set: FileSet) -> SurgeUsers {
        let random = |user| {
            Xoshiro256PlusPlus::seed_from_u64(hash::mixed(model.seed, USER, u64::from(user)))
        };
        let user = |user| User { random: random(user), left: 0, begun: false };
        SurgeUsers {
            sequence: Sequence::new(model, &set),
            set,
            timing: model.timing,
            classes: Classes::new(&model.classes, model.seed),
            users: (0..model.users).map(user).collect(),
        }
    }

    /// How many users there are, at least 1.
    pub fn count(&self) -> u32 {
        self.users.len() as u32
    }

    /// The files they ask for.
    pub fn file_set(&self) -> &FileSet {
        &self.set
    }

    /// What `user`, counted from 0, does next: seconds of waiting from the end of the last
    /// response (of the run's start, if there is none), then the request, whose time is 0. Before
    /// the first page a user waits for a part of an inactive time, so that not all begin at once.
    /// A user that does not exist does as user 0.
    pub fn next(&mut self, user: u32) -> (f64, Request) {
        let client = if user < self.count() { user } else { 0 };
        let User { random, left, begun } = &mut self.users[client as usize];
        let wait = if *left > 0 {
            self.timing.active_off(random.random::<f64>())
        } else {
            *left = self.timing.page(random.random::<f64>());
            let wait = self.timing.inactive_off(random.random::<f64>());
            if *begun { wait } else { wait * random.random::<f64>() }
        };
        *begun = true;
        *left = left.saturating_sub(1);
        let place = self.sequence.next().unwrap_or(0);
        let file = &self.set.files()[place];
        let request = Request {
            at: 0.0,
            client,
            class: self.classes.of(u64::from(client)),
            path: file.path.clone(),
            size: Some(file.size),
        };
        (wait, request)
    }
}

/// The purpose of the hash.
const USER: u64 = 0x7375_7267_6575_7372;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn pages_and_waits_take_turns() {
        let mut users = Model::new(3, 1).users().expect("users");
        assert_eq!(users.count(), 3);
        let waits: Vec<f64> = (0..50_000).map(|_| users.next(2).0).collect();
        // One wait in 1.368 is between pages: the mean number of files of a page. Those between
        // pages are at least 1 s long; of those within a page, 42 % are.
        let long = waits.iter().filter(|&&wait| wait >= 1.0).count() as f64 / 50_000.0;
        let pages = 1.0 / 1.368;
        let wanted = pages + (1.0 - pages) * (-(1.0_f64 / 1.46).powf(0.382)).exp();
        assert!((long - wanted).abs() < 0.01, "{long} {wanted}");
    }

    #[test]
    fn popularity_is_zipf_whoever_asks() {
        let mut users = Model::new(7, 1).users().expect("users");
        let round = users.sequence.round();
        let mut counts: HashMap<_, f64> = HashMap::new();
        for turn in 0..4 * round {
            *counts.entry(users.next((turn * turn % 7) as u32).1.path).or_default() += 0.25;
        }
        let mut off = 0.0;
        for file in users.file_set().files() {
            let wanted = 2000.0 / f64::from(file.rank + 1);
            let found = counts.get(&file.path).copied().unwrap_or(0.0);
            off += (found - wanted).abs();
        }
        // The popularities are rounded to whole requests of a round.
        assert!(off / (round as f64) < 0.05, "{off} of {round}");
    }

    #[test]
    fn equal_seeds_give_equal_users_and_a_user_waits_alike_whatever_others_do() {
        let mut alone = Model::new(4, 5).users().expect("users");
        let mut among = Model::new(4, 5).users().expect("users");
        for _ in 0..1000 {
            among.next(0);
            assert_eq!(alone.next(3).0, among.next(3).0);
        }
        let mut again = Model::new(4, 5).users().expect("users");
        let mut other = Model::new(4, 6).users().expect("users");
        let mut first = Model::new(4, 5).users().expect("users");
        let steps: Vec<_> = (0..100).map(|turn| first.next(turn % 4)).collect();
        assert!((0..100).all(|turn| steps[turn as usize] == again.next(turn % 4)));
        assert!((0..100).any(|turn| steps[turn as usize] != other.next(turn % 4)));
    }

    #[test]
    fn users_have_classes_and_begin_at_different_times() {
        let mut model = Model::new(1000, 1);
        model.classes = vec![3.0, 1.0];
        let mut users = model.users().expect("users");
        let first: Vec<_> = (0..1000).map(|user| users.next(user)).collect();
        let share = first.iter().filter(|(_, request)| request.class == 1).count() as f64 / 1000.0;
        assert!((share - 0.25).abs() < 0.04, "{share}");
        let early = first.iter().filter(|(wait, _)| *wait < 0.5).count() as f64 / 1000.0;
        assert!((0.2..0.5).contains(&early), "{early}");
        assert!(first.iter().zip(0..).all(|((_, request), user)| request.client == user));
        assert_eq!(users.next(5000).1.client, 0);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        assert!(Model::new(0, 1).users().is_err());
        for change in [
            (|model: &mut Model| model.files = 0) as fn(&mut Model),
            |model| model.files = u32::MAX,
            |model| model.stack_distance.sigma = 0.0,
            |model| model.classes = vec![f64::NAN],
            |model| model.timing.page_alpha = -1.0,
        ] {
            let mut model = Model::new(1, 1);
            change(&mut model);
            assert!(model.users().is_err(), "{model:?}");
        }
        let mut one = Model::new(1, 1);
        one.files = 1;
        assert_eq!(&*one.users().expect("users").next(0).1.path, "/surge/00000.bin");
    }
}
