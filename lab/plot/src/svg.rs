//! Draws a plot as inline SVG; colours come from the page's style sheet, so that they follow light
//! and dark. `file` puts the same curves into a file of SVG.

use maud::{Markup, Render, html};

use crate::axis::AxisLayout;
use crate::plot::{Axis, Plot, Range, Series};

/// Colours and strokes of what is drawn here, in a page and in a file.
pub(crate) const STYLE: &str = include_str!("plot.css");

pub(crate) const WIDTH: f64 = 560.0;
pub(crate) const HEIGHT: f64 = 340.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 18.0;
/// Room for the label of the axis that goes up: on its side nobody reads it on a phone.
const TOP: f64 = 34.0;
const BOTTOM: f64 = 50.0;
const FLOOR: f64 = HEIGHT - BOTTOM;
/// Sizes of the text in the style sheet: on a wide screen, and on a phone, where plots are smaller.
pub(crate) const FONT: f64 = 13.0;
const PHONE_FONT: f64 = 17.0;
/// Width of a character, as a share of the size of the text: digits and small letters have less.
const CHARACTER: f64 = 0.6;

impl Render for Plot {
    /// A figure: the title, the legend, the curves.
    fn render(&self) -> Markup {
        html! {
            figure {
                figcaption { (self.title) }
                (self.legend())
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.title) { (self.drawn()) }
            }
        }
    }
}

impl Plot {
    /// All that is in the SVG: shades, axes and curves, `WIDTH` wide and `HEIGHT` high.
    pub(crate) fn drawn(&self) -> Markup {
        let points = || self.series.iter().flat_map(|series| series.points.iter());
        let ends = self.series.iter().flat_map(|s| s.intervals.iter()).flat_map(|&(l, h)| [l, h]);
        let shades = self.shaded.iter().flat_map(|&(from, to)| [from, to]);
        let across = points().map(|p| p.0).chain(shades);
        let x = AxisLayout::new(&self.x, across, (LEFT, WIDTH - RIGHT), 8.0);
        let up = points().map(|p| p.1).chain(ends);
        let y = AxisLayout::new(&self.y, up, (FLOOR, TOP), 6.0);
        html! {
            @for &(from, to) in &self.shaded { (shade(&x, from, to)) }
            (self.axes(&x, &y))
            @for (index, series) in self.series.iter().enumerate() {
                (self.curve(index, series, &x, &y))
            }
        }
    }

    /// The curves that are in the legend: those that have a name and can be seen.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Series> {
        let is_seen = |(across, up): &(f64, f64)| across.is_finite() && up.is_finite();
        let curves = self.series.iter().filter(|series| !series.name.is_empty());
        curves.filter(move |series| series.points.iter().any(is_seen))
    }

    fn legend(&self) -> Markup {
        html! {
            div.legend {
                @for series in self.named() {
                    span { (swatch(series)) (series.name) }
                }
                @if !self.shaded.is_empty() { span { i.shade {} (self.shade) } }
            }
        }
    }

    fn axes(&self, x: &AxisLayout, y: &AxisLayout) -> Markup {
        let across: Vec<(f64, &str)> = x
            .ticks
            .iter()
            .filter_map(|(value, text)| Some((x.at(*value)?, text.as_str())))
            .collect();
        // Every name has to be there.
        let named = matches!(self.x.range, Range::Names(_));
        let (wide, phone) = (clear(&across, FONT), clear(&across, PHONE_FONT));
        let shown = across.iter().zip(wide.into_iter().zip(phone));
        html! {
            @for (value, text) in &y.ticks {
                @if let Some(at) = y.at(*value) {
                    line.grid x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(at)) y2=(px(at)) {}
                    text.end x=(px(LEFT - 7.0)) y=(px(at + 4.0)) { (text) }
                }
            }
            @for (&(at, text), (wide, phone)) in shown {
                @if !named { line.grid x1=(px(at)) x2=(px(at)) y1=(px(TOP)) y2=(px(FLOOR)) {} }
                @if wide || named {
                    text class=(class(at, text, phone || named)) x=(px(within(at, text))) y=(px(FLOOR + 21.0)) {
                        (text)
                    }
                }
            }
            line.axis x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(FLOOR)) y2=(px(FLOOR)) {}
            text.label.middle x=(px((LEFT + WIDTH - RIGHT) / 2.0)) y=(px(HEIGHT - 7.0)) { (self.x.label) }
            text.label x="4" y="18" { (self.y.label) }
        }
    }

    fn curve(&self, index: usize, series: &Series, x: &AxisLayout, y: &AxisLayout) -> Markup {
        // Among names, series stand side by side and nothing leads from one name to the next.
        let named = matches!(self.x.range, Range::Names(_));
        let beside = match named {
            true => (index as f64 + 0.5) / self.series.len() as f64 * 0.7 - 0.35,
            false => 0.0,
        };
        let at = |&(across, up): &(f64, f64)| Some((x.at(across + beside)?, y.at(up)?));
        let colour = series.colour;
        html! {
            @if series.filled && !named {
                path class=(format!("area f{colour}")) d=(area(series.points.iter().map(at))) {}
            }
            @if !named {
                path class=(stroke(series)) d=(path(series.points.iter().map(at))) {}
            }
            @for (point, &(low, high)) in series.points.iter().zip(&series.intervals) {
                @if let (Some((across, _)), Some(low), Some(high)) = (at(point), y.at(low), y.at(high)) {
                    line class=(format!("whisker s{colour}")) x1=(px(across)) x2=(px(across)) y1=(px(low)) y2=(px(high)) {}
                }
            }
            @if series.marked {
                @for point in &series.points {
                    @if let Some((across, up)) = at(point) {
                        circle class=(format!("f{colour}")) cx=(px(across)) cy=(px(up)) r="4" {
                            title { (series.name) ": " (said(&self.x, point.0)) ", " (said(&self.y, point.1)) }
                        }
                    }
                }
            }
        }
    }
}

