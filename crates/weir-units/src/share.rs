//! Parts of a whole. Used for the pace of an uplink, for losses, for classes of clients and for
//! offered loads.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::Invalid;

/// A share from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// `None` for what is not from 0 to 1.
    pub fn new(fraction: f64) -> Option<Share> {
        (0.0..=1.0).contains(&fraction).then_some(Share(fraction))
    }

    /// From 0 to 1.
    pub const fn fraction(self) -> f64 {
        self.0
    }

    /// Reads a share within bounds.
    ///
    /// # Errors
    ///
    /// [`Invalid`] for what is no share, or none within `bounds`.
    pub fn parse_within(text: &str, bounds: RangeInclusive<f64>) -> Result<Share, Invalid> {
        let (least, most) = (bounds.start(), bounds.end());
        text.parse::<Share>().ok().filter(|share| bounds.contains(&share.0)).ok_or_else(|| {
            Invalid::new(
                text,
                format_args!("a share from {least} to {most}"),
                format_args!("such as {most} or {}%", most * 100.0),
            )
        })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Share {
    type Err = Invalid;

    /// A number from 0 to 1, or of percent with `%`: 0.05 or 5%.
    fn from_str(text: &str) -> Result<Share, Invalid> {
        let word = text.trim();
        let (number, per) =
            word.strip_suffix('%').map_or((word, 1.0), |number| (number.trim_end(), 100.0));
        let fraction = number.parse::<f64>().ok().and_then(|number| Share::new(number / per));
        fraction.ok_or_else(|| Invalid::new(text, "a share from 0 to 1", "such as 5% or 0.05"))
    }
}

/// A number of percent, which may be above 100, as offered loads are. Any finite number.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Percent(f64);

impl Percent {
    /// 300 of 300 %.
    pub const fn percent(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

impl FromStr for Percent {
    type Err = Invalid;

    /// A number of percent, with or without `%`.
    fn from_str(text: &str) -> Result<Percent, Invalid> {
        let word = text.trim();
        let number = word.strip_suffix('%').unwrap_or(word).trim_end().parse::<f64>();
        match number {
            Ok(percent) if percent.is_finite() => Ok(Percent(percent)),
            _ => Err(Invalid::new(text, "a number of percent", "such as 300%")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_are_percents_or_fractions() {
        assert_eq!("5%".parse(), Ok(Share(0.05)));
        assert_eq!(" 99 % ".parse(), Ok(Share(0.99)));
        assert_eq!("0.05".parse(), Ok(Share(0.05)));
        for wrong in ["", "%", "101%", "-1%", "2", "nan"] {
            let error = wrong.parse::<Share>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("\"{wrong}\" is not a share from 0 to 1; write such as 5% or 0.05")
            );
        }
        assert_eq!(Share::parse_within("50%", 0.5..=1.0), Ok(Share(0.5)));
        let error = Share::parse_within("0.4", 0.5..=1.0).unwrap_err().to_string();
        assert_eq!(error, "\"0.4\" is not a share from 0.5 to 1; write such as 1 or 100%");
    }

    #[test]
    fn percents_may_be_many() {
        assert_eq!("300%".parse(), Ok(Percent(300.0)));
        assert_eq!("12.5".parse(), Ok(Percent(12.5)));
        for wrong in ["", "%", "inf", "nan%", "3%%"] {
            assert!(wrong.parse::<Percent>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_the_same(fraction in 0.0..=1.0, percent in -1e9..1e9) {
            prop_assert_eq!(Share(fraction).to_string().parse(), Ok(Share(fraction)));
            prop_assert_eq!(Percent(percent).to_string().parse(), Ok(Percent(percent)));
        }
    }
}
