//! What a figure should come to: a bar that weir is to reach, or what a paper says of the figure.
//! Experiments set them, the words of a row judge by them.

use serde::Serialize;

use super::digits::number;
use super::unit::{Unit, distance};

/// What a figure should come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bar {
    /// At most.
    AtMost(f64),
    /// At least.
    AtLeast(f64),
    /// Above, strictly.
    Above(f64),
    /// Below, strictly.
    Below(f64),
    /// Within, ends included.
    Between(f64, f64),
}

impl Bar {
    /// Whether a value reaches it.
    pub fn reached(self, value: f64) -> bool {
        match self {
            Bar::AtMost(limit) => value <= limit,
            Bar::AtLeast(limit) => value >= limit,
            Bar::Above(limit) => value > limit,
            Bar::Below(limit) => value < limit,
            Bar::Between(low, high) => (low..=high).contains(&value),
        }
    }

    /// The limit that a value misses, or the nearest one.
    fn limit(self, value: f64) -> f64 {
        match self {
            Bar::AtMost(limit) | Bar::AtLeast(limit) => limit,
            Bar::Above(limit) | Bar::Below(limit) => limit,
            Bar::Between(low, high) if (value - low).abs() < (value - high).abs() => low,
            Bar::Between(_, high) => high,
        }
    }

    /// By how much a value misses it: per cent of the limit, or in its own unit where the limit is 0.
    pub(crate) fn missed_by(self, value: f64, unit: Unit) -> String {
        match self.limit(value) {
            0.0 => distance(value, unit),
            limit => format!("{:.1} %", ((value / limit - 1.0) * 100.0).abs()),
        }
    }
}

/// What a paper says of a figure, in the row's unit (a share for per cent).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// It gives this figure, or about this.
    Is(f64),
    /// It gives a limit or a range: "at least 8", "never more than 10 % higher".
    Holds(Bar),
}

/// How far a figure may be from the paper's and still be as in the paper: a quarter more, or the
/// paper's a quarter more than ours.
const NEAR: f64 = 1.25;

impl Claim {
    /// Whether a value is as the paper says.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Claim::Is(0.0) => value == 0.0,
            Claim::Is(paper) => (1.0 / NEAR..=NEAR).contains(&(value / paper)),
            Claim::Holds(bar) => bar.reached(value),
        }
    }

    /// What to make of a value, in words.
    pub(crate) fn words(self, value: f64, unit: Unit) -> String {
        match (self, self.holds(value)) {
            (Claim::Is(0.0) | Claim::Holds(_), true) => "as the paper says".to_owned(),
            (Claim::Is(0.0), false) => "not as in the paper, which has none".to_owned(),
            (Claim::Is(_), true) => "as in the paper, within a quarter".to_owned(),
            (Claim::Is(paper), false) => format!("{} × the paper's", number(value / paper)),
            (Claim::Holds(bar), false) => {
                format!("not as the paper says, by {}", bar.missed_by(value, unit))
            }
        }
    }
}
