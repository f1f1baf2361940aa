//! Means over a law without a formula. It knows only that the function grows towards 1.

/// The largest number below 1.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;
/// Steps of each range.
const POINTS: u32 = 20_000;
/// Ranges; the last ends at 1.
const RANGES: u32 = 15;

/// The integral of a function over [0, 1) that may grow without bound towards 1, such as
/// a quantile function of a heavy tail. The midpoint rule over each of the ranges `1 - 10^-k` to
/// `1 - 10^-(k+1)`: plain equal steps would miss the bytes of the largest requests.
pub(super) fn integrate(f: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    let mut from = 1.0;
    for range in 1..=RANGES {
        let to = if range == RANGES { 0.0 } else { from / 10.0 };
        let width = (from - to) / f64::from(POINTS);
        let middle = |i: u32| 1.0 - (from - (f64::from(i) + 0.5) * width);
        let inside: f64 = (0..POINTS).map(|i| f(middle(i).min(BELOW_ONE))).sum();
        sum += inside * width;
        from = to;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

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
