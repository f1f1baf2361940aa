//! A law of some sizes, each with its weight: class mixes of benchmarks, and measured sizes.

use std::fmt;

use super::{Law, whole};
use crate::invalid::Invalid;

/// Some sizes, each with its share.
#[derive(Clone, Debug, PartialEq)]
pub struct Discrete {
    text: String,
    /// Ascending, distinct.
    sizes: Vec<f64>,
    /// The share of the sizes up to this one; ends at 1.
    shares: Vec<f64>,
}

impl Discrete {
    /// Sizes (above 0) with weights (0 or more) in any order and any unit; `text` is what the law
    /// is shown as.
    ///
    /// # Errors
    ///
    /// A size or weight out of its range, or no weight at all.
    pub fn new(
        text: impl Into<String>,
        weighted: impl IntoIterator<Item = (f64, f64)>,
    ) -> Result<Discrete, Invalid> {
        let text = text.into();
        let mut weighted: Vec<(f64, f64)> = weighted.into_iter().collect();
        for (size, weight) in &weighted {
            if !(size.is_finite() && *size > 0.0) {
                return Err(Invalid(format!("{text}: a size is {size}; give a number above 0")));
            }
            check_weight(&text, *size, *weight)?;
        }
        weighted.retain(|(_, weight)| *weight > 0.0);
        weighted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sizes: Vec<f64> = Vec::new();
        let mut shares: Vec<f64> = Vec::new();
        let mut sum = 0.0;
        for (size, weight) in weighted {
            sum += weight;
            if sizes.last() == Some(&size) {
                shares.pop();
            } else {
                sizes.push(size);
            }
            shares.push(sum);
        }
        if !(sum.is_finite() && sum > 0.0) {
            return Err(Invalid(format!("{text}: the weights add up to {sum}; give some above 0")));
        }
        shares.iter_mut().for_each(|share| *share /= sum);
        Ok(Discrete { text, sizes, shares })
    }

    fn weighted(&self) -> impl Iterator<Item = (f64, f64)> {
        let before = std::iter::once(0.0).chain(self.shares.iter().copied());
        let weights = self.shares.iter().zip(before).map(|(to, from)| to - from);
        self.sizes.iter().copied().zip(weights)
    }
}

/// Refuse a weight that is below 0 or no number.
pub(super) fn check_weight(text: &str, size: f64, weight: f64) -> Result<(), Invalid> {
    if weight.is_finite() && weight >= 0.0 {
        return Ok(());
    }
    Err(Invalid(format!("{text}: the weight of size {size} is {weight}; give 0 or more")))
}

impl Law for Discrete {
    fn quantile(&self, u: f64) -> f64 {
        let place = self.shares.partition_point(|share| *share <= u);
        self.sizes[place.min(self.sizes.len() - 1)]
    }

    fn mean(&self) -> f64 {
        self.weighted().map(|(size, weight)| size * weight).sum()
    }

    fn mean_of(&self, f: &dyn Fn(u64) -> f64) -> f64 {
        self.weighted().map(|(size, weight)| f(whole(size)) * weight).sum()
    }

    fn sizes(&self) -> Option<Vec<u64>> {
        let mut sizes: Vec<u64> = self.sizes.iter().map(|size| whole(*size)).collect();
        sizes.dedup();
        Some(sizes)
    }
}

impl fmt::Display for Discrete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_as_often_as_their_weights_say() {
        let law = Discrete::new("three", [(30.0, 1.0), (10.0, 5.0), (20.0, 3.0), (10.0, 1.0)])
            .expect("a law");
        assert_eq!(law.sizes(), Some(vec![10, 20, 30]));
        assert_eq!((law.size(0.0), law.size(0.599), law.size(0.601)), (10, 10, 20));
        assert_eq!((law.size(0.899), law.size(0.901), law.size(0.999_999)), (20, 30, 30));
        assert!((law.mean() - 15.0).abs() < 1e-12, "{}", law.mean());
        assert!((law.mean_of(&|size| f64::from(size == 20)) - 0.3).abs() < 1e-12);
    }

    #[test]
    fn a_size_without_weight_never_comes() {
        let law = Discrete::new("two", [(1.0, 0.0), (2.0, 1.0), (3.0, 0.0)]).expect("a law");
        assert_eq!((law.size(0.0), law.size(0.999_999_999)), (2, 2));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(Discrete::new("none", []).is_err());
        assert!(Discrete::new("none", [(1.0, 0.0)]).is_err());
        assert!(Discrete::new("negative", [(1.0, -1.0)]).is_err());
        assert!(Discrete::new("zero", [(0.0, 1.0)]).is_err_and(|e| e.0.contains("size is 0")));
    }
}
