//! The log's own times, in words and on an axis. Made when the log is read, used by the verdict, the
//! text and the page.

use std::time::{Duration, UNIX_EPOCH};

use crate::words::time;

/// Turns seconds of the replay into times of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Seconds since 1970 at which the log begins; `None` if the log does not say.
    base: Option<f64>,
    /// Seconds of the log for each of the replay.
    scale: f64,
    /// Seconds of the log from beginning to end.
    span: f64,
}

/// From 1973, as times count from, to the year 9999.
const EPOCHS: std::ops::Range<f64> = 1e8..2.5e11;

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;

/// Distances of ticks.
const STEPS: [f64; 26] = [
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    MINUTE,
    2.0 * MINUTE,
    5.0 * MINUTE,
    10.0 * MINUTE,
    15.0 * MINUTE,
    30.0 * MINUTE,
    HOUR,
    2.0 * HOUR,
    3.0 * HOUR,
    6.0 * HOUR,
    12.0 * HOUR,
    DAY,
    2.0 * DAY,
    7.0 * DAY,
    14.0 * DAY,
    30.0 * DAY,
    90.0 * DAY,
];

impl Clock {
    /// Of a log that begins at `base` and is replayed `scale` times as fast, in `until` seconds.
    pub(super) fn new(base: Option<f64>, scale: f64, until: f64) -> Clock {
        let span = until * scale;
        let known = |base: &f64| EPOCHS.contains(base) && EPOCHS.contains(&(base + span));
        Clock { base: base.filter(known), scale, span }
    }

    /// The same of a replay that ends at `until`: responses end after the last request.
    pub(super) fn ending(self, until: f64) -> Clock {
        let clock = Clock { span: self.span.max(until * self.scale), ..self };
        let end = clock.base.map(|base| base + clock.span);
        Clock { base: clock.base.filter(|_| end.is_some_and(|end| EPOCHS.contains(&end))), ..clock }
    }

    /// A time of the log in full, in UTC (RFC 3339), if the log says when it was.
    pub(super) fn rfc3339(&self, at: f64) -> Option<String> {
        let seconds = self.base? + at * self.scale;
        if !EPOCHS.contains(&seconds) {
            return None;
        }
        let time = UNIX_EPOCH + Duration::from_secs_f64(seconds);
        Some(humantime::format_rfc3339_seconds(time).to_string())
    }

    /// The time of the day, after the date if the log is longer than a day. `finely`: to the second.
    pub(super) fn short(&self, at: f64, finely: bool) -> String {
        let Some(full) = self.rfc3339(at) else { return since_begin(at * self.scale) };
        let clock = if finely { &full[11..19] } else { &full[11..16] };
        match self.one_day() {
            true => clock.to_owned(),
            false => format!("{} {clock}", &full[5..10]),
        }
    }

    /// From when to when, to the minute where that tells them apart.
    pub(super) fn span(&self, (from, to): (f64, f64)) -> String {
        let finely = (to - from) * self.scale < 10.0 * MINUTE;
        format!("{} to {}", self.short(from, finely), self.short(to, finely))
    }

    /// The same with the date and the zone, if the log says when it was.
    pub(super) fn span_and_day(&self, (from, to): (f64, f64)) -> String {
        let finely = (to - from) * self.scale < 10.0 * MINUTE;
        let (Some(first), Some(last)) = (self.rfc3339(from), self.rfc3339(to)) else {
            return self.span((from, to));
        };
        let (short, until) = (self.short(from, finely), self.short(to, finely));
        match (self.one_day(), first[..4] == last[..4]) {
            (true, _) => format!("{short} to {until} UTC on {}", &first[..10]),
            (false, true) => format!("{short} to {until} UTC, {}", &first[..4]),
            (false, false) => format!("{}-{short} to {}-{until} UTC", &first[..4], &last[..4]),
        }
    }

