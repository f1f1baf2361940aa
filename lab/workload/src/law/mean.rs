//! Means over a law without a formula, and whether they can be reached by drawing sizes: for the
//! laws of this module whose functions grow towards the share 1.

use super::Law;
use crate::invalid::Invalid;

/// The largest number below 1.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;
/// Steps of each range.
const POINTS: u32 = 20_000;
/// Steps that tell whether sizes have the law's mean: a law of steps is met to 0.3 %.
const FEW_POINTS: u32 = 2000;
/// The share of its mean that a law may have in sizes that are never drawn.
const MAY_MISS: f64 = 0.01;
/// Ranges; the last ends at 1.
const RANGES: u32 = 15;

/// The integral of a function over [0, 1) that may grow without bound towards 1, such as
/// a quantile function of a heavy tail. The midpoint rule over each of the ranges `1 - 10^-k` to
/// `1 - 10^-(k+1)`: plain equal steps would miss the bytes of the largest requests.
pub(super) fn integrate(f: impl Fn(f64) -> f64) -> f64 {
    integrate_in(POINTS, f)
}

/// Refuse a law whose mean lies in a tail that uniform numbers, which have 53 bits, do not reach:
/// whatever is drawn of it, the load is far below the one asked for.
///
/// # Errors
///
/// Such a law, or one without a mean: the mean, and how much of it can be drawn.
pub fn check_tail(law: &dyn Law) -> Result<(), Invalid> {
    let (own, drawn) = (law.mean(), integrate_in(FEW_POINTS, |u| law.quantile(u)));
    if (drawn / own - 1.0).abs() < MAY_MISS {
        return Ok(());
    }
    Err(Invalid(format!(
        "{law}: its mean is {own:.6e}, but sizes up to the share 1 - 2^-53 have only {drawn:.6e} of \
         it; take a law with a lighter or a shorter tail"
    )))
}

fn integrate_in(points: u32, f: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    let mut from = 1.0;
    for range in 1..=RANGES {
        let to = if range == RANGES { 0.0 } else { from / 10.0 };
        let width = (from - to) / f64::from(points);
        let middle = |i: u32| 1.0 - (from - (f64::from(i) + 0.5) * width);
        let inside: f64 = (0..points).map(|i| f(middle(i).min(BELOW_ONE))).sum();
        sum += inside * width;
        from = to;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::parse;

    #[test]
    fn a_mean_that_is_never_drawn_is_refused() {
        for text in [
            "lognormal:mu=0,sigma=4",
            "bounded-pareto:min=1,max=1e10,alpha=1.1",
            "exponential:mean=1e-9",
            "deterministic:size=3",
            "worldcup",
            "surge",
            "surge-files",
            "specweb96",
            "specweb99",
            "carter",
        ] {
            assert_eq!(check_tail(parse(text).expect("a law").as_ref()), Ok(()));
        }
        for text in ["lognormal:mu=0,sigma=8", "lognormal:mu=500,sigma=500"] {
            let error = check_tail(parse(text).expect("a law").as_ref()).expect_err(text).0;
            assert!(error.contains(text) && error.contains("shorter tail"), "{error}");
        }
    }

    #[test]
    fn integrals_are_right_though_the_function_grows_without_bound() {
        assert!((integrate(|_| 1.0) - 1.0).abs() < 1e-12);
        assert!((integrate(|u| u) - 0.5).abs() < 1e-9);
        assert!((integrate(|u| -(-u).ln_1p()) - 1.0).abs() < 1e-6);
        // A Pareto law of exponent 1.5 has a mean of 3.
        let pareto = integrate(|u| (1.0 - u).powf(-1.0 / 1.5));
        assert!((pareto / 3.0 - 1.0).abs() < 1e-4, "{pareto}");
    }
}
