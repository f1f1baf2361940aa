//! Zipf's law over a number of items: the k-th most popular has a share of 1/k. The popularity of
//! SURGE's files and of the documents of arrivals.

/// Popularity by rank.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    /// The share of the ranks up to this one; ends at 1.
    sums: Vec<f64>,
}

impl Zipf {
    /// Of `count` things, at least 1.
    pub(crate) fn new(count: u32) -> Zipf {
        let mut sum = 0.0;
        let mut sums: Vec<f64> = (1..=count.max(1))
            .map(|rank| {
                sum += 1.0 / f64::from(rank);
                sum
            })
            .collect();
        sums.iter_mut().for_each(|share| *share /= sum);
        Zipf { sums }
    }

    /// The rank, counted from 0, that a uniform number in [0, 1) stands for.
    pub(crate) fn rank(&self, u: f64) -> usize {
        self.sums.partition_point(|share| *share <= u).min(self.sums.len() - 1)
    }

    /// The share of a rank, counted from 0.
    pub(crate) fn share(&self, rank: usize) -> f64 {
        let before = if rank == 0 { 0.0 } else { self.sums[rank - 1] };
        self.sums[rank] - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kth_has_a_share_of_one_over_k() {
        let zipf = Zipf::new(1000);
        for rank in [1, 9, 99, 999] {
            let ratio = zipf.share(0) / zipf.share(rank);
            assert!((ratio / (rank + 1) as f64 - 1.0).abs() < 1e-6, "{rank}: {ratio}");
        }
        assert_eq!(zipf.rank(0.0), 0);
        assert_eq!(zipf.rank(zipf.share(0) + 1e-9), 1);
        assert_eq!(zipf.rank(1.0), 999);
    }
}
