//! Round trips as flags of `weir-lab sim` take them and tables show them. It knows no path.

use std::time::Duration;

use crate::values::Seconds;

/// Seconds that a round trip may take.
const LONGEST: f64 = 60.0;

/// A round trip such as 50ms; 0 needs no unit.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    match text.parse::<Seconds>() {
        Ok(Seconds(seconds)) if seconds <= LONGEST => Ok(Duration::from_secs_f64(seconds)),
        Ok(_) => Err(format!("{text} is too long; expected a minute or less")),
        Err(_) => Err(format!("\"{text}\" is no round trip; write such as 50ms")),
    }
}

/// As [`parse`] takes it.
pub(super) fn name(round_trip: Duration) -> String {
    if round_trip.is_zero() {
        return "0".to_owned();
    }
    humantime::format_duration(round_trip).to_string()
}
