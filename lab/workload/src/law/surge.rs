//! SURGE's sizes: a lognormal body and a Pareto tail, with the parameters of both papers.

use std::fmt;

use super::{Law, Lognormal, pareto};

/// A lognormal body below a cutoff, and a Pareto tail from there to a largest size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surge {
    name: &'static str,
    body: Lognormal,
    body_share: f64,
    cutoff: f64,
    alpha: f64,
    max: f64,
}

impl Surge {
    /// The empirical task size model of Crovella, Frangioso & Harchol-Balter 1999, Table 1: body
    /// lognormal with mu 7.630 and sigma 1.001 below 9020 bytes, tail bounded Pareto with alpha 1
    /// and k 631.44 from there to 10^10. Body and tail are given as densities of one law, so the
    /// body's share is its own below the cutoff, 0.930; the mean is 11,108 bytes, as the paper
    /// says (section 4.1).
    pub fn requests() -> Surge {
        let body = Lognormal { mu: 7.630, sigma: 1.001 };
        let cutoff = 9020.0;
        let body_share = body.share_below(cutoff);
        Surge { name: "surge", body, body_share, cutoff, alpha: 1.0, max: 1e10 }
    }

    /// The sizes of the files on a server as Barford & Crovella 1998, Table 2: body lognormal with
    /// mu 9.357 and sigma 1.318, tail Pareto with alpha 1.1 from k = 133 KB. The body's share is
    /// 0.93. The paper's tail has no end; here it ends at 10^10 bytes as in Crovella 1999, so that
    /// there is a load to speak of.
    pub fn files() -> Surge {
        let body = Lognormal { mu: 9.357, sigma: 1.318 };
        Surge { name: "surge-files", body, body_share: 0.93, cutoff: 133e3, alpha: 1.1, max: 1e10 }
    }

    /// The share of the sizes that are of the body.
    pub fn body_share(&self) -> f64 {
        self.body_share
    }

    /// The share of the sizes below `size`.
    pub fn share_below(&self, size: f64) -> f64 {
        if size <= self.cutoff {
            return self.body_share * self.body.share_below(size)
                / self.body.share_below(self.cutoff);
        }
        let above = |from: f64| (self.cutoff / from).powf(self.alpha);
        let tail = (1.0 - above(size.min(self.max))) / (1.0 - above(self.max));
        self.body_share + (1.0 - self.body_share) * tail
    }
}

impl Law for Surge {
    fn quantile(&self, u: f64) -> f64 {
        if u < self.body_share {
            let within = u / self.body_share * self.body.share_below(self.cutoff);
            return self.body.quantile(within).min(self.cutoff);
        }
        let within = (u - self.body_share) / (1.0 - self.body_share);
        let reach = 1.0 - (self.cutoff / self.max).powf(self.alpha);
        (self.cutoff * (1.0 - within * reach).powf(-1.0 / self.alpha)).min(self.max)
    }

    fn mean(&self) -> f64 {
        let body = self.body.mean_below(self.cutoff) / self.body.share_below(self.cutoff);
        let tail = pareto::mean(self.cutoff, self.max, self.alpha);
        self.body_share * body + (1.0 - self.body_share) * tail
    }
}

impl fmt::Display for Surge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::BoundedPareto;

    #[test]
    fn the_mean_is_that_of_the_paper_and_the_densities_are_one_law() {
        let law = Surge::requests();
        assert!((law.mean() - 11_108.0).abs() < 10.0, "{}", law.mean());
        assert!((law.body_share() - 0.93).abs() < 0.0005, "{}", law.body_share());
        // The share above the cutoff of a Pareto law with k = 631.44.
        let above = BoundedPareto::new(631.44, 1e10, 1.0).expect("a law");
        assert!((above.quantile(law.body_share()) / 9020.0 - 1.0).abs() < 0.001);
        assert!(law.quantile(0.8) < 5000.0, "most files are smaller than 5000 bytes");
    }

    #[test]
    fn quantiles_and_shares_agree_and_ascend() {
        for law in [Surge::requests(), Surge::files()] {
            let mut last = 0.0;
            for i in 0..10_000 {
                let u = f64::from(i) / 10_000.0;
                let size = law.quantile(u);
                assert!(size >= last, "{law} at {u}");
                assert!((law.share_below(size) - u).abs() < 1e-6, "{law} at {u}");
                last = size;
            }
            let mean = law.mean_of(&|size| size as f64);
            assert!((mean / law.mean() - 1.0).abs() < 0.01, "{law}: {mean} {}", law.mean());
        }
    }

    #[test]
    fn files_are_larger_than_requests() {
        let law = Surge::files();
        assert!((law.quantile(0.45) / 9.357_f64.exp() - 1.0).abs() < 0.1);
        assert_eq!(law.quantile(0.93), 133e3);
    }
}
