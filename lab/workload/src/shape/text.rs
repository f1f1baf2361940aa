//! Load shapes as text: names with parameters, or a list of periods such as `25s@1.2,25s@0.2`.

use std::path::Path;
use std::str::FromStr;

use chrono::NaiveDate;

use super::{Period, Shape};
use crate::Wire;
use crate::invalid::Invalid;
use crate::parameters::Parameters;
use crate::read::curve::{self, Minute};

/// What may be written, for help texts and errors.
pub const SYNTAX: &str = "w1 to w9, constant:load=, normal-day:load=,seconds=, \
    busy-day:load=,seconds= (mean load; length of the day, 86400 if not given), \
    minutes:file=,load=,day=,minute= (bytes per minute from a CSV file, mean load, one day such as \
    1998-06-30, seconds that a minute lasts), or a list of periods such as 25s@1.2,25s@0.2 (seconds, load)";

/// Seconds of a day.
const DAY: f64 = 86_400.0;
const MINUTES_OF_DAY: u64 = 1440;

impl Shape {
    /// The shape that a text describes; see [`SYNTAX`].
    ///
    /// # Errors
    ///
    /// A text that describes none: which part is wrong and what is expected.
    pub fn parse(text: &str) -> Result<Shape, Invalid> {
        let text = text.trim();
        if text.contains('@') {
            return Shape::new(text, list(text)?);
        }
        let mut parameters = Parameters::parse(text)?;
        let p = &mut parameters;
        let name = p.name.to_ascii_lowercase();
        let shape = match name.as_str() {
            "constant" => Shape::constant(p.positive("load")?)?,
            "normal-day" => Shape::normal_day(p.positive("load")?, p.number_or("seconds", DAY)?)?,
            "minutes" => minutes(text, p)?,
            "busy-day" => Shape::busy_day(p.positive("load")?, p.number_or("seconds", DAY)?)?,
            _ => match name.strip_prefix('w').and_then(|number| number.parse().ok()) {
                Some(number) => Shape::schroeder(number)?,
                None => {
                    return Err(Invalid(format!("`{text}` is no load shape; give {SYNTAX}")));
                }
            },
        };
        parameters.end()?;
        Ok(shape)
    }
}

/// A measured curve: a file of minutes (see [`crate::read::curve`]) or one day of it. A minute's
/// load is in proportion to the wire bytes of its requests.
fn minutes(text: &str, p: &mut Parameters<'_>) -> Result<Shape, Invalid> {
    let Some(file) = p.text("file") else {
        return Err(Invalid("minutes: `file` is missing; write file=PATH".into()));
    };
    let (load, seconds) = (p.positive("load")?, p.number_or("minute", 60.0)?);
    let day = p.text("day").map(day).transpose()?;
    let minutes = curve::open(Path::new(file))
        .map_err(|e| Invalid(format!("cannot read the minutes of {file}: {e}")))?;
    let number = |minute: &Minute| (minute.start / 60.0) as u64;
    let within = |minute: &&Minute| day.is_none_or(|day| number(minute) / MINUTES_OF_DAY == day);
    let counted = minutes.iter().filter(within).map(|m| (number(m), m.requests, m.bytes));
    let wire = Wire::default();
    let work =
        |requests: u64, bytes: u64| requests as f64 * wire.bytes(bytes / requests.max(1)) as f64;
    Shape::minutes(text, counted, work, load, seconds)
}

/// Days since 1970 of a date.
fn day(text: &str) -> Result<u64, Invalid> {
    let date = text.parse::<NaiveDate>().ok();
    let days = date.map(|date| date.signed_duration_since(NaiveDate::default()).num_days());
    days.and_then(|days| u64::try_from(days).ok()).ok_or_else(|| {
        Invalid(format!("minutes: `day` is `{text}`; give a date such as 1998-06-30"))
    })
}

/// The periods of a list.
fn list(text: &str) -> Result<Vec<Period>, Invalid> {
    let period = |part: &str| -> Option<Period> {
        let (seconds, load) = part.split_once('@')?;
        let seconds = seconds.trim();
        let seconds = seconds.strip_suffix('s').unwrap_or(seconds);
        Some(Period { seconds: seconds.trim().parse().ok()?, load: load.trim().parse().ok()? })
    };
    text.split(',')
        .map(|part| {
            period(part).ok_or_else(|| {
                Invalid(format!(
                    "`{}` in load shape `{text}`: write SECONDSs@LOAD, such as 25s@1.2",
                    part.trim()
                ))
            })
        })
        .collect()
}

