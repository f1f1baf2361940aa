//! Carter 1999, section 5.2: useful throughput in closed form, and the sums of service times that
//! explain it.

use weir_sim::dtoc::Strategy;
use weir_sim::model::mm1k::Mm1k;
use weir_workload::Invalid;
use weir_workload::law::{Law, carter};

use super::simulated::{constant, refused, simulate};
use crate::choice::Scale;
use crate::experiment::{Evidence, Experiment};
use crate::findings::{Axis, Bar, Ours, Plot, Row, Section, Unit, series};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "carter-model",
    paper: "Carter 1999",
    repeats: "Figures 17 to 20",
    title: "Requests whose clients have left: closed form",
    groups: |_| Vec::new(),
    report,
};

/// Requests in the system: one in service, 1024 waiting.
const CAPACITY: u32 = 1025;
/// Timeouts of Figure 17, in mean service times.
const TIMEOUTS: [f64; 3] = [1000.0, 1025.0, 1050.0];
/// Timeouts of Figure 20, and what the paper reads there.
const BY_SIZES: [(f64, f64); 3] = [(800.0, 0.03), (900.0, 0.15), (1000.0, 0.42)];

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "Closed forms (weir-lab sim model mm1k; derived in lab/models.md). With exponential service \
         times the useful throughput far above capacity is the share of sums of 1025 service times \
         that are within the timeout; with Figure 21's sizes the normal law says so.",
    );
    if let Err(why) = models(section).and_then(|()| simulated(evidence.choice.scale, section)) {
        refused(section, &why);
    }
}

fn models(section: &mut Section) -> Result<(), Invalid> {
    section.plot(throughput()?);
    let mut row = |what: String, paper: f64, ours: f64, by: f64| {
        let row = Row::new(what, format!("{paper}"), one(ours), Unit::Count);
        section.row(row.paper_is(paper).bar(Bar::Between(paper - by, paper + by)));
    };
    for (timeout, paper) in TIMEOUTS.into_iter().zip([0.22, 0.50, 0.78]) {
        let limit = Mm1k::new(CAPACITY, timeout, 3.0)?.limit();
        let what = format!("Figure 17: useful throughput far above capacity, timeout of {timeout}");
        row(what, paper, limit, 0.015);
    }
    let cv = variation(&carter());
    for (timeout, paper) in BY_SIZES {
        let ours = Mm1k::new(CAPACITY, timeout, 3.0)?.normal_limit(cv)?;
        let what = format!("Figure 20: sums of 1025 service times within {timeout}");
        row(what, paper, ours, 0.02);
    }
    row("appendix A.2: coefficient of variation of Figure 21".into(), 3.7, cv, 0.05);
    section.plot(density()?);
    section.plot(sums("Figure 19: sums of 1025 exponential service times", |timeout| {
        Ok(Mm1k::new(CAPACITY, timeout, 3.0)?.limit())
    })?);
    section.plot(sums("Figure 20: sums of 1025 of Figure 21's service times", |timeout| {
        Mm1k::new(CAPACITY, timeout, 3.0)?.normal_limit(cv)
    })?);
    Ok(())
}

/// The closed form against the simulator's server with exponential service times.
fn simulated(scale: Scale, section: &mut Section) -> Result<(), Invalid> {
    let (load, timeout) = (1.1, 10.25);
    let law = weir_workload::law::parse("exponential:mean=1000")?;
    let model = constant(load, timeout, 0, Strategy::Regular)?;
    let duration = if scale == Scale::Quick { 1_000.0 } else { 20_000.0 };
    let found = simulate(vec![weir_sim::dtoc::Model { law, duration, ..model }], scale)?;
    let form = Mm1k::new(CAPACITY, timeout * 100.0, load)?.useful_throughput();
    if let Some(found) = found.first() {
        let what = format!("simulation ÷ closed form, exponential service times, load {load}");
        let ours = found.ours(|results| Some(results.useful_percent / 100.0 / form));
        section.row(Row::new(what, "", ours, Unit::Times).bar(Bar::Between(0.97, 1.03)));
    }
    Ok(())
}

fn one(value: f64) -> Ours {
    Ours::computed(value)
}

fn throughput() -> Result<Plot, Invalid> {
    let x = Axis::linear("offered load, shares of capacity");
    let mut plot =
        Plot::new("Figure 17: useful throughput, K = 1025", x, Axis::linear("useful throughput"));
    for (colour, timeout) in TIMEOUTS.into_iter().enumerate() {
        let at = |step: u32| {
            let load = f64::from(step) / 100.0;
            Ok((load, Mm1k::new(CAPACITY, timeout, load)?.useful_throughput()))
        };
        let points = (0..=200).map(at).collect::<Result<Vec<_>, Invalid>>()?;
        let curve = series::line("model", points).named(format!("timeout {timeout}"));
        plot.series.push(curve.coloured(colour, false));
    }
    Ok(plot)
}

/// Shares of sums within each timeout.
fn sums(title: &str, share: impl Fn(f64) -> Result<f64, Invalid>) -> Result<Plot, Invalid> {
    let x = Axis::linear("timeout, mean service times");
    let mut plot = Plot::new(title, x, Axis::linear("share of the sums"));
    let at = |step: u32| {
        let timeout = f64::from(step) * 10.0;
        Ok((timeout, share(timeout)?))
    };
    let points = (60..=150).map(at).collect::<Result<Vec<_>, Invalid>>()?;
    plot.series.push(series::line("model", points).named("share").coloured(0, false));
    Ok(plot)
}

/// Figure 18: the slope of Figure 19's curve.
fn density() -> Result<Plot, Invalid> {
    let x = Axis::linear("sum of 1025 service times, mean service times");
    let mut plot =
        Plot::new("Figure 18: density of the sums", x, Axis::linear("share per service time"));
    let share = |timeout: f64| Ok(Mm1k::new(CAPACITY, timeout, 3.0)?.limit());
    let at = |step: u32| {
        let middle = f64::from(step) * 2.0;
        Ok((middle, (share(middle + 1.0)? - share(middle - 1.0)?) / 2.0))
    };
    let points = (450..=575).map(at).collect::<Result<Vec<_>, Invalid>>()?;
    plot.series.push(series::line("model", points).named("density").coloured(0, false));
    plot.shaded.push((900.0, TIMEOUTS[0]));
    Ok(plot)
}

/// Standard deviation ÷ mean.
fn variation(law: &dyn Law) -> f64 {
    let mean = law.mean();
    let square = law.mean_of(&|size| (size as f64).powi(2));
    (square - mean * mean).max(0.0).sqrt() / mean
}
