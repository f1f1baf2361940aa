//! Factorial experiments of three factors with two levels each: what each factor does, and whether it
//! does something else where another one is changed (its interaction). The experiments compare ways to
//! build a server with it.

/// The figures of all combinations of three factors. The index has bit 0 set where the first factor is
/// at its high level, bit 1 for the second, bit 2 for the third.
pub type Cube = [f64; 8];

/// What the factors do to a figure that is above 0. All values are ratios: 1 is no effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effects {
    /// By how much the figure is multiplied when the factor goes from low to high: the geometric mean
    /// over the levels of the other two.
    pub alone: [f64; 3],
    /// The multiple of the effect of the first of two factors when the other one is high, over that
    /// when it is low: the difference of differences of logarithms, a geometric mean over the levels of
    /// the third. In the order first and second, first and third, second and third; of a pair it does
    /// not matter which is called the first.
    pub pairs: [f64; 3],
    /// The interaction of the first two when the third is high, over that when it is low.
    pub all: f64,
}

/// The pairs of factors, in the order of [`Effects::pairs`].
pub const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

/// The effects of three factors on a figure; `None` unless all eight values are finite and above 0,
/// since only then they have logarithms.
pub fn effects(cube: &Cube) -> Option<Effects> {
    if !cube.iter().all(|value| value.is_finite() && *value > 0.0) {
        return None;
    }
    // The sum of the logarithms, each with the product of the signs of the factors in `of`, over the
    // number of differences: 4 for one factor, 2 for a pair, 1 for all three.
    let contrast = |of: &[usize]| {
        let sign = |place: usize| -> f64 {
            of.iter().map(|factor| if (place >> factor) & 1 == 1 { 1.0 } else { -1.0 }).product()
        };
        let sum: f64 = cube.iter().enumerate().map(|(at, value)| sign(at) * value.ln()).sum();
        let differences = f64::from(8_u32 >> of.len());
        (sum / differences).exp()
    };
    Some(Effects {
        alone: [0, 1, 2].map(|factor| contrast(&[factor])),
        pairs: PAIRS.map(|(one, other)| contrast(&[one, other])),
        all: contrast(&[0, 1, 2]),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A figure that the factors multiply, with an interaction of the first two.
    fn cube(alone: [f64; 3], both: f64) -> Cube {
        std::array::from_fn(|at| {
            let high = |factor: usize| (at >> factor) & 1 == 1;
            let each = (0..3).filter(|&factor| high(factor)).map(|factor| alone[factor]);
            let both = if high(0) && high(1) { both } else { 1.0 };
            10.0 * each.product::<f64>() * both
        })
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn factors_that_only_multiply_have_no_interaction() {
        let found = effects(&cube([4.0, 0.5, 1.0], 1.0)).unwrap();
        for (found, expected) in found.alone.into_iter().zip([4.0, 0.5, 1.0]) {
            near(found, expected);
        }
        for pair in found.pairs {
            near(pair, 1.0);
        }
        near(found.all, 1.0);
    }

    /// Worked by hand: without the second factor the first multiplies by 4; with it, by 4 × 3.
    #[test]
    fn a_factor_that_does_more_beside_another_interacts_with_it_alone() {
        let found = effects(&cube([4.0, 2.0, 1.0], 3.0)).unwrap();
        near(found.pairs[0], 3.0);
        near(found.pairs[1], 1.0);
        near(found.pairs[2], 1.0);
        near(found.all, 1.0);
        // The geometric mean of 4 and 12.
        near(found.alone[0], (4.0_f64 * 12.0).sqrt());
    }

    #[test]
    fn what_has_no_logarithm_has_no_effects() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut values = [1.0; 8];
            values[5] = bad;
            assert_eq!(effects(&values), None);
        }
    }

    proptest! {
        #[test]
        fn the_unit_does_not_matter(values in prop::array::uniform8(0.01..100.0_f64), unit in 0.01..100.0_f64) {
            let (one, other) = (effects(&values).unwrap(), effects(&values.map(|v| v * unit)).unwrap());
            let all = |e: Effects| [e.alone.to_vec(), e.pairs.to_vec(), vec![e.all]].concat();
            for (one, other) in all(one).into_iter().zip(all(other)) {
                prop_assert!((one / other - 1.0).abs() < 1e-6);
            }
        }
    }
}
