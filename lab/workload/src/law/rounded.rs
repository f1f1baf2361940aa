//! A law rounded to some sizes per power of ten, so that each size can be a file.

use std::fmt;
use std::sync::Arc;

use super::{Law, whole};

/// Another law whose sizes are rounded to the nearest of so many per power of ten, equal in the
/// logarithm.
#[derive(Clone, Debug)]
pub struct Rounded {
    law: Arc<dyn Law>,
    per_decade: u32,
}

impl Rounded {
    /// `per_decade` is at least 1.
    pub fn new(law: Arc<dyn Law>, per_decade: u32) -> Rounded {
        Rounded { law, per_decade: per_decade.max(1) }
    }

    fn step(&self, size: f64) -> f64 {
        (size.max(1.0).log10() * f64::from(self.per_decade)).round()
    }

    fn at(&self, step: f64) -> u64 {
        whole(10_f64.powf(step / f64::from(self.per_decade)))
    }
}

impl Law for Rounded {
    fn quantile(&self, u: f64) -> f64 {
        self.law.quantile(u)
    }

    fn size(&self, u: f64) -> u64 {
        self.at(self.step(self.law.quantile(u)))
    }

    fn mean(&self) -> f64 {
        self.law.mean()
    }

    fn sizes(&self) -> Option<Vec<u64>> {
        let least = self.step(self.law.quantile(0.0));
        let most = self.step(self.law.quantile(1.0 - f64::EPSILON / 2.0));
        let mut sizes: Vec<u64> =
            (least as u64..=most as u64).map(|step| self.at(step as f64)).collect();
        sizes.dedup();
        Some(sizes)
    }
}

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.law.to_string();
        let sign = if text.contains(':') { ',' } else { ':' };
        write!(f, "{text}{sign}per-decade={}", self.per_decade)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{BoundedPareto, Surge};

    #[test]
    fn sizes_are_few_and_near_those_of_the_law() {
        let law = BoundedPareto::new(100.0, 1e6, 1.1).expect("a law");
        let rounded = Rounded::new(Arc::new(law), 200);
        let sizes = rounded.sizes().expect("few");
        assert_eq!((sizes.first(), sizes.last()), (Some(&100), Some(&1_000_000)));
        assert!(sizes.len() > 700 && sizes.len() <= 801, "{}", sizes.len());
        for i in 0..10_000 {
            let u = f64::from(i) / 10_000.0;
            assert!(sizes.binary_search(&rounded.size(u)).is_ok(), "{u}");
            assert!((rounded.size(u) as f64 / law.quantile(u) - 1.0).abs() < 0.012, "{u}");
        }
        let mean = rounded.mean_of(&|size| size as f64);
        assert!((mean / law.mean() - 1.0).abs() < 0.002, "{mean} {}", law.mean());
    }

    #[test]
    fn it_is_shown_as_it_is_written() {
        let surge = Rounded::new(Arc::new(Surge::requests()), 50);
        assert_eq!(surge.to_string(), "surge:per-decade=50");
    }
}
