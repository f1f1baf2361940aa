//! What a plot shows, as data: axes, curves, shaded spans. Callers fill it in, and [`crate::svg`]
//! draws it.

use serde::Serialize;

/// How an axis is divided.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Range {
    /// From zero, or the least value if that is below.
    Linear,
    /// By factors of ten; values of zero or less are not drawn.
    Log,
    /// Names at 0, 1, 2, …
    Names(Vec<String>),
    /// Linear, with places of one's own.
    Places {
        /// The value at its beginning.
        from: f64,
        /// The value at its end.
        to: f64,
        /// Where something is written, and what.
        ticks: Vec<(f64, String)>,
    },
}

/// An axis.
#[derive(Clone, Debug, Serialize)]
pub struct Axis {
    /// What it is, with the unit.
    pub label: String,
    /// How it is divided.
    pub range: Range,
    /// How a value is written, if not as a plain number.
    #[serde(skip)]
    pub text: Option<fn(f64) -> String>,
}

impl Axis {
    fn new(label: &str, range: Range) -> Axis {
        Axis { label: label.to_owned(), range, text: None }
    }

    /// From zero to a round number, with ticks at round numbers.
    pub fn linear(label: &str) -> Axis {
        Axis::new(label, Range::Linear)
    }

    /// By factors of ten.
    pub fn log(label: &str) -> Axis {
        Axis::new(label, Range::Log)
    }

    /// Names at 0, 1, 2, …
    pub fn names(label: &str, names: impl IntoIterator<Item = String>) -> Axis {
        Axis::new(label, Range::Names(names.into_iter().collect()))
    }

    /// From `from` to `to`, which must be more, with ticks of one's own.
    pub fn places(label: &str, (from, to): (f64, f64), ticks: Vec<(f64, String)>) -> Axis {
        Axis::new(label, Range::Places { from, to, ticks })
    }

    /// Values are written by `text`, at the ticks too.
    pub fn written(mut self, text: fn(f64) -> String) -> Axis {
        self.text = Some(text);
        self
    }
}

/// A plot.
#[derive(Clone, Debug, Serialize)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// Curves.
    pub series: Vec<Series>,
    /// Spans of x with a shade, such as periods of overload.
    pub shaded: Vec<(f64, f64)>,
    /// What the shade is called in the legend.
    pub shade: String,
}

impl Plot {
    /// A plot without curves, whose shade, if it gets one, means overload.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Plot {
        let shade = "overload".to_owned();
        Plot { title: title.into(), x, y, series: Vec::new(), shaded: Vec::new(), shade }
    }
}

/// Colours of curves, as the style sheet has them.
pub const COLOURS: usize = 8;

/// A curve.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Its name in the legend; one without a name is not there.
    pub name: String,
    /// Index of its colour, 0 to 7.
    pub colour: usize,
    /// Dashed.
    pub dashed: bool,
    /// Points are marked: the curve is a few measurements, not many.
    pub marked: bool,
    /// The area below it is tinted.
    pub filled: bool,
    /// In order of x. A point that has no place on an axis, such as one that is no number, is a gap.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper ends at each point; empty without any.
    pub intervals: Vec<(f64, f64)>,
}

impl Series {
    /// A line in the first colour.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
        Series {
            name: name.into(),
            colour: 0,
            dashed: false,
            marked: false,
            filled: false,
            points,
            intervals: Vec::new(),
        }
    }

    /// A line through values of which some are missing: there it is broken.
    pub fn with_gaps(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, Option<f64>)>,
    ) -> Series {
        let points = points.into_iter().map(|(x, y)| (x, y.unwrap_or(f64::NAN)));
        Series::new(name, points.collect())
    }

    /// With another name.
    pub fn named(mut self, name: impl Into<String>) -> Series {
        self.name = name.into();
        self
    }

    /// With another colour, counted round the eight there are, and dashes.
    pub fn coloured(mut self, colour: usize, dashed: bool) -> Series {
        self.colour = colour % COLOURS;
        self.dashed = dashed;
        self
    }

    /// With its points marked.
    pub fn marked(mut self) -> Series {
        self.marked = true;
        self
    }

    /// With the area below it tinted.
    pub fn filled(mut self) -> Series {
        self.filled = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_has_a_colour_that_there_is() {
        let colours = [0, 7, 8, 17].map(|n| Series::new("", Vec::new()).coloured(n, false).colour);
        assert_eq!(colours, [0, 7, 0, 1]);
    }
}
