//! Crovella 1999, section 6.2: why long connections do not suffer. Mean slowdown by size under SRPT
//! in closed form.

use weir_sim::model::mg1::{Mg1, Order};
use weir_workload::Invalid;
use weir_workload::law::{BoundedPareto, Exponential, Law};

use crate::experiment::{Evidence, Experiment};
use crate::findings::{Axis, Bar, Claim, Ours, Plot, Row, Section, Unit, series};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "crovella-slowdown",
    paper: "Crovella 1999",
    repeats: "Figures 7 and 8",
    title: "Why long connections do not suffer: slowdown by size under SRPT",
    groups: |_| Vec::new(),
    report,
};

const LOAD: f64 = 0.9;
/// Mean size (text of Figure 8).
const MEAN: f64 = 3000.0;
/// The largest size of the bounded Pareto laws, which the paper leaves out; Harchol-Balter's papers
/// of that time have this.
const LARGEST: f64 = 1e10;
/// Exponents of Figure 8.
const EXPONENTS: [f64; 8] = [0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9];
/// Figure 7's.
const HEAVY: f64 = 1.1;
/// Sizes are taken in so many steps of their share.
const STEPS: u32 = 1000;
/// Where the paper's curves end: its largest slowdowns are those of the formula at the 99th
/// percentile, beyond which it goes on to grow.
const SHOWN: f64 = 99.0;

fn report(_: &Evidence<'_>, section: &mut Section) {
    section.text(
        "Closed form (weir-lab sim model mg1 --policy srpt; derived in lab/models.md): M/G/1 at a load \
         of 0.9, mean size 3000, bounded Pareto sizes up to 1e10. Largest slowdowns are those up to \
         the 99th percentile of size, where the paper's curves seem to end; beyond, they still grow.",
    );
    if let Err(why) = figures(section) {
        section.text(format!("The model has no value: {why}."));
    }
}

fn figures(section: &mut Section) -> Result<(), Invalid> {
    let exponential = by_percentile(&Exponential { mean: MEAN })?;
    let heavy = by_percentile(&pareto(HEAVY)?)?;
    let mut plot = plot("Figure 7: mean slowdown by size under SRPT, load 0.9");
    for (colour, name, points) in
        [(0, "exponential", &exponential), (1, "bounded Pareto, α = 1.1", &heavy)]
    {
        let curve = series::line("model", points.clone()).named(name);
        plot.series.push(curve.coloured(colour, false));
    }
    section.plot(plot);
    let mut plot = self::plot("Figure 8: the same by weight of the tail");
    let mut most = Vec::new();
    for (colour, exponent) in EXPONENTS.into_iter().enumerate() {
        let points = by_percentile(&pareto(exponent)?)?;
        most.push((exponent, largest(&points)));
        let curve = series::line("model", points).named(format!("α = {exponent}"));
        plot.series.push(curve.coloured(colour, false));
    }
    section.plot(plot);
    rows(section, &exponential, &heavy, &most);
    Ok(())
}

fn rows(
    section: &mut Section,
    exponential: &[(f64, f64)],
    heavy: &[(f64, f64)],
    most: &[(f64, f64)],
) {
    let mut row = |what: &str, paper: &str, claim: Option<Claim>, ours: f64, bar: Option<Bar>| {
        let mut row = Row::new(what, paper, Ours::computed(ours), Unit::Times);
        row.claim = claim;
        row.bar = bar;
        section.row(row);
    };
    let holds = |limit| Some(Claim::Holds(limit));
    let largest_5 = exponential.iter().filter(|(percentile, _)| *percentile >= 95.0);
    let least = largest_5.map(|(_, slowdown)| *slowdown).fold(f64::INFINITY, f64::min);
    let what = "Figure 7: exponential, least slowdown of the largest 5 %";
    row(what, "5.6 or more", holds(Bar::AtLeast(5.6)), least, None);
    let what = "Figure 7: exponential, largest slowdown";
    row(what, "10 to 11", holds(Bar::Between(10.0, 11.0)), largest(exponential), None);
    let what = "Figure 7: bounded Pareto (α = 1.1), largest slowdown";
    let no_more = holds(Bar::AtMost(1.6));
    row(what, "no more than 1.6", no_more, largest(heavy), Some(Bar::AtMost(1.65)));
    let of = |exponent: f64| most.iter().find(|(other, _)| *other == exponent);
    for (exponent, said, bar) in [
        (0.5, "so close to 1 as to be invisible", Some(Bar::AtMost(1.1))),
        (0.7, "so close to 1 as to be invisible", Some(Bar::AtMost(1.1))),
        (1.5, "very little tendency below about this", None),
        (1.9, "a significant fraction with high slowdowns", Some(Bar::AtLeast(3.0))),
    ] {
        if let Some(&(_, slowdown)) = of(exponent) {
            let what = format!("Figure 8: α = {exponent}, largest slowdown");
            row(&what, said, None, slowdown, bar);
        }
    }
}

fn plot(title: &str) -> Plot {
    Plot::new(title, Axis::linear("percentile of size"), Axis::linear("mean slowdown"))
}

/// Mean slowdown of jobs at each percentile of size.
fn by_percentile(law: &dyn Law) -> Result<Vec<(f64, f64)>, Invalid> {
    let queue = Mg1::new(law, LOAD)?;
    let at = |step: u32| {
        let share = f64::from(step) / f64::from(STEPS);
        let size = law.quantile(share);
        Ok((share * 100.0, queue.response_of(Order::Srpt, size)? / size))
    };
    (1..STEPS).map(at).collect()
}

/// The largest slowdown that the paper's figures show.
fn largest(points: &[(f64, f64)]) -> f64 {
    let shown = points.iter().filter(|(percentile, _)| *percentile <= SHOWN);
    shown.map(|(_, slowdown)| *slowdown).fold(0.0, f64::max)
}

/// The bounded Pareto law of this exponent whose mean is [`MEAN`]: its least size is found by halving,
/// since the mean grows with it.
fn pareto(exponent: f64) -> Result<BoundedPareto, Invalid> {
    let (mut low, mut high) = (1e-9_f64, MEAN);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if BoundedPareto::new(middle, LARGEST, exponent)?.mean() < MEAN {
            low = middle;
        } else {
            high = middle;
        }
    }
    BoundedPareto::new(low, LARGEST, exponent)
}
