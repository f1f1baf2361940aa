//! A plot as inline SVG; colours come from the page's style sheet, so that they follow light and dark.

use maud::{Markup, html};

use super::axis::Laid;
use super::section::{Plot, Range, Series};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 48.0;

/// A plot with its legend.
pub(super) fn plot(plot: &Plot) -> Markup {
    let points = || plot.series.iter().flat_map(|series| series.points.iter());
    let ends = plot.series.iter().flat_map(|s| s.intervals.iter()).flat_map(|&(l, h)| [l, h]);
    let shades = plot.shaded.iter().flat_map(|&(from, to)| [from, to]);
    let across = points().map(|p| p.0).chain(shades);
    let x = Laid::new(&plot.x.range, across, (LEFT, WIDTH - RIGHT), 9.0);
    let up = points().map(|p| p.1).chain(ends);
    let y = Laid::new(&plot.y.range, up, (HEIGHT - BOTTOM, TOP), 6.0);
    html! {
        figure {
            figcaption { (plot.title) }
            div.legend {
                @for series in &plot.series {
                    span { (swatch(series)) (series.name) }
                }
                @if !plot.shaded.is_empty() {
                    span { i.shade {} "overload" }
                }
            }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(plot.title) {
                @for &(from, to) in &plot.shaded { (shade(&x, from, to)) }
                (axes(plot, &x, &y))
                @for (index, series) in plot.series.iter().enumerate() {
                    (curve(plot, index, series, &x, &y))
                }
            }
        }
    }
}

fn swatch(series: &Series) -> Markup {
    html! {
        svg.swatch viewBox="0 0 24 10" aria-hidden="true" {
            line class=(stroke(series)) x1="1" y1="5" x2="23" y2="5" {}
            @if series.marked { circle class=(format!("f{}", series.colour)) cx="12" cy="5" r="3.5" {} }
        }
    }
}

fn stroke(series: &Series) -> String {
    let dashed = if series.dashed { " dash" } else { "" };
    format!("s s{}{dashed}", series.colour)
}

fn shade(x: &Laid, from: f64, to: f64) -> Markup {
    let (Some(from), Some(to)) = (x.at(from), x.at(to)) else { return html! {} };
    html! {
        rect.over x=(px(from)) y=(px(TOP)) width=(px(to - from)) height=(px(HEIGHT - BOTTOM - TOP)) {}
    }
}

fn axes(plot: &Plot, x: &Laid, y: &Laid) -> Markup {
    let floor = HEIGHT - BOTTOM;
    html! {
        @for (value, text) in &y.ticks {
            @if let Some(at) = y.at(*value) {
                line.grid x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(at)) y2=(px(at)) {}
                text.end x=(px(LEFT - 7.0)) y=(px(at + 4.0)) { (text) }
            }
        }
        @for (value, text) in &x.ticks {
            @if let Some(at) = x.at(*value) {
                @if !matches!(plot.x.range, Range::Names(_)) {
                    line.grid x1=(px(at)) x2=(px(at)) y1=(px(TOP)) y2=(px(floor)) {}
                }
                text.middle x=(px(at)) y=(px(floor + 17.0)) { (text) }
            }
        }
        line.axis x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(floor)) y2=(px(floor)) {}
        text.label.middle x=(px((LEFT + WIDTH - RIGHT) / 2.0)) y=(px(HEIGHT - 8.0)) { (plot.x.label) }
        text.label.middle transform=(format!("translate(14 {}) rotate(-90)", px((TOP + floor) / 2.0))) {
            (plot.y.label)
        }
    }
}

fn curve(plot: &Plot, index: usize, series: &Series, x: &Laid, y: &Laid) -> Markup {
    // Among names, series stand side by side and nothing leads from one name to the next.
    let named = matches!(plot.x.range, Range::Names(_));
    let beside = match named {
        true => (index as f64 + 0.5) / plot.series.len() as f64 * 0.7 - 0.35,
        false => 0.0,
    };
    let at = |&(across, up): &(f64, f64)| Some((x.at(across + beside)?, y.at(up)?));
    let colour = series.colour;
    html! {
        @if !named {
            path class=(stroke(series)) d=(path(series.points.iter().map(at))) {}
        }
        @for (point, &(low, high)) in series.points.iter().zip(&series.intervals) {
            @if let (Some((across, _)), Some(low), Some(high)) = (at(point), y.at(low), y.at(high)) {
                line class=(format!("whisker s{colour}")) x1=(px(across)) x2=(px(across)) y1=(px(low)) y2=(px(high)) {}
            }
        }
        @if series.marked {
            @for (across, up) in series.points.iter().filter_map(at) {
                circle class=(format!("f{colour}")) cx=(px(across)) cy=(px(up)) r="4" {}
            }
        }
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

/// A coordinate to a tenth.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
