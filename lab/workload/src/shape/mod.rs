//! Load shapes: the offered load over time, as a list of periods of constant load that repeats.
//! Arrivals, scaled traces and the simulator follow one; a load of 1 is the capacity of the link or
//! server that they are given.

mod day;
mod table;
mod text;

use std::fmt;

use crate::invalid::Invalid;

pub use text::SYNTAX;

/// The shortest period, in seconds: time must go on from one to the next.
const SHORTEST: f64 = 0.001;
/// The longest period and workload, in seconds: thirty years.
pub(crate) const LONGEST: f64 = 1e9;
/// The most load.
const MOST_LOAD: f64 = 1e6;

/// Some time of constant load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// How long, from 0.001 to a thousand million.
    pub seconds: f64,
    /// Offered load, from 0 to a million; 1 is what the link can just carry.
    pub load: f64,
}

/// A period at its place in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Seconds from the start of the workload.
    pub start: f64,
    /// Seconds from the start of the workload.
    pub end: f64,
    /// Offered load.
    pub load: f64,
}

/// Offered load over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    name: String,
    periods: Vec<Period>,
}

impl Shape {
    /// A shape of these periods, repeated for ever. `name` is what it is shown as.
    ///
    /// # Errors
    ///
    /// A length or load out of range, or no load in any of the periods.
    pub fn new(name: impl Into<String>, periods: Vec<Period>) -> Result<Shape, Invalid> {
        let name = name.into();
        for (place, period) in periods.iter().enumerate() {
            let Period { seconds, load } = *period;
            if !(SHORTEST..=LONGEST).contains(&seconds) {
                return Err(Invalid(format!(
                    "load shape {name}: period {} lasts {seconds} s; give {SHORTEST} to {LONGEST}",
                    place + 1
                )));
            }
            if !(0.0..=MOST_LOAD).contains(&load) {
                return Err(Invalid(format!(
                    "load shape {name}: period {} has a load of {load}; give 0 to {MOST_LOAD}",
                    place + 1
                )));
            }
        }
        if !periods.iter().any(|period| period.load > 0.0) {
            return Err(Invalid(format!("load shape {name} has no period with any load")));
        }
        Ok(Shape { name, periods })
    }

    /// The periods of one cycle.
    pub fn periods(&self) -> &[Period] {
        &self.periods
    }

    /// Seconds of one cycle.
    pub fn cycle(&self) -> f64 {
        self.periods.iter().map(|period| period.seconds).sum()
    }

    /// Mean load over one cycle.
    pub fn mean_load(&self) -> f64 {
        let work: f64 = self.periods.iter().map(|period| period.load * period.seconds).sum();
        work / self.cycle()
    }

    /// The periods one after the other, without end.
    pub fn spans(&self) -> impl Iterator<Item = Span> + use<> {
        let periods = self.periods.clone();
        let mut place = 0;
        let mut end = 0.0;
        std::iter::from_fn(move || {
            let period = periods.get(place)?;
            place = (place + 1) % periods.len();
            let start = end;
            end = start + period.seconds;
            Some(Span { start, end, load: period.load })
        })
    }

    /// The spans of overload (load above 1) that begin before `seconds`, cut there.
    pub fn overload(&self, seconds: f64) -> Vec<Span> {
        self.spans()
            .take_while(|span| span.start < seconds)
            .filter(|span| span.load > 1.0)
            .map(|span| Span { end: span.end.min(seconds), ..span })
            .collect()
    }

    /// The same shape with every load multiplied so that the mean is `load`.
    ///
    /// # Errors
    ///
    /// A load that is not above 0.
    pub fn scaled_to(&self, load: f64) -> Result<Shape, Invalid> {
        let factor = load / self.mean_load();
        let scale = |period: &Period| Period { load: period.load * factor, ..*period };
        Shape::new(format!("{} at {load}", self.name), self.periods.iter().map(scale).collect())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