    /// Ticks of an axis from the beginning to `until` seconds of the replay, and how it is called.
    pub(super) fn ticks(&self, until: f64) -> (Vec<(f64, String)>, &'static str) {
        let span = until * self.scale;
        let step = STEPS.into_iter().find(|step| span / step <= 6.0).unwrap_or(span / 6.0);
        let base = self.base.unwrap_or(0.0);
        let first = (base / step).ceil() * step - base;
        let count = ((span - first) / step + 1e-9).floor().max(0.0) as usize;
        let ticks = (0..=count).map(|k| first + k as f64 * step).filter(|at| *at <= span);
        let text = |at: f64| {
            let Some(full) = self.rfc3339(at / self.scale) else { return since_begin(at) };
            match step {
                step if step < 1.0 => format!("{}.{}", &full[14..19], tenths(base + at)),
                step if step < MINUTE => full[11..19].to_owned(),
                step if step < DAY && self.one_day() => full[11..16].to_owned(),
                step if step < DAY => format!("{} {}", &full[8..10], &full[11..16]),
                _ => full[5..10].to_owned(),
            }
        };
        let label = match self.base {
            Some(_) if step < DAY && !self.one_day() => "day and time of the log, UTC",
            Some(_) if step < DAY => "time of the log, UTC",
            Some(_) => "day of the log",
            None => "time since the log began",
        };
        (ticks.map(|at| (at / self.scale, text(at))).collect(), label)
    }

    /// Whether the log lies within one day.
    pub(super) fn one_day(&self) -> bool {
        self.base.is_none_or(|base| (base / DAY).floor() == ((base + self.span) / DAY).floor())
    }
}

/// How long something lasted, in words.
pub(super) fn long(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => time(s * 1e3),
        s if s < 100.0 => format!("{} s", (s * 10.0).round() / 10.0),
        s if s < 100.0 * MINUTE => format!("{:.0} min", s / MINUTE),
        s => format!("{:.1} h", s / HOUR),
    }
}

fn tenths(seconds: f64) -> u64 {
    ((seconds - seconds.floor()) * 10.0).round() as u64 % 10
}

/// A time of a log that does not say when it began.
fn since_begin(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    match seconds {
        s if s < MINUTE => format!("{} s", (s * 10.0).round() / 10.0),
        s if s < HOUR => format!("{}:{:02} min", (s / MINUTE) as u64, s as u64 % 60),
        s => format!("{}:{:02} h", (s / HOUR) as u64, (s / MINUTE) as u64 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2017-06-30 14:00:00 UTC.
    const BASE: f64 = 1_498_831_200.0;

    #[test]
    fn times_are_those_of_the_log() {
        let clock = Clock::new(Some(BASE), 2.0, 600.0);
        assert_eq!(clock.rfc3339(30.0).as_deref(), Some("2017-06-30T14:01:00Z"));
        assert_eq!(clock.span((90.0, 400.0)), "14:03 to 14:13");
        assert_eq!(clock.span((90.0, 91.0)), "14:03:00 to 14:03:02");
        let days = Clock::new(Some(BASE), 1.0, 3.0 * DAY);
        assert_eq!(days.short(DAY, false), "07-01 14:00");
        assert_eq!(days.span_and_day((0.0, DAY)), "06-30 14:00 to 07-01 14:00 UTC, 2017");
        assert_eq!(clock.span_and_day((90.0, 400.0)), "14:03 to 14:13 UTC on 2017-06-30");
        // The last request is on the first day, its response ends on the second.
        let overnight = clock.ending(6.0 * HOUR);
        assert_eq!((clock.one_day(), overnight.one_day()), (true, false));
        assert_eq!(overnight.short(5.0 * HOUR, false), "07-01 00:00");
        let none = Clock::new(Some(0.0), 1.0, 100.0);
        assert_eq!((none.rfc3339(1.0), none.short(61.0, true)), (None, "1:01 min".into()));
        // A year that cannot be written.
        assert_eq!(Clock::new(Some(2.6e11), 1.0, 1.0).rfc3339(0.0), None);
    }

    #[test]
    fn ticks_are_round_times_of_the_log() {
        let texts = |clock: &Clock, until: f64| -> Vec<String> {
            clock.ticks(until).0.into_iter().map(|(_, text)| text).collect()
        };
        let clock = Clock::new(Some(BASE + 7.0), 1.0, 71.0);
        assert_eq!(
            texts(&clock, 71.0),
            ["14:00:15", "14:00:30", "14:00:45", "14:01:00", "14:01:15"]
        );
        assert_eq!(clock.ticks(71.0).0[0].0, 8.0);
        let none = Clock::new(None, 1.0, 5.0 * HOUR);
        assert_eq!(texts(&none, 5.0 * HOUR)[..2], ["0 s", "1:00 h"]);
        let days = Clock::new(Some(BASE), 1.0, 2.0 * DAY);
        assert_eq!(texts(&days, 2.0 * DAY)[0], "01 00:00");
        for until in [0.0, 1e-3, 3e9] {
            assert!(Clock::new(Some(BASE), 1.0, until).ticks(until).0.len() < 10);
        }
    }
}
