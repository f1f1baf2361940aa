//! The sizes of recent responses, and which size a share of the responses, or of their bytes, stays
//! below. The cutoffs of SWIFT and of the kernel's bands come from it: Rawat 2003, section 3.2.2,
//! and Schroeder 2003, section 2.2, place them by such shares.

/// Buckets of each doubling of the size: bounds are at most an eighth apart.
const STEPS: u32 = 8;
/// Sizes up to this have a bucket of their own each.
const EXACT: u64 = STEPS as u64;
/// When so many responses are counted, all counts are halved: about the last 100,000 matter.
const REMEMBERED: u64 = 100_000;

/// Counts responses by size; older ones count ever less.
#[derive(Clone, Debug, Default)]
pub struct RecentSizes {
    /// Responses and their bytes, by bucket.
    buckets: Vec<(u64, u64)>,
    count: u64,
}

impl RecentSizes {
    /// A response of `bytes`.
    pub fn add(&mut self, bytes: u64) {
        let bucket = bucket(bytes);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, (0, 0));
        }
        let (count, sum) = &mut self.buckets[bucket];
        *count += 1;
        *sum += bytes;
        self.count += 1;
        if self.count >= REMEMBERED {
            self.halve();
        }
    }

    /// How many responses it rests on.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The size that this share (0 to 1) of the responses does not exceed, give or take an eighth;
    /// `None` if there was no response.
    pub fn below_by_count(&self, share: f64) -> Option<u64> {
        self.below(share, |(count, _)| count)
    }

    /// The size such that responses up to it make up this share (0 to 1) of the bytes, give or take an
    /// eighth; `None` if there was no byte.
    pub fn below_by_bytes(&self, share: f64) -> Option<u64> {
        self.below(share, |(_, bytes)| bytes)
    }

    fn below(&self, share: f64, weight: impl Fn((u64, u64)) -> u64) -> Option<u64> {
        let total: u64 = self.buckets.iter().map(|&bucket| weight(bucket)).sum();
        let wanted = share.clamp(0.0, 1.0) * total as f64;
        let mut passed = 0;
        let mut counted = self.buckets.iter().filter(|(count, _)| *count > 0 && total > 0);
        let (count, bytes) = counted.find(|bucket| {
            passed += weight(**bucket);
            passed as f64 >= wanted
        })?;
        Some(bytes / count)
    }

    fn halve(&mut self) {
        self.count = 0;
        for (count, bytes) in &mut self.buckets {
            let mean = *bytes / (*count).max(1);
            *count /= 2;
            *bytes = mean * *count;
            self.count += *count;
        }
    }
}

/// Logarithmic, with linear steps inside each doubling.
fn bucket(bytes: u64) -> usize {
    if bytes < EXACT {
        return bytes as usize;
    }
    let doubling = bytes.ilog2() - STEPS.ilog2();
    let step = (bytes >> doubling) - EXACT;
    (EXACT + u64::from(doubling) * EXACT + step) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_nothing_nothing_is_known() {
        let sizes = RecentSizes::default();
        assert_eq!((sizes.below_by_count(0.5), sizes.below_by_bytes(0.5)), (None, None));
    }

    #[test]
    fn half_of_the_responses_and_half_of_the_bytes() {
        let mut sizes = RecentSizes::default();
        for _ in 0..99 {
            sizes.add(1_000);
        }
        sizes.add(1_000_000);
        assert_eq!(sizes.below_by_count(0.5), Some(1_000));
        assert_eq!(sizes.below_by_count(1.0), Some(1_000_000));
        assert_eq!(sizes.below_by_bytes(0.05), Some(1_000));
        assert_eq!(sizes.below_by_bytes(0.5), Some(1_000_000));
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut sizes = RecentSizes::default();
        for _ in 0..REMEMBERED {
            sizes.add(10);
        }
        for _ in 0..2 * REMEMBERED {
            sizes.add(5_000);
        }
        assert!(sizes.count() <= REMEMBERED);
        assert_eq!(sizes.below_by_count(0.3), Some(5_000));
    }

    proptest! {
        #[test]
        fn buckets_follow_the_order_of_sizes_and_are_narrow(bytes in 0..u64::MAX) {
            let next = bytes.saturating_add(1);
            prop_assert!(bucket(bytes) <= bucket(next));
            let wide = bytes.saturating_add(bytes / 8 + 1);
            prop_assert!(wide == u64::MAX || bucket(bytes) < bucket(wide));
        }

        #[test]
        fn a_share_is_met_as_exactly_as_buckets_allow(
            mut all in prop::collection::vec(0..2_000_000_u64, 1..400),
            share in 0.0..=1.0_f64,
        ) {
            let mut sizes = RecentSizes::default();
            all.iter().for_each(|&bytes| sizes.add(bytes));
            all.sort_unstable();
            let exact = all[((share * all.len() as f64).ceil() as usize).clamp(1, all.len()) - 1];
            let found = sizes.below_by_count(share).expect("there are some");
            prop_assert!(found.abs_diff(exact) <= exact / 8 + 1, "{found} and {exact}");
        }
    }
}
