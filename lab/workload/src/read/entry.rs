//! One record of a log as its format has it, before it is decided whether it is a request to
//! replay; and the fields that several formats share.

use std::borrow::Cow;

use chrono::{NaiveDate, NaiveTime};

use super::error::Fault;

/// One record of a log.
pub(super) struct Entry<'a> {
    /// Seconds; since when is the format's affair.
    pub(super) time: f64,
    pub(super) client: Client<'a>,
    pub(super) class: u16,
    pub(super) path: Cow<'a, [u8]>,
    pub(super) size: Option<u64>,
    /// The method is GET, or the format has none.
    pub(super) get: bool,
    /// `None` where the format has none.
    pub(super) status: Option<u16>,
}

/// Who asked, in the words of the log.
pub(super) enum Client<'a> {
    /// Gets a number when it is first seen.
    Name(Cow<'a, [u8]>),
    /// Keeps its number.
    Number(u32),
}

/// A whole number in decimal digits.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A whole number that may be written with a decimal point and zeros (`200.0`), as data frames
/// write numbers of columns with gaps.
pub(super) fn whole(text: &[u8]) -> Option<u64> {
    match text.iter().position(|&byte| byte == b'.') {
        Some(point) if text[point + 1..].iter().all(|&byte| byte == b'0') => number(&text[..point]),
        _ => number(text),
    }
}

/// The seconds between 1970 and a time of a day in UTC. A leap second is the second after.
pub(super) fn epoch(date: NaiveDate, hour: u64, minute: u64, second: u64) -> Option<f64> {
    let leap = second == 60;
    let second = if leap { 59 } else { second };
    let time = NaiveTime::from_hms_opt(
        u32::try_from(hour).ok()?,
        u32::try_from(minute).ok()?,
        u32::try_from(second).ok()?,
    )?;
    Some(date.and_time(time).and_utc().timestamp() as f64 + f64::from(u8::from(leap)))
}

/// `YYYY-MM-DD` and `HH:MM:SS`, or `HH:MM`.
pub(super) fn date_and_time(date: &[u8], time: &[u8]) -> Result<f64, Fault> {
    let day = || {
        let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *date else { return None };
        let year = i32::try_from(number(&[y1, y2, y3, y4])?).ok()?;
        let month = u32::try_from(number(&[m1, m2])?).ok()?;
        NaiveDate::from_ymd_opt(year, month, u32::try_from(number(&[d1, d2])?).ok()?)
    };
    let Some(day) = day() else {
        return Err(Fault::field("date", date, "a day such as 2017-06-30"));
    };
    let clock = match *time {
        [h1, h2, b':', m1, m2, b':', s1, s2] => {
            [number(&[h1, h2]), number(&[m1, m2]), number(&[s1, s2])]
        }
        [h1, h2, b':', m1, m2] => [number(&[h1, h2]), number(&[m1, m2]), Some(0)],
        _ => [None; 3],
    };
    let seconds = match clock {
        [Some(hour), Some(minute), Some(second)] => epoch(day, hour, minute, second),
        _ => None,
    };
    seconds.ok_or_else(|| Fault::field("time", time, "a time of day such as 00:01:11"))
}
