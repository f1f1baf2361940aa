//! Curves of systems: how a system is called and coloured in the whole report. It does not know
//! what is plotted.

use weir_plot::Series;

use crate::verdict::Ours;

/// A line through many points.
pub(crate) fn line(system: &str, points: Vec<(f64, f64)>) -> Series {
    let (colour, dashed) = colour(system);
    Series::new(label(system), points).coloured(colour, dashed)
}

/// A few measurements over the seeds; those that nobody made are left out.
pub(crate) fn measured(
    system: &str,
    points: impl IntoIterator<Item = (f64, Ours)>,
    scale: f64,
) -> Series {
    let mut series = line(system, Vec::new()).marked();
    for (x, ours) in points {
        if let Some(interval) = ours.interval {
            series.points.push((x, interval.middle * scale));
            series.intervals.push((interval.low * scale, interval.high * scale));
        }
    }
    series
}

/// How a system is called in tables and legends.
pub(crate) fn label(system: &str) -> String {
    match system {
        "apache-prefork" => "Apache prefork".to_owned(),
        "apache-event" => "Apache event".to_owned(),
        "caddy" => "Caddy".to_owned(),
        other => other.replacen("weir:", "weir ", 1),
    }
}

/// A system has one colour in the whole report: colour and dashes.
fn colour(system: &str) -> (usize, bool) {
    match system.split(' ').next().unwrap_or(system) {
        "weir:srpt" => (0, false),
        "weir:protective" => (1, false),
        "weir:fair" => (2, false),
        "nginx" => (3, false),
        "apache-prefork" => (4, false),
        "weir:fsp" => (5, true),
        "weir:bands" => (6, true),
        "apache-event" => (4, true),
        "exact" => (7, true),
        "lighttpd" => (5, false),
        "h2o" => (6, false),
        "caddy" => (3, true),
        _ => (7, false),
    }
}
