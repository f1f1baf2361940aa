//! The bounded Pareto law: a heavy tail that ends (Crovella, Frangioso & Harchol-Balter 1999,
//! section 6; Harchol-Balter, "Performance Modeling and Design of Computer Systems", chapter 20).

use std::fmt;

use super::Law;
use crate::invalid::Invalid;

/// Sizes whose share above `x` falls as `x^-alpha`, between a least and a largest size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedPareto {
    min: f64,
    max: f64,
    alpha: f64,
    /// The share of the law without a largest size that lies below it.
    reach: f64,
}

impl BoundedPareto {
    /// The law from `min` (above 0) to `max` (above `min`) of exponent `alpha` (above 0).
    ///
    /// # Errors
    ///
    /// A parameter out of its range.
    pub fn new(min: f64, max: f64, alpha: f64) -> Result<BoundedPareto, Invalid> {
        if !(min.is_finite() && min > 0.0) {
            return Err(Invalid(format!("bounded-pareto: `min` is {min}; give a number above 0")));
        }
        if !(max.is_finite() && max > min) {
            return Err(Invalid(format!(
                "bounded-pareto: `max` is {max}; give a number above `min`, which is {min}"
            )));
        }
        if !(alpha.is_finite() && alpha > 0.0) {
            return Err(Invalid(format!(
                "bounded-pareto: `alpha` is {alpha}; give a number above 0, such as 1.1"
            )));
        }
        Ok(BoundedPareto { min, max, alpha, reach: reach(min, max, alpha) })
    }
}

impl Law for BoundedPareto {
    fn quantile(&self, u: f64) -> f64 {
        (self.min * (1.0 - u * self.reach).powf(-1.0 / self.alpha)).min(self.max)
    }

    fn mean(&self) -> f64 {
        mean(self.min, self.max, self.alpha)
    }
}

fn reach(min: f64, max: f64, alpha: f64) -> f64 {
    1.0 - (min / max).powf(alpha)
}

/// The mean of a Pareto law of exponent `alpha` between `min` and `max`.
pub(super) fn mean(min: f64, max: f64, alpha: f64) -> f64 {
    // The integral of x^-alpha from min to max, times min^alpha; written with exp_m1 so that it
    // has no jump where alpha is 1.
    let octaves = (max / min).ln();
    let power = 1.0 - alpha;
    let integral = if power.abs() < 1e-12 { octaves } else { (power * octaves).exp_m1() / power };
    alpha * min * integral / reach(min, max, alpha)
}

impl fmt::Display for BoundedPareto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bounded-pareto:min={},max={},alpha={}", self.min, self.max, self.alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::mean::integrate;

    #[test]
    fn it_reaches_from_min_to_max_and_has_its_mean() {
        for alpha in [0.5, 1.0, 1.1, 2.5] {
            let law = BoundedPareto::new(332.0, 1e10, alpha).expect("a law");
            assert_eq!(law.quantile(0.0), 332.0);
            assert!((law.quantile(1.0) / 1e10 - 1.0).abs() < 1e-4);
            let integral = integrate(|u| law.quantile(u));
            assert!((law.mean() / integral - 1.0).abs() < 1e-3, "{alpha}: {integral}");
        }
    }

    #[test]
    fn the_largest_hundredth_has_over_half_of_the_work_at_1_1() {
        // Crovella 1999, section 6: "for a Bounded Pareto distribution with alpha = 1.1, the
        // largest 1% of all tasks account for more than half the total service demand".
        let law = BoundedPareto::new(512.0, 1e10, 1.1).expect("a law");
        let largest = integrate(|u| if u > 0.99 { law.quantile(u) } else { 0.0 });
        assert!((0.5..0.7).contains(&(largest / law.mean())), "{}", largest / law.mean());
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for (min, max, alpha) in
            [(0.0, 1.0, 1.0), (2.0, 2.0, 1.0), (1.0, f64::INFINITY, 1.0), (1.0, 2.0, -1.0)]
        {
            assert!(BoundedPareto::new(min, max, alpha).is_err(), "{min} {max} {alpha}");
        }
    }
}
