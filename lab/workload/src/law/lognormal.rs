//! The lognormal law: sizes whose logarithm is normal.

use std::fmt;

use statrs::function::erf::{erfc, erfc_inv};

use super::Law;

/// Sizes whose natural logarithm is normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lognormal {
    /// Mean of the logarithm.
    pub mu: f64,
    /// Standard deviation of the logarithm, above 0.
    pub sigma: f64,
}

impl Lognormal {
    /// The share of the sizes below `size`.
    pub fn share_below(&self, size: f64) -> f64 {
        normal_below((size.ln() - self.mu) / self.sigma)
    }

    /// The mean of the sizes below `size`, times their share.
    pub(super) fn mean_below(&self, size: f64) -> f64 {
        self.mean() * normal_below((size.ln() - self.mu) / self.sigma - self.sigma)
    }
}

impl Law for Lognormal {
    fn quantile(&self, u: f64) -> f64 {
        (self.mu + self.sigma * normal_quantile(u)).exp()
    }

    fn mean(&self) -> f64 {
        (self.mu + self.sigma * self.sigma / 2.0).exp()
    }
}

impl fmt::Display for Lognormal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lognormal:mu={},sigma={}", self.mu, self.sigma)
    }
}

/// The share of the standard normal law below `z`.
fn normal_below(z: f64) -> f64 {
    erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

/// The value below which a share `u` of the standard normal law lies.
fn normal_quantile(u: f64) -> f64 {
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * u)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_its_median_shares_and_mean() {
        let law = Lognormal { mu: 7.63, sigma: 1.001 };
        assert!((law.quantile(0.5) / 7.63_f64.exp() - 1.0).abs() < 1e-9);
        for u in [1e-6, 0.1, 0.5, 0.9, 0.999_999] {
            assert!((law.share_below(law.quantile(u)) - u).abs() < 1e-9, "{u}");
        }
        assert!((law.mean_of(&|size| size as f64) / law.mean() - 1.0).abs() < 1e-3);
        // One standard deviation.
        assert!((law.quantile(0.841_344_746) / (7.63_f64 + 1.001).exp() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_ends_are_no_trouble() {
        let law = Lognormal { mu: 7.63, sigma: 1.001 };
        assert_eq!(law.size(0.0), 1);
        assert!(law.quantile(1.0 - f64::EPSILON / 2.0) < 1e9);
    }
}
