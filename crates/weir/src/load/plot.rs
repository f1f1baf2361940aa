//! Line plots as inline SVG whose colours are the page's, so that they suit light and dark. It does
//! not know what is plotted.

use maud::{Markup, html};

/// One axis: where values lie, from 0 at its beginning to 1 at its end, and what is written there.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    label: &'static str,
    from: f64,
    to: f64,
    log: bool,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From 0 to a round number that no value exceeds, with ticks at round numbers.
    pub(crate) fn linear(
        label: &'static str,
        values: impl Iterator<Item = f64>,
        write: impl Fn(f64) -> String,
    ) -> Axis {
        let most = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        let most = if most > 0.0 { most } else { 1.0 };
        let step = round_step(most / 5.0);
        let count = (most / step).ceil();
        let ticks = (0..=count as u32).map(|k| f64::from(k) * step);
        let ticks = ticks.map(|value| (value, write(value))).collect();
        Axis { label, from: 0.0, to: count * step, log: false, ticks }
    }

    /// From the power of ten below the least value above 0 to the one above the largest.
    pub(crate) fn logarithmic(
        label: &'static str,
        values: impl Iterator<Item = f64>,
        write: impl Fn(f64) -> String,
    ) -> Axis {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|v| v.is_finite() && *v > 0.0) {
            least = least.min(value);
            most = most.max(value);
        }
        let (from, to) = match most > 0.0 {
            true => (least.log10().floor(), most.log10().ceil()),
            false => (0.0, 1.0),
        };
        let to = to.max(from + 1.0);
        let ticks = (from as i32..=to as i32).map(|power| 10_f64.powi(power));
        let ticks = ticks.map(|value| (value, write(value))).collect();
        Axis { label, from, to, log: true, ticks }
    }

    /// Places of one's own, linear between the first and the last tick.
    pub(crate) fn places(label: &'static str, ticks: Vec<(f64, String)>) -> Axis {
        let from = ticks.first().map_or(0.0, |tick| tick.0);
        let to = ticks.last().map_or(1.0, |tick| tick.0).max(from + f64::EPSILON);
        Axis { label, from, to, log: false, ticks }
    }

    fn place(&self, value: f64) -> Option<f64> {
        let value = if self.log { value.log10() } else { value };
        value.is_finite().then(|| ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0))
    }
}

/// 1, 2 or 5 times a power of ten, at least `about`.
fn round_step(about: f64) -> f64 {
    let power = 10_f64.powf(about.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= about * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What it is called in the legend.
    pub(crate) name: &'static str,
    /// Points in order; a missing value is a gap.
    pub(crate) points: Vec<(f64, Option<f64>)>,
    /// A dot at each point, with what it says.
    pub(crate) dots: Option<fn(f64, f64) -> String>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 36.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;

/// The lines over the axes; `title` is read out in place of the picture.
pub(crate) fn plot(title: &str, x: &Axis, y: &Axis, lines: &[Line]) -> Markup {
    let across = |share: f64| LEFT + share * (WIDTH - LEFT - RIGHT);
    let up = |share: f64| HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
    let at = |point: &(f64, Option<f64>)| {
        let value = point.1?;
        Some((across(x.place(point.0)?), up(y.place(value)?), point.0, value))
    };
    html! {
        figure {
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(title) {
                @for (value, text) in &y.ticks {
                    @if let Some(place) = y.place(*value).map(up) {
                        line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(n(place)) y2=(n(place)) {}
                        text.y x=(LEFT - 8.0) y=(n(place + 4.0)) { (text) }
                    }
                }
                @for (value, text) in &x.ticks {
                    @if let Some(place) = x.place(*value).map(across) {
                        line.grid x1=(n(place)) x2=(n(place)) y1=(TOP) y2=(HEIGHT - BOTTOM) {}
                        text.x x=(n(place)) y=(HEIGHT - BOTTOM + 18.0) { (text) }
                    }
                }
                text.x.label x=(n(across(0.5))) y=(HEIGHT - 8.0) { (x.label) }
                text.x.label transform=(format!("translate(13 {}) rotate(-90)", n(up(0.5)))) { (y.label) }
                @for (number, line) in lines.iter().enumerate() {
                    path class=(format!("line s{number}")) d=(path(line.points.iter().map(at))) {}
                    @if let Some(say) = line.dots {
                        @for (left, top, from, value) in line.points.iter().filter_map(at) {
                            circle class=(format!("dot s{number}")) cx=(n(left)) cy=(n(top)) r="3.5" {
                                title { (line.name) ": " (say(from, value)) }
                            }
                        }
                    }
                }
            }
            @if lines.len() > 1 {
                figcaption {
                    @for (number, line) in lines.iter().enumerate() {
                        span class=(format!("key s{number}")) { (line.name) }
                    }
                }
            }
        }
    }
}

/// A path through the points, broken where one is missing.
fn path(points: impl Iterator<Item = Option<(f64, f64, f64, f64)>>) -> String {
    let mut text = String::new();
    let mut pen = "M";
    for point in points {
        match point {
            Some((left, top, ..)) => {
                text.push_str(&format!("{pen}{} {}", n(left), n(top)));
                pen = "L";
            }
            None => pen = "M",
        }
    }
    text
}

/// A coordinate to a tenth of a pixel.
fn n(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_every_value_between_round_ticks() {
        let axis = Axis::linear("", [0.0, 37.0].into_iter(), |v| v.to_string());
        assert_eq!((axis.from, axis.to), (0.0, 40.0));
        let axis = Axis::logarithmic("", [0.0, 0.3, 41.0].into_iter(), |v| v.to_string());
        assert_eq!((axis.from, axis.to, axis.ticks.len()), (-1.0, 2.0, 4));
        assert_eq!(axis.place(0.0), None);
        // Nothing at all, and a single value, still make an axis.
        for values in [&[][..], &[0.0], &[1.0], &[f64::NAN]] {
            for axis in [
                Axis::linear("", values.iter().copied(), |v| v.to_string()),
                Axis::logarithmic("", values.iter().copied(), |v| v.to_string()),
            ] {
                assert!(axis.to > axis.from && axis.ticks.len() > 1, "{axis:?}");
            }
        }
    }

    #[test]
    fn a_missing_value_is_a_gap() {
        let point = |x: f64| Some((x, x, x, x));
        let drawn = path([point(1.0), None, point(2.0), point(3.0)].into_iter());
        assert_eq!(drawn, "M1.0 1.0M2.0 2.0L3.0 3.0");
    }
}
