//! The figures of a set of complete responses: mean, variance, percentiles, and means by size. The
//! experiments sum up their runs by it; what failed is counted in [`crate::series`] and
//! [`crate::streaming`].

use serde::{Deserialize, Serialize};

use crate::samples::{Samples, mean};
use crate::size::{SizeBins, groups};
use crate::{Record, Welford};

/// Bins of size to each factor of 10 in a [`Summary`].
pub const BINS_PER_FACTOR: u32 = 4;

/// A complete response: body bytes, and seconds from the intended start to the last byte.
pub type Response = (u64, f64);

/// The complete responses among the records, in their order.
pub fn responses(records: &[Record]) -> Vec<Response> {
    records.iter().filter_map(|r| r.response_time().map(|time| (r.size, time))).collect()
}

/// Response times of a set of responses, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their variance in seconds squared: the mean squared deviation from the mean.
    pub variance: f64,
    /// The median, as all percentiles here by nearest rank ([`Samples::percentile`]).
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// Mean of the largest 1 % of the responses, at least one ([`largest`]).
    pub largest: f64,
    /// Response time of the very largest response; of equal ones, the first.
    pub very_largest: f64,
    /// Mean by decile of size, smallest first: 10 values. `None` where fewer than ten responses
    /// leave a decile empty.
    pub deciles: Vec<Option<f64>>,
    /// By bins of size, [`BINS_PER_FACTOR`] to each factor of 10.
    pub by_size: Vec<SizeBin>,
}

/// The responses of one bin of size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeBin {
    /// Least size of the bin, in bytes.
    pub from: u64,
    /// Least size that is too large for the bin; `None` for the last bin there can be.
    pub below: Option<u64>,
    /// How many responses.
    pub count: usize,
    /// Their mean size in bytes.
    pub mean_size: f64,
    /// Their mean response time in seconds.
    pub mean_time: f64,
}

impl Summary {
    /// Sums up responses; `None` without any. A time that is not finite is a response that never
    /// came: it is left out, and not in `count`.
    pub fn of(responses: &[Response]) -> Option<Summary> {
        let samples = Samples::new(responses.iter().map(|&(_, time)| time));
        let spread: Welford = samples.sorted().iter().copied().collect();
        let sizes = by_size(responses);
        let largest = largest(&sizes, 0.01);
        Some(Summary {
            count: samples.len(),
            mean: samples.mean()?,
            variance: spread.variance()?,
            median: samples.median()?,
            p95: samples.percentile(0.95)?,
            p99: samples.percentile(0.99)?,
            max: samples.percentile(1.0)?,
            largest: mean(times(largest))?,
            very_largest: largest.first()?.1,
            deciles: by_size_group(&sizes, 10),
            by_size: by_size_bin(&sizes, BINS_PER_FACTOR),
        })
    }
}

/// The responses in the order of size, largest first; of equal ones the earlier first. Times that
/// are not finite are left out.
pub fn by_size(responses: &[Response]) -> Vec<Response> {
    let mut sorted: Vec<Response> =
        responses.iter().copied().filter(|(_, time)| time.is_finite()).collect();
    // Stable: among equal sizes the earlier stay first.
    sorted.sort_by_key(|&(size, _)| std::cmp::Reverse(size));
    sorted
}

/// The largest `share` of responses that [`by_size`] has put in order, at least one if there are
/// any (⌈share × count⌉).
pub fn largest(by_size: &[Response], share: f64) -> &[Response] {
    let count = (by_size.len() as f64 * share).ceil() as usize;
    &by_size[..count.max(1).min(by_size.len())]
}

/// Mean response time in each of `count` groups of equal number, smallest sizes first (10 groups
/// are deciles, 100 are percentiles), of responses that [`by_size`] has put in order. An empty
/// group has none.
pub fn by_size_group(by_size: &[Response], count: usize) -> Vec<Option<f64>> {
    let group = |range: std::ops::Range<usize>| {
        let from_largest = by_size.len() - range.end..by_size.len() - range.start;
        mean(times(&by_size[from_largest]))
    };
    groups(by_size.len(), count).map(group).collect()
}

