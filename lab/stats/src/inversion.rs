//! Service inversion (Ruan & Pai 2006, section 4.2): how far the order of response
//! times is from the order of sizes, so that any two servers can be compared under the same sizes.
//! `weir-lab sim inversion` prints it.

use crate::summary::Response;

/// The service inversion of the responses: 0 when they took longer in the order of their sizes, 1
/// when in the reverse order. It is
///
/// > Σ Distance(i) ÷ ⌊n² / 2⌋
///
/// where the distance of a response is the difference between its positions in the list ordered by
/// time and in the list ordered by size (formula 1). Of responses of equal size, the Nth in the one
/// list is compared with the Nth in the other, which is the paper's rule. Of equal times, about
/// which the paper is silent, the smaller response counts as the earlier: they are not inverted.
///
/// Responses that never came (their time is not finite) are left out. `None` with fewer than two,
/// where the formula divides by nothing. O(n log n).
pub fn service_inversion(responses: &[Response]) -> Option<f64> {
    let mut observed: Vec<Response> =
        responses.iter().copied().filter(|(_, time)| time.is_finite()).collect();
    observed.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let mut ideal: Vec<(u64, usize)> =
        observed.iter().enumerate().map(|(position, &(size, _))| (size, position)).collect();
    // In the order of size, equal sizes in the order of their observed positions: the Nth ideal
    // position of a size then holds the Nth observed one.
    ideal.sort_unstable();
    let distance: u128 = ideal
        .iter()
        .enumerate()
        .map(|(position, &(_, observed))| position.abs_diff(observed) as u128)
        .sum();
    let most = (ideal.len() as u128).pow(2) / 2;
    (most > 0).then(|| distance as f64 / most as f64)
}

/// The service inversion that many responses have in the mean if their order is random; `shares` are those
/// of each size, ascending, and add up to 1. It is 2/3 if no two sizes are equal, and less the fewer
/// sizes there are, since equal ones are compared Nth with Nth.
///
/// Of a size with the share w, whose ideal positions begin at b (both as parts of all), the part u that
/// came first is observed at u, and has its ideal positions up to b + u·w. The mean distance is the
/// integral of |u − b − u·w| over u from 0 to 1.
pub fn of_random_order(shares: &[f64]) -> f64 {
    let mut begin = 0.0;
    let mut distance = 0.0;
    for share in shares {
        let others = 1.0 - share;
        let mean = if others > 0.0 { begin * begin / others + others / 2.0 - begin } else { 0.0 };
        distance += share * mean;
        begin += share;
    }
    2.0 * distance
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, position by position: for every size, list its positions in both orders and
    /// compare the Nth with the Nth.
    fn naive(responses: &[Response]) -> Option<f64> {
        let n = responses.len();
        if n < 2 {
            return None;
        }
        let before = |a: &Response, b: &Response| a.1 < b.1 || a.1 == b.1 && a.0 < b.0;
        let mut by_time: Vec<Response> = Vec::new();
        for response in responses {
            let at =
                by_time.iter().position(|other| before(response, other)).unwrap_or(by_time.len());
            by_time.insert(at, *response);
        }
        let mut by_size = responses.to_vec();
        by_size.sort_by_key(|&(size, _)| size);
        let positions = |list: &[Response], size: u64| -> Vec<i64> {
            (0_i64..).zip(list).filter(|(_, r)| r.0 == size).map(|(at, _)| at).collect()
        };
        let mut sum = 0;
        let mut last = None;
        for &(size, _) in &by_size {
            if last == Some(size) {
                continue;
            }
            last = Some(size);
            let pairs = positions(&by_time, size).into_iter().zip(positions(&by_size, size));
            sum += pairs.map(|(observed, ideal)| (observed - ideal).abs()).sum::<i64>();
        }
        Some(sum as f64 / (n * n / 2) as f64)
    }

    /// Responses of these sizes, in the order of their times.
    fn in_order(sizes: &[u64]) -> Vec<Response> {
        sizes.iter().zip(1_u32..).map(|(&size, time)| (size, f64::from(time))).collect()
    }

    #[test]
    fn the_papers_example() {
        // Sizes A < B < C < D < E, observed B, C, A, D, E: distances 1, 1, 2, 0, 0; 4/12 = 0.33.
        assert_eq!(service_inversion(&in_order(&[2, 3, 1, 4, 5])), Some(4.0 / 12.0));
    }

    #[test]
    fn order_is_zero_and_reverse_order_is_one() {
        assert_eq!(service_inversion(&in_order(&[1, 2, 3, 4, 5])), Some(0.0));
        assert_eq!(service_inversion(&in_order(&[5, 4, 3, 2, 1])), Some(1.0));
        assert_eq!(service_inversion(&in_order(&[4, 3, 2, 1])), Some(1.0));
    }

    #[test]
    fn equal_sizes_compare_nth_with_nth() {
        assert_eq!(service_inversion(&in_order(&[7, 7, 7])), Some(0.0));
        // Ideal 1 1 2 2. Size 1 is observed at 1 and 2 instead of 0 and 1, size 2 at 0 and 3
        // instead of 2 and 3: distances 1, 1, 2, 0.
        assert_eq!(service_inversion(&in_order(&[2, 1, 1, 2])), Some(4.0 / 8.0));
    }

    #[test]
    fn equal_times_are_not_inverted() {
        assert_eq!(service_inversion(&[(9, 1.0), (1, 1.0), (5, 1.0)]), Some(0.0));
    }

    #[test]
    fn a_random_order_has_two_thirds_and_less_with_equal_sizes() {
        assert!((of_random_order(&[1e-4; 10_000]) - 2.0 / 3.0).abs() < 1e-3);
        assert_eq!(of_random_order(&[1.0]), 0.0);
        // Responses in the order of a sequence without pattern, each size as often as its share says.
        let shares = [0.1, 0.4, 0.3, 0.2];
        let mut state = 1_u64;
        let responses: Vec<Response> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 40) as f64 / (1_u64 << 24) as f64
        })
        .take(100_000)
        .enumerate()
        .map(|(time, at)| {
            let size = if at < 0.1 {
                1
            } else if at < 0.5 {
                2
            } else if at < 0.8 {
                3
            } else {
                4
            };
            (size, time as f64)
        })
        .collect();
        let observed = service_inversion(&responses).expect("there are many");
        assert!((of_random_order(&shares) - observed).abs() < 0.01, "{observed}");
    }

    #[test]
    fn fewer_than_two_have_none() {
        assert_eq!(service_inversion(&[]), None);
        assert_eq!(service_inversion(&[(1, 1.0), (2, f64::NAN)]), None);
    }

    #[test]
    fn a_million_responses_in_reverse() {
        let responses: Vec<Response> =
            (0..1_000_000_u64).map(|i| (i, (1_000_000 - i) as f64)).collect();
        assert_eq!(service_inversion(&responses), Some(1.0));
    }

    proptest! {
        #[test]
        fn the_same_as_by_definition(
            responses in prop::collection::vec((0_u64..8, (0_u8..20).prop_map(f64::from)), 0..40),
        ) {
            prop_assert_eq!(service_inversion(&responses), naive(&responses));
        }

        #[test]
        fn never_beyond_zero_and_one(
            responses in prop::collection::vec((0_u64..1000, 0.0..10.0_f64), 2..200),
        ) {
            let found = service_inversion(&responses).unwrap();
            prop_assert!((0.0..=1.0).contains(&found));
        }
    }
}
