//! Times as messages show them. Used by the keeper and by errors.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds from 1970 to the end of the year 9999, where dates end.
const LAST: u64 = 253_402_300_799;

/// A date in UTC, to the second.
pub(crate) fn date(time: SystemTime) -> String {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) if since.as_secs() <= LAST => humantime::format_rfc3339_seconds(time).to_string(),
        Ok(_) => "a date after the year 9999".to_owned(),
        Err(_) => "a date before 1970".to_owned(),
    }
}

/// A time span, to the second.
pub(crate) fn span(length: Duration) -> String {
    humantime::format_duration(Duration::from_secs(length.as_secs().max(1))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_has_a_text() {
        assert_eq!(date(UNIX_EPOCH), "1970-01-01T00:00:00Z");
        assert_eq!(date(UNIX_EPOCH - Duration::from_secs(1)), "a date before 1970");
        let far = UNIX_EPOCH + Duration::from_secs(LAST);
        assert_eq!(date(far), "9999-12-31T23:59:59Z");
        assert_eq!(date(far + Duration::from_secs(1)), "a date after the year 9999");
        assert_eq!(span(Duration::from_millis(90_400)), "1m 30s");
        assert_eq!(span(Duration::ZERO), "1s");
    }
}