/// How wide a text is, at most.
pub(crate) fn width(text: &str, font: f64) -> f64 {
    text.chars().count() as f64 * font * CHARACTER
}

/// Which of the texts below an axis keep clear of those before them.
fn clear(texts: &[(f64, &str)], font: f64) -> Vec<bool> {
    let mut end = f64::NEG_INFINITY;
    let keeps_clear = |&(at, text): &(f64, &str)| {
        let half = width(text, font) / 2.0;
        let is_clear = at - half > end + font / 2.0;
        if is_clear {
            end = at + half;
        }
        is_clear
    };
    texts.iter().map(keeps_clear).collect()
}

/// Where the text below a tick is put: a long one at the right end does not leave the plot.
fn within(at: f64, text: &str) -> f64 {
    if leaves(at, text) { WIDTH } else { at }
}

/// How it is put there, and whether it is only there on a wide screen.
fn class(at: f64, text: &str, phone: bool) -> String {
    let anchor = if leaves(at, text) { "end" } else { "middle" };
    let only = if phone { "" } else { " wide" };
    format!("{anchor}{only}")
}

fn leaves(at: f64, text: &str) -> bool {
    at + width(text, PHONE_FONT) / 2.0 > WIDTH
}

/// A value as its axis writes it.
fn said(axis: &Axis, value: f64) -> String {
    let name = match &axis.range {
        Range::Names(names) if value >= 0.0 => names.get(value as usize).cloned(),
        _ => None,
    };
    let digits = match value {
        0.0 => 0,
        value => (2.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize,
    };
    name.or_else(|| axis.text.map(|text| text(value)))
        .unwrap_or_else(|| format!("{value:.digits$}"))
}

fn swatch(series: &Series) -> Markup {
    html! {
        svg.swatch viewBox="0 0 24 10" aria-hidden="true" { (sample(series)) }
    }
}

/// A piece of the curve for the legend, 24 wide and 10 high.
pub(crate) fn sample(series: &Series) -> Markup {
    html! {
        line class=(stroke(series)) x1="1" y1="5" x2="23" y2="5" {}
        @if series.marked { circle class=(format!("f{}", series.colour)) cx="12" cy="5" r="3.5" {} }
    }
}

fn stroke(series: &Series) -> String {
    let dashed = if series.dashed { " dash" } else { "" };
    format!("s s{}{dashed}", series.colour)
}

fn shade(x: &AxisLayout, from: f64, to: f64) -> Markup {
    let (Some(from), Some(to)) = (x.at(from), x.at(to)) else { return html! {} };
    // What is too narrow to be seen is drawn as a line.
    let width = (to - from).max(0.6);
    html! {
        rect.over x=(px(from)) y=(px(TOP)) width=(px(width)) height=(px(FLOOR - TOP)) {}
    }
}

/// A line through the points; it is broken where a point cannot be drawn.
fn path(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let mut path = String::new();
    let mut pen = 'M';
    for point in points {
        match point {
            Some((across, up)) => {
                path.push_str(&format!("{pen}{} {}", px(across), px(up)));
                pen = 'L';
            }
            None => pen = 'M',
        }
    }
    path
}

/// The areas between the line and the floor.
fn area(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let mut path = String::new();
    let mut last: Option<f64> = None;
    for point in points.chain(std::iter::once(None)) {
        match (point, last) {
            (Some((across, up)), None) => {
                path.push_str(&format!("M{} {}L{0} {}", px(across), px(FLOOR), px(up)));
            }
            (Some((across, up)), Some(_)) => path.push_str(&format!("L{} {}", px(across), px(up))),
            (None, Some(across)) => path.push_str(&format!("L{} {}Z", px(across), px(FLOOR))),
            (None, None) => {}
        }
        last = point.map(|(across, _)| across);
    }
    path
}

/// A coordinate to a tenth.
pub(crate) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_is_a_gap() {
        let points = || [Some((1.0, 1.5)), None, Some((2.0, 2.0)), Some((3.0, 3.0))].into_iter();
        assert_eq!(path(points()), "M1 1.5M2 2L3 3");
        assert_eq!(area(points()), "M1 290L1 1.5L1 290ZM2 290L2 2L3 3L3 290Z");
    }

    #[test]
    fn a_plot_has_its_curves_marks_and_shades() {
        let mut plot = Plot::new("a < b", Axis::linear("s"), Axis::log("ms"));
        plot.shaded.push((1.0, 2.0));
        plot.series.push(Series::new("one", vec![(0.0, 1.0), (2.0, 10.0)]).marked().filled());
        plot.series.push(Series::with_gaps("two", [(0.0, None), (1.0, Some(5.0))]));
        plot.series.push(Series::with_gaps("not run", [(0.0, None)]));
        let drawn = plot.render().into_string();
        for part in [
            "a &lt; b",
            "overload",
            "one: 2.00, 10.0",
            "class=\"area f0\"",
            "class=\"over\"",
            "<i class=\"shade\"",
        ] {
            assert!(drawn.contains(part), "{part} is not in {drawn}");
        }
        assert!(!drawn.contains("NaN") && !drawn.contains("not run"), "{drawn}");
        assert_eq!(drawn.matches("<circle").count(), 3, "two points and the legend's");
    }

    #[test]
    fn texts_below_an_axis_do_not_collide() {
        let texts = ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %"];
        let ticks = texts.iter().enumerate().map(|(i, text)| (i as f64, (*text).to_owned()));
        let axis = Axis::places("", (0.0, 7.0), ticks.collect());
        let drawn = Plot::new("", axis, Axis::linear("")).render().into_string();
        // Each text with where it is, and whether it is there on a phone.
        let found = drawn.split("<text ").filter(|text| text.contains(" %</text>")).map(|text| {
            let x = text.split("x=\"").nth(1).and_then(|x| x.split('"').next());
            let said = text.split('>').nth(1).and_then(|said| said.split('<').next()).unwrap();
            let at: f64 = x.unwrap().parse().unwrap();
            let width = said.len() as f64;
            (at, width, text.contains("end"), text.contains("wide"))
        });
        let found: Vec<_> = found.collect();
        for (font, all) in [(FONT, true), (PHONE_FONT, false)] {
            let mut last = f64::NEG_INFINITY;
            for &(at, characters, is_end, _) in found.iter().filter(|text| all || !text.3) {
                let width = characters * font * 0.5;
                let (from, to) = match is_end {
                    true => (at - width, at),
                    false => (at - width / 2.0, at + width / 2.0),
                };
                assert!(from > last && to <= WIDTH, "{at} at {font}: {drawn}");
                last = to;
            }
        }
        assert!(found.len() >= 6 && found.iter().any(|text| text.3), "{drawn}");
    }

    #[test]
    fn names_stand_apart_and_are_said() {
        let axis = Axis::names("", ["W1", "W2"].map(str::to_owned));
        let mut plot = Plot::new("", axis, Axis::linear(""));
        let mut series = Series::new("x", vec![(1.0, 0.0)]).marked();
        series.intervals.push((0.0, 2.0));
        plot.series.push(series);
        let drawn = plot.render().into_string();
        assert!(drawn.contains("x: W2, 0<") && drawn.contains("whisker"), "{drawn}");
        assert!(!drawn.contains("<path"), "{drawn}");
    }
}
