//! A rate of requests. Used by load generators.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// Requests per second: above 0 and at most [`RequestRate::LARGEST`].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct RequestRate(f64);

impl RequestRate {
    /// More requests per second than any machine sends.
    pub const LARGEST: f64 = 1e7;

    /// Requests per second.
    pub const fn per_second(self) -> f64 {
        self.0
    }
}

impl fmt::Display for RequestRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

impl FromStr for RequestRate {
    type Err = Invalid;

    /// A number, and `/s`, `/m` or `/h`; without a unit it is per second.
    fn from_str(text: &str) -> Result<RequestRate, Invalid> {
        let (number, unit) = text.split_once('/').unwrap_or((text, "s"));
        let seconds = match unit.trim() {
            "s" | "1s" | "sec" => 1.0,
            "m" | "1m" | "min" => 60.0,
            "h" | "1h" => 3600.0,
            _ => f64::NAN,
        };
        let rate = number.trim().parse::<f64>().unwrap_or(f64::NAN) / seconds;
        match rate > 0.0 && rate <= RequestRate::LARGEST {
            true => Ok(RequestRate(rate)),
            false => Err(Invalid::new(
                text,
                "a rate of requests",
                "such as 500/s or 30000/m, up to 1e7/s",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_requests_per_time() {
        let rate = |text: &str| text.parse::<RequestRate>().map(RequestRate::per_second);
        for (text, per_second) in
            [("500/s", 500.0), ("500", 500.0), ("30000/m", 500.0), ("0.5/s", 0.5)]
        {
            assert_eq!(rate(text), Ok(per_second), "{text}");
        }
        for wrong in ["", "/s", "0/s", "-1/s", "nan", "inf/s", "5/d", "1e9/s", "500rps"] {
            let error = rate(wrong).unwrap_err().to_string();
            assert!(error.contains("is not a rate of requests; write such as 500/s"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_the_same(rate in 1e-9..RequestRate::LARGEST) {
            prop_assert_eq!(RequestRate(rate).to_string().parse(), Ok(RequestRate(rate)));
        }
    }
}
