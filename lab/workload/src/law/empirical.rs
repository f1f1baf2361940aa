//! A law of ranges of sizes, each with its weight: what a histogram of measured sizes gives.

use std::fmt;

use super::Law;
use super::discrete::check_weight;
use crate::invalid::Invalid;

/// Ranges of sizes with shares; within a range all sizes are equally likely.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranges {
    text: String,
    /// Ascending; one more than the shares.
    bounds: Vec<f64>,
    /// The share of the sizes below the end of each range; ends at 1.
    shares: Vec<f64>,
}

impl Ranges {
    /// Range `i` reaches from `bounds[i]` to `bounds[i + 1]` and has the weight `weights[i]`;
    /// `text` is what the law is shown as.
    ///
    /// # Errors
    ///
    /// Bounds that do not ascend from 0 or more, weights below 0 or none above, or not one bound
    /// more than weights.
    pub fn new(
        text: impl Into<String>,
        bounds: Vec<f64>,
        weights: &[f64],
    ) -> Result<Ranges, Invalid> {
        let text = text.into();
        if bounds.len() != weights.len() + 1 {
            return Err(Invalid(format!(
                "{text}: {} bounds for {} weights; give one bound more than weights",
                bounds.len(),
                weights.len()
            )));
        }
        let ascends = bounds.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = bounds.iter().all(|bound| bound.is_finite() && *bound >= 0.0);
        if !(ascends && inside) {
            return Err(Invalid(format!("{text}: the bounds must ascend from 0 or more")));
        }
        let mut sum = 0.0;
        let mut shares = Vec::with_capacity(weights.len());
        for (weight, bound) in weights.iter().zip(&bounds) {
            check_weight(&text, *bound, *weight)?;
            sum += weight;
            shares.push(sum);
        }
        if !(sum.is_finite() && sum > 0.0) {
            return Err(Invalid(format!("{text}: the weights add up to {sum}; give some above 0")));
        }
        shares.iter_mut().for_each(|share| *share /= sum);
        Ok(Ranges { text, bounds, shares })
    }
}

impl Law for Ranges {
    fn quantile(&self, u: f64) -> f64 {
        let place = self.shares.partition_point(|share| *share <= u).min(self.shares.len() - 1);
        let before = if place == 0 { 0.0 } else { self.shares[place - 1] };
        let within = ((u - before) / (self.shares[place] - before)).clamp(0.0, 1.0);
        let (from, to) = (self.bounds[place], self.bounds[place + 1]);
        from + within * (to - from)
    }

    fn mean(&self) -> f64 {
        let before = std::iter::once(0.0).chain(self.shares.iter().copied());
        let weights = self.shares.iter().zip(before).map(|(to, from)| to - from);
        weights.zip(self.bounds.windows(2)).map(|(w, pair)| w * (pair[0] + pair[1]) / 2.0).sum()
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_their_shares_and_mean() {
        let law =
            Ranges::new("two", vec![0.0, 100.0, 200.0, 300.0], &[3.0, 0.0, 1.0]).expect("a law");
        assert!((law.quantile(0.375) - 50.0).abs() < 1e-9);
        assert!((law.quantile(0.875) - 250.0).abs() < 1e-9);
        assert!((law.mean() - 100.0).abs() < 1e-9);
        assert!((law.mean_of(&|size| size as f64) - 100.0).abs() < 0.1);
        assert_eq!(law.size(0.0), 1);
    }

    #[test]
    fn bounds_and_weights_must_fit() {
        assert!(Ranges::new("few", vec![0.0, 1.0], &[1.0, 1.0]).is_err());
        assert!(Ranges::new("falls", vec![1.0, 0.0], &[1.0]).is_err());
        assert!(Ranges::new("none", vec![0.0, 1.0], &[0.0]).is_err());
        assert!(Ranges::new("empty", vec![0.0], &[]).is_err());
    }
}
