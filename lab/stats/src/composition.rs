//! Which sizes make up each decile of response times (Ruan & Pai 2006, section
//! 4.1, Table 3 and Figures 10 and 11). [`crate::inversion`] makes one number of it.

use serde::{Deserialize, Serialize};

use crate::size::groups;
use crate::summary::Response;

/// The largest size of the first three series of Table 3 in bytes: 0.1 to 0.5 KB, 0.6 to 4 KB, 5 to
/// 6 KB, and in the fourth the rest (7 to 900 KB). SPECweb99's sizes, on which the table is, are
/// tenths of 1024 bytes and their multiples by 10, so a KB is 1024 bytes and no file lies between
/// the series.
pub const RUAN_SERIES: [u64; 3] = [512, 4096, 6144];

/// The share of requests of each series in SPECweb99, by Table 3.
pub const RUAN_SHARES: [f64; 4] = [0.2506, 0.2805, 0.2355, 0.2334];

/// How many responses of each series of sizes each decile of response times has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Composition {
    /// The largest size of each series but the last, which has none.
    pub limits: Vec<u64>,
    /// Counts: ten deciles, the fastest first, each with a count per series, the smallest first.
    pub deciles: Vec<Vec<usize>>,
}

impl Composition {
    /// The composition by series of sizes up to and including each of `limits`, which ascend, and a
    /// last one of what is larger ([`RUAN_SERIES`] for the paper's). Of equal times, the smaller
    /// response counts as the faster, as in `inversion`. Responses that never came (their time is
    /// not finite) are left out; `None` if none remains.
    pub fn of(responses: &[Response], limits: &[u64]) -> Option<Composition> {
        let mut observed: Vec<Response> =
            responses.iter().copied().filter(|(_, time)| time.is_finite()).collect();
        observed.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let series = |size: u64| limits.partition_point(|&limit| limit < size);
        let count = |decile: std::ops::Range<usize>| {
            let mut counts = vec![0; limits.len() + 1];
            for &(size, _) in &observed[decile] {
                counts[series(size)] += 1;
            }
            counts
        };
        let deciles = groups(observed.len(), 10).map(count).collect();
        (!observed.is_empty()).then(|| Composition { limits: limits.to_vec(), deciles })
    }

    /// Shares instead of counts: in each decile they add up to 1. `None` for a decile that is empty
    /// because there are fewer than ten responses.
    pub fn shares(&self) -> Vec<Option<Vec<f64>>> {
        let share = |counts: &Vec<usize>| {
            let all: usize = counts.iter().sum();
            (all > 0).then(|| counts.iter().map(|&count| count as f64 / all as f64).collect())
        };
        self.deciles.iter().map(share).collect()
    }
}

/// Limits that divide the responses into `series` of roughly equal number, as Table 3 does with
/// SPECweb99, for [`Composition::of`]. A size that is so frequent that it fills more than one
/// series makes fewer of them.
pub fn equal_series(responses: &[Response], series: usize) -> Vec<u64> {
    let mut sizes: Vec<u64> = responses.iter().map(|&(size, _)| size).collect();
    sizes.sort_unstable();
    let mut limits: Vec<u64> = groups(sizes.len(), series)
        .filter(|group| group.end < sizes.len())
        .filter_map(|group| sizes.get(group.end.checked_sub(1)?).copied())
        .collect();
    limits.dedup();
    // What is as large as the largest needs no limit: the last series would be empty.
    limits.retain(|limit| Some(limit) < sizes.last());
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` responses of a size, one after another from `first` on.
    fn run(size: u64, first: u32, count: u32) -> impl Iterator<Item = Response> {
        (first..first + count).map(move |time| (size, f64::from(time)))
    }

    #[test]
    fn without_inversion_each_series_has_two_and_a_half_deciles() {
        let sizes = [512, 4096, 6144, 921_600];
        let responses: Vec<Response> =
            sizes.into_iter().zip([0, 25, 50, 75]).flat_map(|(s, at)| run(s, at, 25)).collect();
        let found = Composition::of(&responses, &RUAN_SERIES).unwrap();
        assert_eq!(found.deciles[0], [10, 0, 0, 0]);
        assert_eq!(found.deciles[2], [5, 5, 0, 0]);
        assert_eq!(found.deciles[9], [0, 0, 0, 10]);
        assert_eq!(found.shares()[2], Some(vec![0.5, 0.5, 0.0, 0.0]));
    }

    #[test]
    fn a_small_response_that_waited_is_in_the_last_decile() {
        let mut responses: Vec<Response> = run(921_600, 0, 19).collect();
        responses.insert(3, (102, 99.0));
        let found = Composition::of(&responses, &RUAN_SERIES).unwrap();
        assert_eq!(found.deciles[9], [1, 0, 0, 1]);
        assert_eq!(found.deciles[0], [0, 0, 0, 2]);
    }

    #[test]
    fn of_equal_times_the_smaller_is_the_faster() {
        let responses: Vec<Response> = (1..=10).rev().map(|size| (size * 512, 1.0)).collect();
        let found = Composition::of(&responses, &RUAN_SERIES).unwrap();
        assert_eq!((&found.deciles[0], &found.deciles[9]), (&vec![1, 0, 0, 0], &vec![0, 0, 1, 0]));
    }

    #[test]
    fn series_are_what_table_3_says() {
        // SPECweb99's file sizes around the limits of the series.
        let sizes = [102, 512, 614, 4096, 5120, 6144, 7168, 921_600];
        let responses: Vec<Response> = sizes.iter().map(|&size| (size, 1.0)).collect();
        let found = Composition::of(&responses, &RUAN_SERIES).unwrap();
        let all = found.deciles.iter().fold([0; 4], |mut sum, decile| {
            sum.iter_mut().zip(decile).for_each(|(sum, count)| *sum += count);
            sum
        });
        assert_eq!(all, [2, 2, 2, 2]);
        assert!((RUAN_SHARES.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_has_no_composition_and_few_have_empty_deciles() {
        assert_eq!(Composition::of(&[(1, f64::NAN)], &RUAN_SERIES), None);
        let found = Composition::of(&[(1, 1.0)], &RUAN_SERIES).unwrap();
        assert_eq!(found.shares().iter().flatten().count(), 1);
    }

    #[test]
    fn equal_series_have_equal_numbers() {
        let responses: Vec<Response> = (1..=100).map(|size| (size, 1.0)).collect();
        assert_eq!(equal_series(&responses, 4), [25, 50, 75]);
        let one: Vec<Response> = vec![(7, 1.0); 10];
        assert!(equal_series(&one, 4).is_empty());
        assert!(equal_series(&[], 4).is_empty());
    }
}
