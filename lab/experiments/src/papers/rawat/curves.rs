//! Figures 3 to 10: mean response time over the percentile of size, at each round trip. The simulated
//! experiment has one for each site and load.

use weir_sched::PolicyKind;
use weir_sched::policy::{FAIR, SRPT, SWIFT};

use super::played::{EDGES, Trials, over_seeds};
use super::scene::{LOADS, ROUND_TRIPS_MS, Scene, Site};

use crate::findings::{Axis, Plot, series};

/// The number of the paper's figure.
fn number(site: Site, load: f64) -> Option<usize> {
    let first = match site {
        Site::Austin => 3,
        Site::Seattle => 7,
    };
    Some(first + LOADS.iter().position(|known| *known == load)?)
}

/// The figure of a site and a load.
pub(super) fn figure(trials: &Trials, site: Site, load: f64) -> Plot {
    let figure = number(site, load).map_or(String::new(), |number| format!("Figure {number}: "));
    let mut plot = Plot::new(
        format!("{figure}{}, load {load}", site.name()),
        Axis::linear("percentile of size"),
        Axis::log("mean response time, s"),
    );
    for (colour, round_trip_ms) in ROUND_TRIPS_MS.into_iter().enumerate() {
        let scene = Scene::new(site, load, round_trip_ms);
        for (policy, name, dashed) in [(SWIFT, "SWIFT", false), (SRPT, "SRPT", true)] {
            let curve = series::line(name, curve(trials, policy, &scene));
            let curve = curve.named(format!("{name}, {round_trip_ms} ms"));
            plot.series.push(curve.coloured(colour, dashed));
        }
        let stock = series::line("weir:fair", curve(trials, FAIR, &scene)).marked();
        plot.series.push(stock.named(format!("fair, {round_trip_ms} ms")).coloured(colour, true));
    }
    plot
}

/// Medians over the seeds.
fn curve(trials: &Trials, policy: PolicyKind, scene: &Scene) -> Vec<(f64, f64)> {
    let seeds = trials.pooled(policy, |other| other == scene);
    let at = |group: usize| {
        let points: Vec<(f64, f64)> = seeds.iter().filter_map(|t| t.by_size().nth(group)).collect();
        let median = over_seeds(points.iter().map(|point| point.1)).middle()?;
        Some((points.first()?.0, median))
    };
    (0..EDGES.len()).filter_map(at).collect()
}
