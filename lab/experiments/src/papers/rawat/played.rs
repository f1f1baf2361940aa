//! What each policy made of the same requests, seed by seed: sums of response times by size. The
//! sections of the simulated experiment are written from it.

use std::ops::AddAssign;

use weir_sched::PolicyKind;
use weir_sim::replications;
use weir_sim::uplink::{Link, Request};
use weir_workload::law::{Law, WorldCup};

use super::scene::{Asked, RATE, Scene};
use crate::findings::{Interval, Ours};

/// Where the groups of sizes end, in percentiles of the monitored requests' law.
pub(super) const EDGES: [f64; 22] = [
    5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0, 65.0, 70.0, 75.0, 80.0,
    85.0, 90.0, 95.0, 98.0, 99.0, 100.0,
];

/// Bodies from this on are large (section 3.2.1), in bytes.
const LARGE: u64 = 500_000;

/// Bodies from this on are the largest, in bytes: half of the largest that there is.
const LARGEST: u64 = 1_000_000;

/// A mean as it is gathered, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    /// No number without values.
    pub(super) fn seconds(self) -> f64 {
        self.sum / self.count
    }
}

impl AddAssign for Mean {
    fn add_assign(&mut self, other: Mean) {
        self.sum += other.sum;
        self.count += other.count;
    }
}

/// Response times of one run, or of several together.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// Of monitored requests, by percentile of size: one for each of [`EDGES`].
    by_size: [Mean; EDGES.len()],
    pub(super) large: Mean,
    pub(super) largest: Mean,
    /// Of the requests beside the server.
    pub(super) background: Mean,
}

impl Times {
    fn of(asked: &[Asked], received: impl Iterator<Item = f64>) -> Times {
        let sizes = EDGES.map(|edge| WorldCup.quantile(edge / 100.0));
        let mut times = Times::default();
        for (asked, received) in asked.iter().zip(received) {
            let time = asked.response_time(received);
            if !asked.monitored {
                times.background.add(time);
                continue;
            }
            let group = sizes.partition_point(|end| *end < asked.body as f64);
            times.by_size[group.min(EDGES.len() - 1)].add(time);
            if asked.body >= LARGE {
                times.large.add(time);
            }
            if asked.body >= LARGEST {
                times.largest.add(time);
            }
        }
        times
    }

    /// Of all monitored requests whose sizes lie between two of the percentiles.
    pub(super) fn between(&self, from: f64, to: f64) -> Mean {
        let mut mean = Mean::default();
        for (end, group) in EDGES.iter().zip(self.by_size) {
            if *end > from && *end <= to {
                mean += group;
            }
        }
        mean
    }

    /// The middles of the groups of sizes, in percentiles, and their means in seconds.
    pub(super) fn by_size(&self) -> impl Iterator<Item = (f64, f64)> {
        let begins = std::iter::once(0.0).chain(EDGES);
        let middles = begins.zip(EDGES).map(|(from, to)| (from + to) / 2.0);
        middles.zip(self.by_size.map(Mean::seconds))
    }

    /// The share of the sizes above a percentile whose mean is below that of the same sizes in
    /// `other`.
    pub(super) fn share_that_gains(&self, other: &Times, above: f64) -> f64 {
        let mut from = 0.0;
        let mut gains = 0.0;
        for (place, end) in EDGES.into_iter().enumerate() {
            let quicker = self.by_size[place].seconds() < other.by_size[place].seconds();
            if quicker && from >= above {
                gains += end - from;
            }
            from = end;
        }
        gains / (100.0 - above)
    }
}

impl AddAssign<&Times> for Times {
    fn add_assign(&mut self, other: &Times) {
        for (mean, more) in self.by_size.iter_mut().zip(other.by_size) {
            *mean += more;
        }
        self.large += other.large;
        self.largest += other.largest;
        self.background += other.background;
    }
}

/// One policy in one scene.
#[derive(Debug)]
struct Trial {
    scene: Scene,
    policy: PolicyKind,
    /// By seed.
    times: Vec<Times>,
}

/// All that was played.
#[derive(Debug, Default)]
pub(super) struct Trials(Vec<Trial>);

impl Trials {
    /// Plays each scene under its policies, with the same requests for all of them.
    ///
    /// # Errors
    ///
    /// Says which requests cannot be made or played.
    pub(super) fn play(
        scenes: &[(Scene, Vec<PolicyKind>)],
        seeds: usize,
        seconds: f64,
    ) -> Result<Trials, String> {
        let played = replications::each(scenes.len() * seeds, |index| {
            let (scene, policies) = &scenes[index / seeds];
            play(scene, policies, 1 + (index % seeds) as u64, seconds)
        });
        let played = played.into_iter().collect::<Result<Vec<_>, String>>()?;
        let mut trials = Vec::new();
        for ((scene, policies), by_seed) in scenes.iter().zip(played.chunks(seeds)) {
            for (place, &policy) in policies.iter().enumerate() {
                let times = by_seed.iter().map(|policies| policies[place].clone()).collect();
                trials.push(Trial { scene: *scene, policy, times });
            }
        }
        Ok(Trials(trials))
    }

    /// The times under a policy in all scenes of a kind together, by seed.
    pub(super) fn pooled(&self, policy: PolicyKind, of: impl Fn(&Scene) -> bool) -> Vec<Times> {
        let mut pooled: Vec<Times> = Vec::new();
        for trial in self.0.iter().filter(|trial| trial.policy == policy && of(&trial.scene)) {
            pooled.resize(trial.times.len(), Times::default());
            for (sum, times) in pooled.iter_mut().zip(&trial.times) {
                *sum += times;
            }
        }
        pooled
    }

    /// A figure of two policies on the same requests, over the seeds.
    pub(super) fn paired(
        &self,
        (one, other): (PolicyKind, PolicyKind),
        of: impl Fn(&Scene) -> bool,
        figure: impl Fn(&Times, &Times) -> f64,
    ) -> Ours {
        let (one, other) = (self.pooled(one, &of), self.pooled(other, &of));
        over_seeds(one.iter().zip(&other).map(|(one, other)| figure(one, other)))
    }
}

/// A figure with a value for each seed.
pub(super) fn over_seeds(values: impl IntoIterator<Item = f64>) -> Ours {
    Ours { interval: Interval::of(values), ..Ours::none() }
}

fn play(
    scene: &Scene,
    policies: &[PolicyKind],
    seed: u64,
    seconds: f64,
) -> Result<Vec<Times>, String> {
    let asked = scene.requests(seed, seconds).map_err(|why| why.to_string())?;
    let requests: Vec<Request> = asked.iter().map(|asked| asked.request).collect();
    let link = Link::new(RATE);
    let times = policies.iter().map(|&policy| {
        let finish = link.play(policy, &requests).map_err(|why| why.to_string())?;
        Ok(Times::of(&asked, finish.iter().map(|finish| finish.received)))
    });
    times.collect()
}

#[cfg(test)]
mod tests;
