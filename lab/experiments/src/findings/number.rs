//! Figures in print: the median with its interval, and bars, in the unit of their row.

use super::bar::Bar;
use super::ours::Ours;
use super::unit::{Unit, figure, with_unit};

/// In place of a figure that there is not.
pub(crate) const NONE: &str = "–";

/// The median, and the interval where it differs in print.
pub(crate) fn ours(ours: &Ours, unit: Unit) -> String {
    let Some(interval) = ours.interval else { return NONE.to_owned() };
    let (middle, low, high) =
        (figure(interval.middle, unit), figure(interval.low, unit), figure(interval.high, unit));
    if low == high {
        return with_unit(middle, unit);
    }
    with_unit(format!("{middle} ({low}–{high})"), unit)
}

/// A bar in words.
pub(crate) fn bar(bar: Option<Bar>, unit: Unit) -> String {
    let print = |value| figure(value, unit);
    let text = match bar {
        None => return String::new(),
        Some(Bar::AtMost(limit)) => format!("≤ {}", print(limit)),
        Some(Bar::AtLeast(limit)) => format!("≥ {}", print(limit)),
        Some(Bar::Above(limit)) => format!("> {}", print(limit)),
        Some(Bar::Below(limit)) => format!("< {}", print(limit)),
        Some(Bar::Between(low, high)) => format!("{} to {}", print(low), print(high)),
    };
    with_unit(text, unit)
}
