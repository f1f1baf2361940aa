//! Servers in virtual time for the tests of the formulas: they know no formula and no moment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use weir_workload::law::Law;

use crate::ideal::Job;

/// Poisson arrivals of a law at a load, at a server of speed 1.
pub(super) fn jobs(law: &dyn Law, load: f64, count: usize, seed: u64) -> Vec<Job> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let between = law.mean() / load;
    let mut now = 0.0;
    let one = |_| {
        now -= (1.0 - random.random::<f64>()).ln() * between;
        Job { arrival: now, work: law.quantile(random.random()) }
    };
    (0..count).map(one).collect()
}

/// Mean response time and mean slowdown.
pub(super) fn responses(jobs: &[Job], finish: &[f64]) -> (f64, f64) {
    let count = jobs.len() as f64;
    let response = |(job, finish): (&Job, &f64)| finish - job.arrival;
    let slowdown = |(job, finish): (&Job, &f64)| (finish - job.arrival) / job.work;
    (
        jobs.iter().zip(finish).map(response).sum::<f64>() / count,
        jobs.iter().zip(finish).map(slowdown).sum::<f64>() / count,
    )
}

/// Sizes are not negative, so their bits are ordered as they are.
fn key(size: f64) -> u64 {
    size.to_bits()
}

/// Finish times under preemptive least original size first, ties to the earlier arrival.
pub(super) fn psjf(jobs: &[Job]) -> Vec<f64> {
    let mut finish = vec![f64::NAN; jobs.len()];
    let mut left: Vec<f64> = jobs.iter().map(|job| job.work).collect();
    let mut waiting = BinaryHeap::new();
    let mut now = 0.0;
    for i in 0..=jobs.len() {
        let until = jobs.get(i).map_or(f64::INFINITY, |job| job.arrival);
        while let Some(&Reverse((_, first))) = waiting.peek() {
            let first: usize = first;
            if now + left[first] > until {
                left[first] -= until - now;
                break;
            }
            now += left[first];
            finish[first] = now;
            waiting.pop();
        }
        now = until;
        if let Some(job) = jobs.get(i) {
            waiting.push(Reverse((key(job.work), i)));
        }
    }
    finish
}

/// Jobs that have had the same service, by size.
struct Level {
    attained: f64,
    jobs: BinaryHeap<Reverse<(u64, usize)>>,
}

/// Finish times under least attained first: the level with the least service shares the server,
/// until it meets the next.
pub(super) fn las(jobs: &[Job]) -> Vec<f64> {
    let mut finish = vec![f64::NAN; jobs.len()];
    let mut levels: Vec<Level> = Vec::new();
    let mut now = 0.0;
    for i in 0..=jobs.len() {
        let until = jobs.get(i).map_or(f64::INFINITY, |job| job.arrival);
        while let Some(mut top) = levels.pop() {
            let Some(&Reverse((_, first))) = top.jobs.peek() else { continue };
            let meets = levels.last().map_or(f64::INFINITY, |next| next.attained);
            let target = meets.min(jobs[first].work);
            let end = now + (target - top.attained) * top.jobs.len() as f64;
            if end > until {
                top.attained += (until - now) / top.jobs.len() as f64;
                levels.push(top);
                break;
            }
            now = end;
            top.attained = target;
            while let Some(&Reverse((_, first))) = top.jobs.peek()
                && jobs[first].work <= target
            {
                finish[first] = now;
                top.jobs.pop();
            }
            match levels.last_mut() {
                Some(next) if next.attained <= target => next.jobs.append(&mut top.jobs),
                _ => levels.push(top),
            }
        }
        now = until;
        if let Some(job) = jobs.get(i) {
            let jobs = BinaryHeap::from([Reverse((key(job.work), i))]);
            levels.push(Level { attained: 0.0, jobs });
        }
    }
    finish
}
