//! How far away the clients of `weir-lab sim promise` are: all alike, or mixed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::sim::round_trip;

/// How far away clients are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoundTrip {
    Of(Duration),
    /// Each of [`MIXED`] beside the others.
    Mixed,
}

/// Round trips in milliseconds of clients who differ.
const MIXED: [u64; 6] = [1, 5, 20, 50, 100, 250];

impl FromStr for RoundTrip {
    type Err = String;

    fn from_str(text: &str) -> Result<RoundTrip, String> {
        match text {
            "mixed" => Ok(RoundTrip::Mixed),
            text => match round_trip::parse(text) {
                Ok(time) => Ok(RoundTrip::Of(time)),
                Err(error) => Err(format!("{error}, or mixed")),
            },
        }
    }
}

impl fmt::Display for RoundTrip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoundTrip::Of(time) => f.write_str(&round_trip::name(*time)),
            RoundTrip::Mixed => f.write_str("mixed"),
        }
    }
}

impl RoundTrip {
    /// Of the request with this number.
    pub(super) fn of(self, request: usize) -> Duration {
        match self {
            RoundTrip::Of(time) => time,
            // Without a pattern that a cycle of the load could share.
            RoundTrip::Mixed => {
                let drawn = (request as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                Duration::from_millis(MIXED[drawn as usize % MIXED.len()])
            }
        }
    }
}
