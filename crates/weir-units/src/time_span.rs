//! Lengths of time. Used for timeouts, intervals, delays of links and the duration of experiments.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use crate::Invalid;

/// A length of time, from 0 to as long as a [`Duration`] can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan(pub Duration);

const DAY: u128 = 24 * 3_600_000_000_000;

/// Units as they are printed, largest first, in nanoseconds.
const UNITS: [(&str, u128); 7] = [
    ("d", DAY),
    ("h", DAY / 24),
    ("m", DAY / 24 / 60),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl TimeSpan {
    /// Reads a time within bounds.
    ///
    /// # Errors
    ///
    /// [`Invalid`] for what is no time, or none within `bounds`.
    pub fn parse_within(text: &str, bounds: RangeInclusive<TimeSpan>) -> Result<TimeSpan, Invalid> {
        match text.parse::<TimeSpan>()? {
            span if bounds.contains(&span) => Ok(span),
            _ => Err(Invalid::new(
                text,
                format_args!("a time from {} to {}", bounds.start(), bounds.end()),
                "such as 500ms or 30s",
            )),
        }
    }
}

impl fmt::Display for TimeSpan {
    /// In the largest unit of which it is a whole multiple.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        match UNITS.iter().find(|(_, unit)| nanos > 0 && nanos.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{}{name}", nanos / unit),
            None => f.write_str("0s"),
        }
    }
}

impl FromStr for TimeSpan {
    type Err = Invalid;

    /// Numbers with units from `ns` to `years`, such as `500ms` or `2m 30s`; a plain number is
    /// seconds.
    fn from_str(text: &str) -> Result<TimeSpan, Invalid> {
        let word = text.trim();
        let seconds = word.parse::<f64>().ok();
        let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let span = seconds.or_else(|| humantime::parse_duration(word).ok());
        span.map(TimeSpan)
            .ok_or_else(|| Invalid::new(text, "a time", "such as 500ms, 30s or 2m 30s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_read_with_their_units() {
        let millis = |text: &str| text.parse::<TimeSpan>().map(|TimeSpan(span)| span.as_millis());
        for (text, time) in [
            ("500ms", 500),
            ("75", 75_000),
            ("0.2", 200),
            ("1.5s", 1500),
            (" 2m30s ", 150_000),
            ("1h", 3_600_000),
            ("0", 0),
            ("0s", 0),
        ] {
            assert_eq!(millis(text), Ok(time), "{text}");
        }
        for wrong in ["", "s", "-1", "-1s", "1x", "nan", "inf", "1e300"] {
            let error = millis(wrong).unwrap_err().to_string();
            assert!(error.contains("is not a time; write such as 500ms"), "{error}");
        }
    }

    #[test]
    fn a_time_out_of_bounds_names_them() {
        let within = |text: &str| {
            let second = TimeSpan(Duration::from_secs(1));
            TimeSpan::parse_within(text, second..=TimeSpan(Duration::from_secs(86_400)))
        };
        assert_eq!(within("1m"), Ok(TimeSpan(Duration::from_secs(60))));
        let error = within("2d").unwrap_err().to_string();
        assert_eq!(error, "\"2d\" is not a time from 1s to 1d; write such as 500ms or 30s");
    }

    #[test]
    fn times_are_printed_in_one_unit() {
        for (millis, text) in [(75_000, "75s"), (60_000, "1m"), (1500, "1500ms"), (0, "0s")] {
            assert_eq!(TimeSpan(Duration::from_millis(millis)).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_the_same(nanos: u64, unit in 0usize..7) {
            let unit = UNITS[unit].1 as u64;
            let span = TimeSpan(Duration::from_nanos(nanos / unit * unit));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }

        #[test]
        fn nothing_that_is_written_panics(text in "[0-9.]{0,9} ?[a-zµ]{0,3}|.{0,9}") {
            let _ = text.parse::<TimeSpan>();
        }
    }
}
