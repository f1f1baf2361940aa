//! The rate of a link in bits per second. Used by policies and pacers, for the uplink of the server
//! and for the links of experiments.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::Invalid;

/// Bits per second, as links are named. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(u64);

/// Units and their factors, largest first.
const UNITS: [(&str, u64); 5] = [
    ("tbit", 1_000_000_000_000),
    ("gbit", 1_000_000_000),
    ("mbit", 1_000_000),
    ("kbit", 1_000),
    ("bit", 1),
];

impl BitRate {
    /// The largest rate that is read, 10 Tbit/s: more than any link has, so a larger number is a
    /// slip.
    pub const LARGEST: BitRate = BitRate(10_000_000_000_000);

    /// `None` for zero: nothing could ever be sent.
    pub const fn new(bits_per_second: u64) -> Option<BitRate> {
        if bits_per_second == 0 { None } else { Some(BitRate(bits_per_second)) }
    }

    /// Bits per second.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// This rate times `fraction` (above 0), at least 1 bit/s.
    pub fn scaled(self, fraction: f64) -> BitRate {
        BitRate(((self.0 as f64 * fraction) as u64).max(1))
    }

    /// How long `bytes` bytes take.
    pub fn time_for(self, bytes: u64) -> Duration {
        let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(self.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How many whole bytes pass in `span`.
    pub fn bytes_in(self, span: Duration) -> u64 {
        let bytes = span.as_nanos() * u128::from(self.0) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for BitRate {
    /// In the largest unit of which it is a whole multiple.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = UNITS
            .into_iter()
            .find(|(_, factor)| self.0.is_multiple_of(*factor))
            .unwrap_or(("bit", 1));
        write!(f, "{}{unit}", self.0 / factor)
    }
}

impl FromStr for BitRate {
    type Err = Invalid;

    /// A number, perhaps with a fraction, and `bit`, `kbit`, `mbit`, `gbit` or `tbit` in either case,
    /// perhaps followed by `/s`: from 1 bit/s to [`BitRate::LARGEST`], rounded to whole bits.
    fn from_str(text: &str) -> Result<BitRate, Invalid> {
        let word = text.trim().to_ascii_lowercase();
        let word = word.strip_suffix("/s").unwrap_or(&word);
        if let Some(prefix) = word.strip_suffix("bps") {
            return Err(Invalid::new(
                text,
                "a rate: bps stands for bits with some and for bytes with others",
                format_args!("{prefix}bit if it is bits per second"),
            ));
        }
        let wrong =
            || Invalid::new(text, "a rate of a link", "bits per second such as 300mbit or 1.5gbit");
        let number = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = word[number.len()..].trim();
        let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let rate = number.trim().parse::<f64>().map_err(|_| wrong())? * factor as f64;
        match rate.round() {
            rate if (1.0..=BitRate::LARGEST.0 as f64).contains(&rate) => Ok(BitRate(rate as u64)),
            _ => Err(Invalid::new(
                text,
                format_args!("a rate of a link from 1bit to {}", BitRate::LARGEST),
                "such as 300mbit or 1.5gbit",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_read_as_links_are_named() {
        let bits = |text: &str| text.parse::<BitRate>().map(BitRate::bits);
        for (text, rate) in [
            ("300mbit", 300_000_000),
            ("1.5gbit", 1_500_000_000),
            ("10 Mbit/s", 10_000_000),
            ("2.3gbit", 2_300_000_000),
            ("1bit", 1),
            ("10tbit", 10_000_000_000_000),
        ] {
            assert_eq!(bits(text), Ok(rate), "{text}");
        }
        for (text, message) in [
            ("10", "\"10\" is not a rate of a link; write bits per second such as 300mbit"),
            ("mbit", "\"mbit\" is not a rate of a link; write bits per second such as"),
            ("0mbit", "\"0mbit\" is not a rate of a link from 1bit to 10tbit; write such as"),
            ("-3mbit", "\"-3mbit\" is not a rate of a link from 1bit to 10tbit"),
            ("11tbit", "\"11tbit\" is not a rate of a link from 1bit to 10tbit"),
            ("nanmbit", "\"nanmbit\" is not a rate"),
            ("infgbit", "\"infgbit\" is not a rate"),
            ("10mbps", "\"10mbps\" is not a rate: bps stands for bits with some"),
            ("off", "\"off\" is not a rate"),
            ("", "\"\" is not a rate"),
        ] {
            let error = bits(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_the_same(bits in 1..=BitRate::LARGEST.0, zeros in 0u32..13) {
            let bits = (bits / 10u64.pow(zeros) * 10u64.pow(zeros)).max(1);
            let rate = BitRate::new(bits).unwrap();
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }

        #[test]
        fn nothing_that_is_written_panics(text in "[0-9.eE+-]{0,5} ?[kmgtbitps/]{0,6}|.{0,9}") {
            let _ = text.parse::<BitRate>();
        }
    }
}
