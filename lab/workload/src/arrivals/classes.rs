//! Which client class a request belongs to: a hash of seed and index rather than a draw, so that
//! other shares change nothing else in the workload.

use crate::hash;
use crate::invalid::Invalid;

/// Classes by share.
#[derive(Debug)]
pub(crate) struct Classes {
    /// Running sums of the shares.
    sums: Vec<f64>,
    seed: u64,
}

impl Classes {
    /// Checked shares of a seed.
    pub(crate) fn new(shares: &[f64], seed: u64) -> Classes {
        let sums = shares
            .iter()
            .scan(0.0, |sum, share| {
                *sum += share;
                Some(*sum)
            })
            .collect();
        Classes { sums, seed }
    }

    /// The class of the request with this index.
    pub(crate) fn of(&self, index: u64) -> u16 {
        let Some(total) = self.sums.last() else { return 0 };
        let drawn = hash::uniform(self.seed, CLASS, index) * total;
        self.sums.partition_point(|sum| *sum <= drawn).min(self.sums.len() - 1) as u16
    }
}

/// Refuse shares that are not numbers of 0 or more, or are all 0.
pub(crate) fn check(shares: &[f64]) -> Result<(), Invalid> {
    if shares.len() > usize::from(u16::MAX) {
        return Err(Invalid(format!(
            "{} client classes are too many; give at most {}",
            shares.len(),
            u16::MAX
        )));
    }
    if let Some(place) = shares.iter().position(|share| !(share.is_finite() && *share >= 0.0)) {
        return Err(Invalid(format!(
            "client class {place} has a share of {}; give 0 or more",
            shares[place]
        )));
    }
    if !shares.is_empty() && shares.iter().sum::<f64>() <= 0.0 {
        return Err(Invalid("every client class has a share of 0; give one more".into()));
    }
    Ok(())
}

/// The purpose of the hash.
const CLASS: u64 = 0x636C_6173_7365_7321;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_their_shares() {
        let classes = Classes::new(&[6.0, 0.0, 3.0, 1.0], 7);
        let mut counts = [0.0_f64; 4];
        for index in 0..100_000 {
            counts[usize::from(classes.of(index))] += 1e-5;
        }
        for (count, share) in counts.iter().zip([0.6, 0.0, 0.3, 0.1]) {
            assert!((count - share).abs() < 0.005, "{counts:?}");
        }
        assert_eq!(counts[1], 0.0);
        assert_eq!(Classes::new(&[], 7).of(12), 0);
    }

    #[test]
    fn shares_that_make_no_sense_are_refused() {
        assert!(check(&[]).is_ok());
        assert!(check(&[1.0, 0.0]).is_ok());
        assert!(check(&[0.0, 0.0]).is_err());
        assert!(check(&[-1.0, 2.0]).is_err());
        assert!(check(&[f64::NAN]).is_err());
    }
}
