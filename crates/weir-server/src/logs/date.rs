//! The date of a line, as logs and JSON write it, in UTC. Made anew once a second for the access log; used
//! by its formats and by messages in JSON.

use std::cell::Cell;
use std::time::Duration;

use super::numbers::padded;

/// The names of months in a date of HTTP.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Date {
    /// As HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
    text: [u8; 29],
    /// Milliseconds of its second.
    millis: u32,
}

impl Date {
    /// The moment so long after 1970.
    pub(super) fn at(since_1970: Duration) -> Date {
        Dates::default().at(since_1970)
    }

    /// Adds it as access logs have it: `06/Nov/1994:08:49:37 +0000`.
    pub(super) fn write_clf(&self, out: &mut String) {
        let [day, month, year, time] = self.parts();
        for part in [day, "/", month, "/", year, ":", time, " +0000"] {
            out.push_str(part);
        }
    }

    /// Adds it as RFC 3339 has it, with milliseconds: `1994-11-06T08:49:37.123Z`.
    pub(super) fn write_rfc3339(&self, out: &mut String) {
        let [day, month, year, time] = self.parts();
        let month = MONTHS.iter().position(|name| *name == month).unwrap_or_default() + 1;
        out.push_str(year);
        out.push('-');
        padded::<2>(out, month as u32);
        for part in ["-", day, "T", time, "."] {
            out.push_str(part);
        }
        padded::<3>(out, self.millis);
        out.push('Z');
    }

    /// Day, month, year and time of day.
    fn parts(&self) -> [&str; 4] {
        let text = std::str::from_utf8(&self.text).unwrap_or_default();
        [5..7, 8..11, 12..16, 17..25].map(|range| text.get(range).unwrap_or_default())
    }
}

/// Moments one after the other, most of them in the same second as the one before.
#[derive(Clone, Debug)]
pub(super) struct Dates {
    second: Cell<u64>,
    text: Cell<[u8; 29]>,
}

impl Default for Dates {
    fn default() -> Dates {
        Dates { second: Cell::new(0), text: Cell::new(weir_http::message::date::format(0)) }
    }
}

impl Dates {
    /// The moment so long after 1970.
    pub(super) fn at(&self, since_1970: Duration) -> Date {
        let second = since_1970.as_secs();
        if self.second.replace(second) != second {
            let seconds = i64::try_from(second).unwrap_or(i64::MAX);
            self.text.set(weir_http::message::date::format(seconds));
        }
        Date { text: self.text.get(), millis: since_1970.subsec_millis() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_both_ways() {
        let dates = Dates::default();
        for (millis, clf, rfc3339) in [
            (784_111_777_123, "06/Nov/1994:08:49:37 +0000", "1994-11-06T08:49:37.123Z"),
            (784_111_777_004, "06/Nov/1994:08:49:37 +0000", "1994-11-06T08:49:37.004Z"),
            (784_111_778_000, "06/Nov/1994:08:49:38 +0000", "1994-11-06T08:49:38.000Z"),
            (0, "01/Jan/1970:00:00:00 +0000", "1970-01-01T00:00:00.000Z"),
            (951_782_400_999, "29/Feb/2000:00:00:00 +0000", "2000-02-29T00:00:00.999Z"),
        ] {
            let moment = Duration::from_millis(millis);
            for date in [dates.at(moment), Date::at(moment)] {
                let (mut one, mut other) = (String::new(), String::new());
                date.write_clf(&mut one);
                date.write_rfc3339(&mut other);
                assert_eq!((one.as_str(), other.as_str()), (clf, rfc3339));
            }
        }
    }
}
