//! Independent repetitions of a simulation on all cores, with a confidence interval; every
//! simulation is repeated by it. The results do not depend on how many cores there are.

use std::sync::atomic::{AtomicUsize, Ordering};

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The results of `count` repetitions, in order. `one` gets a seed of its own for each.
pub fn run<T: Send>(count: usize, seed: u64, one: impl Fn(u64) -> T + Sync) -> Vec<T> {
    each(count, |index| one(seed_of(seed, index)))
}

/// Repetitions whose results are taken together before the next begin.
const TOGETHER: usize = 64;

/// As [`run`], but each result is given to `take`, in order, and few are kept at a time.
pub fn in_order<T: Send>(
    count: usize,
    seed: u64,
    one: impl Fn(u64) -> T + Sync,
    mut take: impl FnMut(T),
) {
    for first in (0..count).step_by(TOGETHER) {
        let some = TOGETHER.min(count - first);
        each(some, |index| one(seed_of(seed, first + index))).into_iter().for_each(&mut take);
    }
}

/// What `one` makes of each number below `count`, in order.
pub fn each<T: Send>(count: usize, one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    on_cores(cores, count, one)
}

fn on_cores<T: Send>(cores: usize, count: usize, one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return done;
            }
            done.push((index, one(index)));
        }
    };
    let mut results = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..cores.clamp(1, count.max(1))).map(|_| scope.spawn(work)).collect();
        let mut results = Vec::with_capacity(count);
        for thread in threads {
            match thread.join() {
                Ok(done) => results.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Seeds that have nothing to do with each other (SplitMix64; Steele, Lea & Flood 2014).
fn seed_of(seed: u64, index: usize) -> u64 {
    let mut z = seed.wrapping_add((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A mean with an interval that has the true mean with 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean of the repetitions.
    pub mean: f64,
    /// Half the width of the interval; `None` of a single repetition.
    pub ci95: Option<f64>,
}

/// Mean and interval of independent values, by Student's law. `None` without values.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let count = values.len() as f64;
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let law = StudentsT::new(0.0, 1.0, count - 1.0).ok();
    let ci95 = law.map(|law| law.inverse_cdf(0.975) * (squares / (count - 1.0) / count).sqrt());
    Some(Estimate { mean, ci95 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_cores_gives_the_same() {
        let alone = on_cores(1, 17, |index| seed_of(5, index));
        assert_eq!(on_cores(4, 17, |index| seed_of(5, index)), alone);
        assert_eq!(run(17, 5, |seed| seed), alone);
        assert_eq!(alone.iter().collect::<std::collections::HashSet<_>>().len(), 17);
        assert_ne!(run(17, 6, |seed| seed), alone);
        let mut taken = Vec::new();
        in_order(200, 5, |seed| seed, |seed| taken.push(seed));
        assert_eq!(taken, run(200, 5, |seed| seed));
        assert_eq!(on_cores(4, 0, |index| index), Vec::<usize>::new());
    }

    #[test]
    fn the_interval_is_students() {
        // Mean 3, variance 2.5, t of four degrees of freedom 2.776.
        let five = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(five.mean, 3.0);
        assert!((five.ci95.unwrap() - 2.776_445 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-5);
        assert_eq!(estimate(&[7.0]), Some(Estimate { mean: 7.0, ci95: None }));
        assert_eq!(estimate(&[]), None);
    }
}