/// Bins of size with at least one response, smallest sizes first, `per_factor` to each factor of
/// 10, of responses that [`by_size`] has put in order.
pub fn by_size_bin(by_size: &[Response], per_factor: u32) -> Vec<SizeBin> {
    let bins = SizeBins::new(per_factor);
    let mut found = Vec::new();
    for members in by_size.chunk_by(|a, b| bins.index(a.0) == bins.index(b.0)) {
        let bounds = members.first().and_then(|&(size, _)| bins.bounds(bins.index(size)));
        let sizes = mean(members.iter().map(|&(size, _)| size as f64));
        let (Some((from, below)), Some(mean_size), Some(mean_time)) =
            (bounds, sizes, mean(times(members)))
        else {
            continue;
        };
        found.push(SizeBin { from, below, count: members.len(), mean_size, mean_time });
    }
    found.reverse();
    found
}

fn times(responses: &[Response]) -> impl Iterator<Item = f64> {
    responses.iter().map(|&(_, time)| time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;
    use crate::record::tests::record;

    /// 200 responses: sizes 1 to 200 in a shuffled order, the time equal to the size.
    fn shuffled() -> Vec<Response> {
        (0..200_u64).map(|i| (i * 77 % 200 + 1, (i * 77 % 200 + 1) as f64)).collect()
    }

    #[test]
    fn a_summary_of_known_responses() {
        let summary = Summary::of(&shuffled()).unwrap();
        assert_eq!(summary.count, 200);
        assert_eq!(summary.mean, 100.5);
        assert!((summary.variance - (200.0 * 200.0 - 1.0) / 12.0).abs() < 1e-9);
        assert_eq!((summary.median, summary.p95, summary.p99), (100.0, 190.0, 198.0));
        assert_eq!((summary.largest, summary.very_largest, summary.max), (199.5, 200.0, 200.0));
        assert_eq!(summary.deciles[0], Some(10.5));
        assert_eq!(summary.deciles[9], Some(190.5));
        let bins: Vec<_> = summary.by_size.iter().map(|b| (b.from, b.below, b.count)).collect();
        assert_eq!(bins[0], (1, Some(2), 1));
        assert_eq!(bins[4], (10, Some(18), 8));
        assert_eq!(bins.iter().map(|&(_, _, count)| count).sum::<usize>(), 200);
        assert_eq!((summary.by_size[4].mean_size, summary.by_size[4].mean_time), (13.5, 13.5));
    }

    #[test]
    fn what_did_not_come_is_left_out_and_nothing_has_no_summary() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[(5, f64::NAN)]), None);
        let summary = Summary::of(&[(5, 1.0), (900, f64::NAN), (7, f64::INFINITY)]).unwrap();
        assert_eq!((summary.count, summary.mean, summary.very_largest), (1, 1.0, 1.0));
        assert_eq!(summary.deciles.iter().flatten().count(), 1);
    }

    #[test]
    fn only_complete_and_right_responses_count() {
        let records = [
            record(0.0, 10, Outcome::Ok, Some(2.0)),
            record(1.0, 20, Outcome::Status, Some(9.0)),
            record(2.0, 30, Outcome::Reset, None),
        ];
        assert_eq!(responses(&records), [(10, 2.0)]);
        assert_eq!(Summary::of(&responses(&records)).unwrap().count, 1);
    }

    #[test]
    fn of_equal_sizes_the_earlier_count_as_larger() {
        let sorted = by_size(&[(1, 0.1), (9, 0.2), (9, 0.3), (9, 0.4)]);
        assert_eq!(largest(&sorted, 0.01), [(9, 0.2)]);
        assert_eq!(largest(&sorted, 0.5), [(9, 0.2), (9, 0.3)]);
        assert_eq!(largest(&[], 0.01), []);
    }

    #[test]
    fn a_summary_survives_json() {
        let summary = Summary::of(&shuffled()).unwrap();
        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    }
}
