//! The law of the World Cup trace of Schroeder & Harchol-Balter, section 3.3.1: an inverse
//! distribution function fitted to the statistics they give, and the about 1000 distinct sizes it
//! is rounded to, so that each size can be a file.

use std::fmt;

use super::Law;

/// The smallest size, in bytes.
const SMALLEST: f64 = 41.0;
/// Half of the responses are smaller than this.
const MEDIAN: f64 = 1000.0;
/// 90 % of the responses are smaller than this.
const NINETIETH: f64 = 9300.0;
/// The largest size, 2.02 MB.
const LARGEST: f64 = 2_020_000.0;
/// Exponent of the bounded Pareto tail above [`NINETIETH`], chosen (by bisection) so that the
/// mean over all sizes is 5000 bytes.
const TAIL: f64 = 1.168_75;
/// How many steps, equal in the logarithm, the sizes are rounded to. Below about 100 bytes
/// several steps are the same whole number.
const STEPS: usize = 1000;

/// Sizes of the World Cup 1998 site: mean 5000 bytes, half under 1 KB, 90 % under 9.3 KB, from
/// 41 bytes to 2.02 MB; the largest 3 % have over half of the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldCup;

impl Law for WorldCup {
    fn quantile(&self, u: f64) -> f64 {
        if u < 0.5 {
            // Log-uniform.
            SMALLEST * (MEDIAN / SMALLEST).powf(u / 0.5)
        } else if u < 0.9 {
            // Bounded Pareto of exponent 1: lighter than log-uniform, which would leave too few
            // bytes for the largest 3 %.
            let v = (u - 0.5) / 0.4;
            MEDIAN / (1.0 - v * (1.0 - MEDIAN / NINETIETH))
        } else {
            // Bounded Pareto.
            let v = (u - 0.9) / 0.1;
            let reach = 1.0 - (NINETIETH / LARGEST).powf(TAIL);
            NINETIETH / (1.0 - v * reach).powf(1.0 / TAIL)
        }
    }

    fn size(&self, u: f64) -> u64 {
        let position = (self.quantile(u) / SMALLEST).ln() / step();
        step_size((position.round().max(0.0) as usize).min(STEPS - 1))
    }

    /// The midpoint rule over a million quantiles is exact to far below one part in a thousand;
    /// kept as it is so that traces of equal seeds stay equal.
    fn mean_of(&self, f: &dyn Fn(u64) -> f64) -> f64 {
        let points = 1_000_000;
        let sum: f64 =
            (0..points).map(|i| f(self.size((f64::from(i) + 0.5) / f64::from(points)))).sum();
        sum / f64::from(points)
    }

    fn sizes(&self) -> Option<Vec<u64>> {
        let mut sizes: Vec<u64> = (0..STEPS).map(step_size).collect();
        sizes.dedup();
        Some(sizes)
    }
}

impl fmt::Display for WorldCup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("worldcup")
    }
}

fn step() -> f64 {
    (LARGEST / SMALLEST).ln() / (STEPS - 1) as f64
}

fn step_size(k: usize) -> u64 {
    (SMALLEST * (k as f64 * step()).exp()).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_has_the_statistics_of_the_paper() {
        let law = WorldCup;
        let mean = law.mean_of(&|size| size as f64);
        assert!((mean / 5000.0 - 1.0).abs() < 0.005, "mean {mean}");
        assert!((law.mean() / 5000.0 - 1.0).abs() < 0.005, "mean {}", law.mean());
        let half = law.mean_of(&|size| f64::from(size < 1000));
        assert!((half - 0.5).abs() < 0.01, "share under 1 KB {half}");
        let ninety = law.mean_of(&|size| f64::from(size < 9300));
        assert!((ninety - 0.9).abs() < 0.005, "share under 9.3 KB {ninety}");
        let cut = law.quantile(0.97) as u64;
        let top = law.mean_of(&|size| if size >= cut { size as f64 } else { 0.0 }) / mean;
        assert!((0.5..0.65).contains(&top), "bytes of the largest 3 % {top}");
    }

    #[test]
    fn sizes_are_about_a_thousand_from_least_to_largest() {
        let sizes = WorldCup.sizes().expect("a thousand");
        assert!(sizes.len() > 900, "{}", sizes.len());
        assert_eq!(sizes.first(), Some(&41));
        assert_eq!(sizes.last(), Some(&2_020_000));
        assert_eq!(WorldCup.size(0.0), 41);
        assert_eq!(WorldCup.size(0.999_999_999), 2_020_000);
    }
}
