//! Simulations of a server whose clients give up, as often as the scale says, and what several of
//! Carter's experiments draw of them. The models are weir-sim's.

use weir_sim::dtoc::{Model, Results, Strategy};
use weir_sim::replications;
use weir_workload::Invalid;
use weir_workload::shape::Shape;

use crate::choice::Scale;
use crate::findings::{Axis, Interval, Ours, Plot, Section, series};

/// The first seed; the repetitions have this and those after it.
const SEED: u64 = 1;

/// One model: the results of each repetition.
pub(super) struct Simulated {
    pub(super) each: Vec<Results>,
}

impl Simulated {
    /// A figure over the repetitions.
    pub(super) fn ours(&self, figure: impl Fn(&Results) -> Option<f64>) -> Ours {
        let values = self.each.iter().filter_map(figure);
        Ours { interval: Interval::of(values), ..Ours::none() }
    }

    /// Useful throughput as a share of the server's capacity.
    pub(super) fn useful(&self) -> Ours {
        self.ours(|results| Some(results.useful_percent / 100.0))
    }
}

pub(super) fn repetitions(scale: Scale) -> usize {
    match scale {
        Scale::Quick => 2,
        Scale::Full | Scale::Paper => 5,
    }
}

/// All models, each as often as the scale says; the same seeds for all.
pub(super) fn simulate(models: Vec<Model>, scale: Scale) -> Result<Vec<Simulated>, Invalid> {
    let times = repetitions(scale);
    let ready = models.into_iter().map(Model::prepare).collect::<Result<Vec<_>, _>>()?;
    let tallies = replications::each(ready.len() * times, |index| {
        ready[index / times].run(SEED + (index % times) as u64)
    });
    let simulated = ready.iter().zip(tallies.chunks(times)).map(|(model, tallies)| {
        let alone = |tally| Results::new(model.model(), std::slice::from_ref(tally));
        Simulated { each: tallies.iter().filter_map(alone).collect() }
    });
    Ok(simulated.collect())
}

/// A server at a constant load, as a multiple of its capacity.
pub(super) fn constant(
    load: f64,
    timeout: f64,
    retries: u32,
    strategy: Strategy,
) -> Result<Model, Invalid> {
    let shape = Shape::parse(&format!("constant:load={load}"))?;
    Ok(Model { retries, ..Model::new(shape, timeout, strategy) })
}

/// Says why nothing could be simulated.
pub(super) fn refused(section: &mut Section, why: &Invalid) {
    section.text(format!("The simulation could not be run: {why}."));
}

/// A curve over the load for each of several names.
pub(super) fn over_load(
    title: &str,
    what: &str,
    curves: impl IntoIterator<Item = (String, Vec<(f64, Ours)>)>,
) -> Plot {
    let mut plot = Plot::new(title, Axis::linear("load, % of capacity"), Axis::linear(what));
    for (colour, (name, points)) in curves.into_iter().enumerate() {
        let curve = series::measured("simulated", points, 100.0).named(name);
        plot.series.push(curve.coloured(colour, false));
    }
    plot
}
