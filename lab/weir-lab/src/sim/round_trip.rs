//! Round trips as flags of `weir-lab sim` take them. Used by its simulations of links.

use std::time::Duration;

use weir_units::{Invalid, TimeSpan};

/// No client is further away.
const LONGEST: TimeSpan = TimeSpan(Duration::from_secs(60));

/// A round trip such as 50ms, a minute at most; 0 needs no unit.
pub(super) fn parse(text: &str) -> Result<Duration, Invalid> {
    TimeSpan::parse_within(text, TimeSpan::default()..=LONGEST).map(|TimeSpan(span)| span)
}

/// As [`parse`] takes it.
pub(super) fn name(round_trip: Duration) -> String {
    match round_trip.is_zero() {
        true => "0".to_owned(),
        false => TimeSpan(round_trip).to_string(),
    }
}
