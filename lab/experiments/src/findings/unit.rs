//! Units of figures, and values in them. Rows and tables say which unit theirs have; bars and reports
//! print by it.

use serde::Serialize;

use super::digits::number;

/// How a figure is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A ratio.
    Times,
    /// Milliseconds.
    Ms,
    /// Seconds.
    Seconds,
    /// A share, printed in per cent.
    Percent,
    /// A number.
    Count,
}

/// A value in its unit, without the unit's name.
pub(super) fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => number(value * 100.0),
        Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
        _ => number(value),
    }
}

/// A printed value with its unit's name.
pub(super) fn with_unit(text: String, unit: Unit) -> String {
    match unit {
        Unit::Times | Unit::Count => text,
        Unit::Ms => text + " ms",
        Unit::Seconds => text + " s",
        Unit::Percent => text + " %",
    }
}

/// How far a value is from 0, with the unit's name: shares are apart by points.
pub(super) fn distance(value: f64, unit: Unit) -> String {
    let size = figure(value.abs(), unit);
    match unit {
        Unit::Percent => size + " points",
        _ => with_unit(size, unit),
    }
}
