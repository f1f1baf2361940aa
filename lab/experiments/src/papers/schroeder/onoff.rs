//! Schroeder 2003, appendix A: Theorem 1, one cycle of overload in closed form, beside the exact
//! servers on random requests.

use weir_sim::ideal::{self, Job};
use weir_sim::model::onoff::OnOff;
use weir_sim::replications;
use weir_workload::Invalid;
use weir_workload::arrivals::{LoadIs, Offered};
use weir_workload::law::{Law, WorldCup};
use weir_workload::shape::Shape;

use crate::choice::Scale;
use crate::experiment::{Evidence, Experiment};
use crate::findings::{Axis, Bar, Ours, Plot, Row, Section, Unit, series};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-onoff",
    paper: "Schroeder 2003",
    repeats: "Figure 10; Theorem 1",
    title: "On and off overload: the theorem",
    groups: |_| Vec::new(),
    report,
};

/// Parameters of Figure 10. Its caption says "25 ms"; the workload is W1, with seconds.
const HIGH_LOAD: f64 = 1.2;
const PERIOD: f64 = 25.0;
/// Bytes a second of the link.
const SPEED: f64 = 1.25e6;
const SEED: u64 = 1;
/// Between the moments at which requests are counted.
const STEP: f64 = 0.25;
/// Shares of size at which response times are reported: name, share, what the paper says of it, and the
/// most that SRPT may take of FAIR's time then. The last is the paper's largest.
const SHARES: [(&str, f64, &str, Option<f64>); 6] = [
    ("50th", 0.5, "far lower", Some(0.2)),
    ("90th", 0.9, "far lower", Some(0.2)),
    ("99th", 0.99, "", None),
    ("99.9th", 0.999, "", None),
    ("99.99th", 0.9999, "about the same, slightly lower", Some(1.05)),
    ("99.999th", 0.99999, "about the same, slightly lower", Some(1.05)),
];

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "Closed form (weir-lab sim model onoff; derived in lab/models.md) for 25 s at a load of 1.2 and \
         25 s without load, at 10 Mbit/s, with sizes of the World Cup law; simulated: the exact \
         servers of weir-sim on random requests of that law. The model counts bytes of files alone.",
    );
    if let Err(why) = figures(evidence.choice.scale, section) {
        section.text(format!("The model has no value: {why}."));
    }
}

fn figures(scale: Scale, section: &mut Section) -> Result<(), Invalid> {
    let model = OnOff::new(&WorldCup, HIGH_LOAD, 0.0, PERIOD * SPEED)?;
    let simulated = Cycles::new(if scale == Scale::Quick { 200 } else { 2000 })?;
    section.plot(numbers(&model, &simulated));
    section.plot(by_percentile(&model)?);
    let mut row = |what: String, paper: &str, value: f64, unit: Unit, bar: Option<Bar>| {
        let mut row = Row::new(what, paper, Ours::computed(value), unit);
        row.bar = bar;
        section.row(row);
    };
    let share = |requests: &[f64]| requests.get(simulated.last()).copied().unwrap_or(f64::NAN);
    let gathered = model.growth() * PERIOD * SPEED;
    let what = "simulation ÷ closed form: requests under FAIR at the end of the overload";
    let ratio = share(&simulated.fair) / gathered;
    row(what.into(), "", ratio, Unit::Times, Some(Bar::Between(0.9, 1.1)));
    let what = "Figure 10 (left): requests under FAIR ÷ under SRPT at the end of the overload";
    let ratio = share(&simulated.fair) / share(&simulated.srpt);
    row(what.into(), "significantly higher", ratio, Unit::Times, Some(Bar::Above(1.0)));
    for (name, part, paper, most) in SHARES {
        let size = WorldCup.quantile(part);
        let ratio = model.srpt(size)? / model.fair(size)?;
        let what = format!("Figure 10 (right): SRPT ÷ FAIR at the {name} percentile");
        row(what, paper, ratio, Unit::Times, most.map(Bar::AtMost));
    }
    let what = "cutoff size of SRPT, as a share of the requests below it";
    let below = share_below(model.cutoff_size());
    row(what.into(), "", below, Unit::Percent, None);
    Ok(())
}

/// The share of the law below a size, by halving its quantiles.
fn share_below(size: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if WorldCup.quantile(middle) < size { low = middle } else { high = middle }
    }
    low
}

