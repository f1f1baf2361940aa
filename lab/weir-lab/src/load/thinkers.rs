//! Users of a closed loop who think between a response and the next request. Made by
//! [`demand`](super::demand), asked by the generator.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use weir_load::{Step, Users};
use weir_workload::Request;
use weir_workload::surge::SurgeUsers;

use super::planned::under;

/// Users with exponentially distributed times to think, who take their requests from one stream.
pub(crate) struct Thinkers {
    count: u32,
    /// Seconds, on average.
    think: f64,
    random: Xoshiro256PlusPlus,
    requests: Box<dyn Iterator<Item = Request> + Send>,
}

impl Thinkers {
    /// `requests` must not end.
    pub(crate) fn new(
        count: u32,
        think: f64,
        seed: u64,
        requests: Box<dyn Iterator<Item = Request> + Send>,
    ) -> Thinkers {
        // Not the generator of the requests, whose draws must not depend on who asks when.
        let random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x7468_696E_6B65_7273);
        Thinkers { count, think, random, requests }
    }
}

impl Users for Thinkers {
    fn count(&self) -> u32 {
        self.count
    }

    fn next(&mut self, user: u32) -> Step {
        let think = -(1.0 - self.random.random::<f64>()).ln() * self.think;
        let request = self.requests.next().unwrap_or_else(|| Request {
            at: 0.0,
            client: user,
            class: 0,
            path: "/".into(),
            size: None,
        });
        Step { think, request: Request { client: user, ..request } }
    }
}

/// SURGE's users, whose files are under `base`, which ends in `/`.
pub(crate) struct SurgeEquivalents {
    users: SurgeUsers,
    base: String,
}

impl SurgeEquivalents {
    pub(crate) fn new(users: SurgeUsers, base: String) -> SurgeEquivalents {
        SurgeEquivalents { users, base }
    }
}

impl Users for SurgeEquivalents {
    fn count(&self) -> u32 {
        self.users.count()
    }

    fn next(&mut self, user: u32) -> Step {
        let (think, request) = self.users.next(user);
        Step { think, request: under(&self.base, request) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_think_as_long_as_asked_on_average_and_keep_their_names() {
        let request = Request { at: 0.0, client: 7, class: 1, path: "/x".into(), size: Some(1) };
        let mut users = Thinkers::new(3, 2.0, 1, Box::new(std::iter::repeat(request)));
        assert_eq!(users.count(), 3);
        let steps: Vec<Step> = (0..20_000).map(|i| users.next(i % 3)).collect();
        let mean = steps.iter().map(|step| step.think).sum::<f64>() / 20_000.0;
        assert!((mean - 2.0).abs() < 0.05, "{mean}");
        assert_eq!((steps[4].request.client, steps[4].request.class), (1, 1));
    }

    #[test]
    fn surges_files_are_under_the_url() {
        let model = weir_workload::surge::Model::new(4, 1);
        let mut users = SurgeEquivalents::new(model.users().unwrap(), "/sub/".into());
        assert_eq!(users.count(), 4);
        let step = users.next(2);
        assert!(step.request.path.starts_with("/sub/surge/"), "{}", step.request.path);
        assert!(step.think >= 0.0 && step.request.size.is_some());
    }
}
