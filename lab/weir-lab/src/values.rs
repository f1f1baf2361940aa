//! Values of flags that several commands share. Quantities are those of `weir-units`; here are only
//! their bounds, and what the program counts as load.

use std::time::Duration;

use weir_units::{BitRate, Invalid, TimeSpan};
use weir_workload::arrivals;

/// The least rate in bit/s that a single segment a second fits into.
const LEAST_RATE: u64 = 8_000;

/// Longer than anybody waits for a response.
const A_DAY: TimeSpan = TimeSpan(Duration::from_secs(24 * 3600));

/// The rate of a link, 8 kbit/s or more.
pub(crate) fn link_rate(text: &str) -> Result<BitRate, Invalid> {
    match text.parse::<BitRate>()? {
        rate if rate.bits() >= LEAST_RATE => Ok(rate),
        _ => Err(Invalid::new(text, "a rate of 8kbit or more", "such as 10mbit")),
    }
}

/// A length of time in seconds, 0 included.
pub(crate) fn seconds(text: &str) -> Result<f64, Invalid> {
    text.parse::<TimeSpan>().map(|TimeSpan(span)| span.as_secs_f64())
}

/// A length of time in seconds, above 0 and up to a day.
pub(crate) fn wait_seconds(text: &str) -> Result<f64, Invalid> {
    let shortest = TimeSpan(Duration::from_nanos(1));
    TimeSpan::parse_within(text, shortest..=A_DAY).map(|TimeSpan(span)| span.as_secs_f64())
}

/// The bytes that load counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LoadIs {
    /// Heads, bodies, packets and connections
    Wire,
    /// Bodies
    File,
}

impl From<LoadIs> for arrivals::LoadIs {
    fn from(load: LoadIs) -> arrivals::LoadIs {
        match load {
            LoadIs::Wire => arrivals::LoadIs::Wire,
            LoadIs::File => arrivals::LoadIs::File,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_carries_a_segment_a_second() {
        assert_eq!(link_rate("8kbit").map(BitRate::bits), Ok(8_000));
        let error = link_rate("7kbit").unwrap_err().to_string();
        assert_eq!(error, "\"7kbit\" is not a rate of 8kbit or more; write such as 10mbit");
    }

    #[test]
    fn nobody_waits_for_no_time_or_for_ever() {
        assert_eq!((seconds("0"), wait_seconds("1.5s")), (Ok(0.0), Ok(1.5)));
        for wrong in ["0s", "25h", "-1", "soon"] {
            assert!(wait_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