/// Figure 10, left.
fn numbers(model: &OnOff, simulated: &Cycles) -> Plot {
    let mut plot = Plot::new(
        "Figure 10 (left): requests in the system",
        Axis::linear("time, s"),
        Axis::linear("requests"),
    );
    plot.shaded.push((0.0, PERIOD));
    let line = |requests: &[f64]| {
        let points = requests.iter().enumerate();
        points.map(|(step, &requests)| (step as f64 * STEP, requests)).collect()
    };
    let end = model.growth() * PERIOD * SPEED;
    let form = series::line("model", vec![(0.0, 0.0), (PERIOD, end)]);
    plot.series.push(series::line("weir:fair", line(&simulated.fair)).named("FAIR, simulated"));
    plot.series.push(series::line("weir:srpt", line(&simulated.srpt)).named("SRPT, simulated"));
    plot.series.push(form.named("FAIR, closed form").coloured(7, true));
    plot
}

/// Figure 10, right.
fn by_percentile(model: &OnOff) -> Result<Plot, Invalid> {
    let mut plot = Plot::new(
        "Figure 10 (right): response time by size, closed form",
        Axis::linear("percentile of size"),
        Axis::linear("mean response time, s"),
    );
    let shares = || {
        (1..1000)
            .map(|step| f64::from(step) / 1000.0)
            .chain(SHARES.into_iter().skip(4).map(|share| share.1))
    };
    let at = |share: f64, time: &dyn Fn(f64) -> Result<f64, Invalid>| {
        Ok((share * 100.0, time(WorldCup.quantile(share))? / SPEED))
    };
    let fair = shares().map(|share| at(share, &|size| model.fair(size)));
    let srpt = shares().map(|share| at(share, &|size| model.srpt(size)));
    let (fair, srpt) =
        (fair.collect::<Result<_, Invalid>>()?, srpt.collect::<Result<_, Invalid>>()?);
    plot.series.push(series::line("weir:fair", fair).named("FAIR"));
    plot.series.push(series::line("weir:srpt", srpt).named("SRPT"));
    Ok(plot)
}

/// Means over many cycles of the requests in the system, every [`STEP`].
struct Cycles {
    fair: Vec<f64>,
    srpt: Vec<f64>,
}

impl Cycles {
    fn new(count: usize) -> Result<Cycles, Invalid> {
        let shape = Shape::parse(&format!("{PERIOD}s@{HIGH_LOAD},{PERIOD}s@0"))?;
        let law = std::sync::Arc::new(WorldCup);
        let offered =
            Offered { load_is: LoadIs::File, ..Offered::new(law, shape, PERIOD * 2.0, SPEED) };
        // Refused parameters are refused for every seed.
        offered.arrivals()?;
        let cycles = replications::run(count, SEED, |seed| {
            let offered = Offered { seed, ..offered.clone() };
            let requests = offered.arrivals().ok().into_iter().flatten();
            let jobs: Vec<Job> = requests
                .map(|request| Job {
                    arrival: request.at,
                    work: offered.work(request.size.unwrap_or(0)),
                })
                .collect();
            let servers = [ideal::processor_sharing(&jobs, SPEED), ideal::srpt(&jobs, SPEED)];
            servers.map(|finish| present(&jobs, &finish))
        });
        let mean = |server: usize| {
            let steps = (PERIOD * 2.0 / STEP) as usize;
            let at = |step: usize| {
                cycles.iter().map(|cycle| cycle[server][step]).sum::<f64>() / cycles.len() as f64
            };
            (0..=steps).map(at).collect()
        };
        Ok(Cycles { fair: mean(0), srpt: mean(1) })
    }

    /// The step at which the overload ends.
    fn last(&self) -> usize {
        (PERIOD / STEP) as usize
    }
}

/// Requests that have arrived and not finished, every [`STEP`].
fn present(jobs: &[Job], finish: &[f64]) -> Vec<f64> {
    let mut ends = finish.to_vec();
    ends.sort_unstable_by(f64::total_cmp);
    let steps = (PERIOD * 2.0 / STEP) as usize;
    let at = |step: usize| {
        let now = step as f64 * STEP;
        let arrived = jobs.partition_point(|job| job.arrival <= now);
        let left = ends.partition_point(|end| *end <= now);
        (arrived - left) as f64
    };
    (0..=steps).map(at).collect()
}
