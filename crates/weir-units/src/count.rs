//! Numbers of things, and numbers above zero. Used for workers, retries, users, weights and factors.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// A whole number from `LEAST` to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count<const LEAST: u32, const MOST: u32>(u32);

impl<const LEAST: u32, const MOST: u32> Count<LEAST, MOST> {
    /// `None` for a number out of bounds.
    pub const fn new(number: u32) -> Option<Self> {
        if LEAST <= number && number <= MOST { Some(Count(number)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl<const LEAST: u32, const MOST: u32> fmt::Display for Count<LEAST, MOST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const LEAST: u32, const MOST: u32> FromStr for Count<LEAST, MOST> {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.trim().parse().ok().and_then(Count::new).ok_or_else(|| {
            let expected = match MOST {
                u32::MAX => format!("a whole number from {LEAST} on"),
                _ => format!("a whole number from {LEAST} to {MOST}"),
            };
            Invalid::new(text, expected, format_args!("such as {}", LEAST.max(1).min(MOST)))
        })
    }
}

/// A finite number above 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Positive(f64);

impl Positive {
    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Positive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Positive {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Positive, Invalid> {
        match text.trim().parse::<f64>() {
            Ok(number) if number > 0.0 && number.is_finite() => Ok(Positive(number)),
            _ => Err(Invalid::new(text, "a number above 0", "such as 1.5")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_have_bounds() {
        assert_eq!(" 256 ".parse::<Count<1, 256>>().map(Count::get), Ok(256));
        for wrong in ["0", "257", "-1", "1.5", "", "many"] {
            let error = wrong.parse::<Count<1, 256>>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("\"{wrong}\" is not a whole number from 1 to 256; write such as 1")
            );
        }
        let error = "0".parse::<Count<1, { u32::MAX }>>().unwrap_err().to_string();
        assert_eq!(error, "\"0\" is not a whole number from 1 on; write such as 1");
        assert_eq!("1.5".parse::<Positive>().map(Positive::get), Ok(1.5));
        for wrong in ["0", "-1", "inf", "nan", ""] {
            assert!(wrong.parse::<Positive>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_the_same(number in 3u32..=500, positive in 1e-300..1e300) {
            let count = Count::<3, 500>::new(number).unwrap();
            prop_assert_eq!(count.to_string().parse(), Ok(count));
            let positive = Positive(positive);
            prop_assert_eq!(positive.to_string().parse(), Ok(positive));
        }
    }
}
