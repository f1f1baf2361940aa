//! The ratio of one figure of two systems, taken seed by seed on the same traces.

use serde::{Deserialize, Serialize};

use super::mean_interval;

/// A ratio of two systems and its interval.
///
/// The mean is geometric and the interval is one of the logarithms: ratios are skewed, and only so
/// is A ÷ B exactly the inverse of B ÷ A, interval included. Pairing takes out what both systems
/// have from the trace, which is most of what differs from seed to seed under overload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedRatio {
    /// The ratio of each seed, in the order given.
    pub ratios: Vec<f64>,
    /// Their geometric mean.
    pub mean: f64,
    /// Lower and upper end of the interval of 95 %; `None` with one seed. It assumes that the
    /// logarithms of the ratios are roughly normal.
    pub interval: Option<(f64, f64)>,
}

/// The ratio of `ours` ÷ `theirs`, where values of the same index are of the same seed. `None`
/// without values, with different numbers of them, or if one is not positive and finite.
pub fn paired_ratio(ours: &[f64], theirs: &[f64]) -> Option<PairedRatio> {
    let positive = |value: &f64| value.is_finite() && *value > 0.0;
    if ours.len() != theirs.len() || !ours.iter().chain(theirs).all(positive) {
        return None;
    }
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    let logarithms: Vec<f64> =
        ours.iter().zip(theirs).map(|(ours, theirs)| ours.ln() - theirs.ln()).collect();
    let mean = crate::samples::mean(logarithms.iter().copied())?.exp();
    let interval = mean_interval(&logarithms).map(|log| (log.low().exp(), log.high().exp()));
    let numbers = ratios.iter().chain([&mean]).all(positive);
    let interval = interval.filter(|(low, high)| low.is_finite() && high.is_finite());
    numbers.then_some(PairedRatio { ratios, mean, interval })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_geometric() {
        let found = paired_ratio(&[2.0, 8.0], &[1.0, 1.0]).unwrap();
        assert_eq!(found.ratios, [2.0, 8.0]);
        assert!((found.mean - 4.0).abs() < 1e-12);
        // Logarithms ln 2 and ln 8: mean ln 4, standard error ln 2; e^(ln 4 ± 12.7062 ln 2).
        let (low, high) = found.interval.unwrap();
        assert!((low / (4.0 / 2.0_f64.powf(12.7062)) - 1.0).abs() < 1e-3, "{low}");
        assert!((high / (4.0 * 2.0_f64.powf(12.7062)) - 1.0).abs() < 1e-3, "{high}");
    }

    #[test]
    fn what_both_have_from_the_trace_drops_out() {
        let found = paired_ratio(&[11.0, 110.0, 1.1], &[1.0, 10.0, 0.1]).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!((found.mean - 11.0).abs() < 1e-9 && high - low < 1e-6, "{found:?}");
    }

    #[test]
    fn the_other_way_round_is_the_inverse() {
        let (a, b) = ([3.0, 5.0, 4.0], [1.0, 2.0, 1.5]);
        let (there, back) = (paired_ratio(&a, &b).unwrap(), paired_ratio(&b, &a).unwrap());
        assert!((there.mean * back.mean - 1.0).abs() < 1e-12);
        assert!((there.interval.unwrap().0 * back.interval.unwrap().1 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_compared_is_none() {
        assert_eq!(paired_ratio(&[], &[]), None);
        assert_eq!(paired_ratio(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(paired_ratio(&[0.0], &[1.0]), None);
        assert_eq!(paired_ratio(&[1.0], &[f64::NAN]), None);
        assert_eq!(paired_ratio(&[f64::MAX], &[f64::MIN_POSITIVE]), None, "beyond any number");
        assert_eq!(paired_ratio(&[2.0], &[1.0]).unwrap().interval, None);
    }
}
