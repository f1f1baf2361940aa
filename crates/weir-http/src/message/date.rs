//! HTTP dates (RFC 9110, section 5.6.7) to and from Unix seconds.
//! Used for `Date`, `Last-Modified` and conditions, and by the access log of `weir-server`.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;

/// The last second an IMF-fixdate can name: the end of the year 9999.
const LAST: i64 = 253_402_300_799;

/// Writes `unix_seconds` as an IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`.
/// Times before 1970 become its first second, times after 9999 its last.
pub fn format(unix_seconds: i64) -> [u8; 29] {
    let seconds = unix_seconds.clamp(0, LAST).unsigned_abs();
    let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(seconds));
    let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    // Every date in the clamped span is exactly as long as the array: the write cannot fall short.
    let _ = write!(&mut text[..], "{date}");
    text
}

/// Reads any of the three forms of an HTTP date into Unix seconds. A two-digit year (RFC 850) below
/// 70 is in this century. `None` for anything that is not a date from 1970 to 9999.
pub fn parse(text: &str) -> Option<i64> {
    let date: HttpDate = text.parse().ok()?;
    let since_epoch = SystemTime::from(date).duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since_epoch.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use super::{LAST, format, parse};

    #[test]
    fn the_example_of_the_rfc_in_its_three_forms() {
        assert_eq!(&format(784_111_777), b"Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(parse("Sunday, 06-Nov-94 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(parse("Sun Nov  6 08:49:37 1994"), Some(784_111_777));
    }

    #[test]
    fn times_out_of_range_are_clamped() {
        assert_eq!(&format(i64::MIN), b"Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(&format(i64::MAX), b"Fri, 31 Dec 9999 23:59:59 GMT");
        assert_eq!(format(LAST), format(i64::MAX));
        assert_ne!(format(LAST - 1), format(LAST));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in ["", "0", "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("Tue, 31 Feb 2023 00:00:00 GMT"), None);
        assert_eq!(parse("Sun, 06 Növ 1994 08:49:37 GMT"), None);
    }
}