impl FromStr for Shape {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Shape, Invalid> {
        Shape::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_and_names_are_read() {
        let shape = Shape::parse(" 25s@1.2, 30 @ 0.2 ").expect("a shape");
        let periods = [Period { seconds: 25.0, load: 1.2 }, Period { seconds: 30.0, load: 0.2 }];
        assert_eq!(shape.periods(), periods);
        assert_eq!(Shape::parse("W8"), Shape::schroeder(8));
        assert_eq!(Shape::parse("constant:load=0.8"), Shape::constant(0.8));
        assert_eq!(Shape::parse("normal-day:load=0.8"), Shape::normal_day(0.8, 86_400.0));
        let busy = Shape::busy_day(0.8, 600.0);
        assert_eq!(Shape::parse("busy-day:load=0.8,seconds=600"), busy);
    }

    #[test]
    fn errors_say_what_is_wrong_and_what_is_expected() {
        let wrong = |text: &str| Shape::parse(text).expect_err(text).0;
        assert!(wrong("25s@1.2,25s").contains("`25s`"), "{}", wrong("25s@1.2,25s"));
        assert!(wrong("0s@1.2").contains("period 1 lasts 0 s"), "{}", wrong("0s@1.2"));
        assert!(wrong("1s@-1").contains("load of -1"), "{}", wrong("1s@-1"));
        assert!(wrong("NaN@1").contains("NaN"), "{}", wrong("NaN@1"));
        assert!(wrong("w10").contains("W1 to W9"), "{}", wrong("w10"));
        assert!(wrong("flat").contains("constant:load"), "{}", wrong("flat"));
        assert!(wrong("constant").contains("`load` is missing"), "{}", wrong("constant"));
        assert!(wrong("w1:load=3").contains("no parameter `load`"), "{}", wrong("w1:load=3"));
    }

    #[test]
    fn a_day_of_a_measured_curve_is_cut_out() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let lines = "timestamp,num_request,size\n1998-06-29 23:59,1,9000000\n\
                     1998-06-30 00:00,10,100000\n1998-06-30 00:02,30,300000\n";
        file.write_all(lines.as_bytes()).expect("written");
        let name = file.path().display();
        let text = format!("minutes:file={name},load=0.6,day=1998-06-30,minute=2");
        let shape = Shape::parse(&text).expect("a shape");
        let loads: Vec<f64> = shape.periods().iter().map(|period| period.load).collect();
        assert_eq!(loads.len(), 3);
        for (load, expected) in loads.iter().zip([0.45, 0.0, 1.35]) {
            assert!((load - expected).abs() < 1e-12, "{loads:?}");
        }
        assert_eq!((shape.cycle(), shape.to_string()), (6.0, text));
        let whole = Shape::parse(&format!("minutes:file={name},load=0.6")).expect("a shape");
        let most = format!("timestamp,num_request,size\n1998-06-30 00:00,1,{}\n", u64::MAX);
        let mut large = tempfile::NamedTempFile::new().expect("a file");
        large.write_all(most.as_bytes()).expect("written");
        let text = format!("minutes:file={},load=0.6", large.path().display());
        assert_eq!(Shape::parse(&text).expect("a shape").mean_load(), 0.6);
        assert_eq!((whole.periods().len(), whole.cycle()), (4, 240.0));
        let wrong = |text: String| Shape::parse(&text).expect_err(&text).0;
        assert!(wrong(format!("minutes:file={name},load=1,day=June")).contains("1998-06-30"));
        assert!(wrong(format!("minutes:file={name},load=1,day=1999-01-01")).contains("no minutes"));
        assert!(wrong("minutes:file=/nowhere/at/all,load=1".into()).contains("/nowhere/at/all"));
        assert!(wrong("minutes:load=1".into()).contains("`file` is missing"));
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_is_read_is_shown_so_that_it_reads_the_same(
            text in "(w|constant|busy-day|:|load|seconds|=|,|@|s|[0-9.e-]| |\\PC){0,24}"
        ) {
            if let Ok(shape) = Shape::parse(&text) {
                prop_assert_eq!(Shape::parse(&shape.to_string()), Ok(shape));
            }
        }
    }
}
