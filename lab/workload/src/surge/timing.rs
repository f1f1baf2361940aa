//! How many files make a page, and how long users wait: between the files of a page (active OFF)
//! and between pages (inactive OFF).

use crate::invalid::Invalid;

/// The laws of pages and waits, with the parameters of Barford & Crovella 1998, Table 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Files of a page: Pareto with least value 1 and this exponent, rounded down; the first is
    /// the page itself, the others are embedded in it.
    pub page_alpha: f64,
    /// Seconds between the files of a page: Weibull with this scale.
    pub active_scale: f64,
    /// Shape of the Weibull law; below 1, many waits are short and few are long.
    pub active_shape: f64,
    /// Seconds between pages: Pareto with this least value.
    pub inactive_least: f64,
    /// Exponent of the Pareto law.
    pub inactive_alpha: f64,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            page_alpha: 2.43,
            active_scale: 1.46,
            active_shape: 0.382,
            inactive_least: 1.0,
            inactive_alpha: 1.5,
        }
    }
}

impl Timing {
    /// Files of the page that a uniform number in [0, 1) stands for, at least 1.
    pub fn page(&self, u: f64) -> u32 {
        pareto(1.0, self.page_alpha, u).min(f64::from(u32::MAX)) as u32
    }

    /// Seconds between two files of a page.
    pub fn active_off(&self, u: f64) -> f64 {
        self.active_scale * (-(-u).ln_1p()).powf(1.0 / self.active_shape)
    }

    /// Seconds between two pages.
    pub fn inactive_off(&self, u: f64) -> f64 {
        pareto(self.inactive_least, self.inactive_alpha, u)
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        for (name, value) in [
            ("page_alpha", self.page_alpha),
            ("active_scale", self.active_scale),
            ("active_shape", self.active_shape),
            ("inactive_least", self.inactive_least),
            ("inactive_alpha", self.inactive_alpha),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Invalid(format!(
                    "SURGE's timing: `{name}` is {value}; give a number above 0"
                )));
            }
        }
        Ok(())
    }
}

/// The value below which a share `u` of a Pareto law lies.
fn pareto(least: f64, alpha: f64, u: f64) -> f64 {
    least * (1.0 - u).powf(-1.0 / alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform numbers, evenly spread.
    fn even(count: u32) -> impl Iterator<Item = f64> {
        (0..count).map(move |i| (f64::from(i) + 0.5) / f64::from(count))
    }

    #[test]
    fn pages_have_at_least_n_files_with_the_share_of_pareto() {
        let timing = Timing::default();
        let pages: Vec<u32> = even(100_000).map(|u| timing.page(u)).collect();
        for least in [1, 2, 3, 5, 10] {
            let share = pages.iter().filter(|&&page| page >= least).count() as f64 / 1e5;
            let wanted = f64::from(least).powf(-2.43);
            assert!((share - wanted).abs() < 1e-4, "{least}: {share} {wanted}");
        }
        // The sum of n^-2.43 over all n.
        let mean = pages.iter().map(|&page| f64::from(page)).sum::<f64>() / 1e5;
        assert!((mean - 1.368).abs() < 0.01, "{mean}");
    }

    #[test]
    fn waits_within_a_page_are_weibull() {
        let timing = Timing::default();
        // At the scale, a share of 1 - 1/e lies below, whatever the shape.
        let at_scale = timing.active_off(1.0 - (-1.0_f64).exp());
        assert!((at_scale - 1.46).abs() < 1e-9, "{at_scale}");
        let waits: Vec<f64> = even(1_000_000).map(|u| timing.active_off(u)).collect();
        let below = waits.iter().filter(|&&wait| wait < 0.1).count() as f64 / 1e6;
        let wanted = 1.0 - (-(0.1_f64 / 1.46).powf(0.382)).exp();
        assert!((below - wanted).abs() < 1e-5, "{below} {wanted}");
        // Scale times the gamma function of 1 + 1/shape.
        let mean = waits.iter().sum::<f64>() / 1e6;
        assert!((mean / 5.55 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn waits_between_pages_are_pareto() {
        let timing = Timing::default();
        assert_eq!(timing.inactive_off(0.0), 1.0);
        // A share of 2^-1.5 waits for 2 s or more.
        assert!((timing.inactive_off(1.0 - 2.0_f64.powf(-1.5)) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        assert!(Timing::default().check().is_ok());
        let wrong = Timing { active_shape: 0.0, ..Timing::default() };
        assert!(wrong.check().is_err_and(|e| e.0.contains("`active_shape` is 0")));
    }
}
