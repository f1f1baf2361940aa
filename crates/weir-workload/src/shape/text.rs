//! Load shapes as text: names with parameters, or a list of periods such as `25s@1.2,25s@0.2`.

use std::str::FromStr;

use super::{Period, Shape};
use crate::invalid::Invalid;
use crate::parameters::Parameters;

/// What may be written, for help texts and errors.
pub const SYNTAX: &str = "w1 to w9, constant:load=, normal-day:load=,seconds=, \
    busy-day:load=,seconds= (mean load; length of the day, 86400 if not given), or a list of \
    periods such as 25s@1.2,25s@0.2 (seconds, load)";

/// Seconds of a day.
const DAY: f64 = 86_400.0;

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
