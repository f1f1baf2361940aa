//! A link's rate in bits per second. Used by the pacer, by policies that weigh sizes against the link,
//! and by whoever configures a link.

use std::fmt;
use std::time::Duration;

/// Bits per second, as links are named. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(u64);

impl BitRate {
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b if b % 1_000_000_000 == 0 => write!(f, "{}gbit", b / 1_000_000_000),
            b if b % 1_000_000 == 0 => write!(f, "{}mbit", b / 1_000_000),
            b if b % 1_000 == 0 => write!(f, "{}kbit", b / 1_000),
            b => write!(f, "{b}bit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_print_as_they_are_written() {
        assert_eq!(BitRate::new(300_000_000).unwrap().to_string(), "300mbit");
        assert_eq!(BitRate::new(1_500_000_000).unwrap().to_string(), "1500mbit");
        assert_eq!(BitRate::new(8001).unwrap().to_string(), "8001bit");
        assert!(BitRate::new(0).is_none());
    }
}
