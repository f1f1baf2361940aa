//! The exponential law and the law of one size only: the two that queueing theory begins with.

use std::fmt;

use super::Law;

/// Sizes whose logarithm of the share above falls in proportion to the size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    /// The mean, above 0.
    pub mean: f64,
}

impl Law for Exponential {
    fn quantile(&self, u: f64) -> f64 {
        -self.mean * (-u).ln_1p()
    }

    fn mean(&self) -> f64 {
        self.mean
    }
}

impl fmt::Display for Exponential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exponential:mean={}", self.mean)
    }
}

/// The same size always.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deterministic {
    /// The size, above 0.
    pub size: f64,
}

impl Law for Deterministic {
    fn quantile(&self, _: f64) -> f64 {
        self.size
    }

    fn mean(&self) -> f64 {
        self.size
    }

    fn mean_of(&self, f: &dyn Fn(u64) -> f64) -> f64 {
        f(self.size(0.0))
    }

    fn sizes(&self) -> Option<Vec<u64>> {
        Some(vec![self.size(0.0)])
    }
}

impl fmt::Display for Deterministic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deterministic:size={}", self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_law_has_its_mean_and_median() {
        let law = Exponential { mean: 5000.0 };
        assert!((law.quantile(0.5) - 5000.0 * 2.0_f64.ln()).abs() < 1e-9);
        assert!((law.mean_of(&|size| size as f64) / 5000.0 - 1.0).abs() < 1e-4);
        let unit = Exponential { mean: 1.0 };
        assert_eq!(unit.size(0.1), 1, "no response has a body of 0 bytes by rounding");
    }

    #[test]
    fn one_size_is_one_size() {
        let law = Deterministic { size: 1024.0 };
        assert_eq!((law.size(0.0), law.size(0.999)), (1024, 1024));
        assert_eq!(law.mean_of(&|size| size as f64), 1024.0);
        assert_eq!(law.sizes(), Some(vec![1024]));
    }
}
