//! Carter 1999, section 4.2: a normal and a busy day, simulated.

use weir_sim::dtoc::{self, Model, Strategy};
use weir_workload::Invalid;
use weir_workload::shape::Shape;

use super::simulated::{Simulated, refused, simulate};
use crate::experiment::{Evidence, Experiment};
use crate::findings::{Axis, Bar, Plot, Row, Section, Unit, series};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "carter-days",
    paper: "Carter 1999",
    repeats: "Figures 9 to 16",
    title: "Requests whose clients have left: a normal and a busy day",
    groups: |_| Vec::new(),
    report,
};

/// Of the series over time, in seconds (text of Figure 13).
const INTERVAL: f64 = 10.0;
const TIMEOUTS: [f64; 3] = [5.0, 8.0, 10.0];
const STRATEGIES: [Strategy; 2] = [Strategy::Regular, Strategy::Check];

/// A day of weir-sim, its figure, and the paper's useful throughput, %, by timeout, for both strategies.
struct Day {
    name: &'static str,
    figure: &'static str,
    shape: &'static str,
    paper: [[f64; 2]; 3],
}

const DAYS: [Day; 2] = [
    Day {
        name: "normal day",
        figure: "Figure 11",
        shape: "carter-normal-day",
        paper: [[0.0, 80.0], [33.0, 88.0], [76.0, 93.0]],
    },
    Day {
        name: "busy day",
        figure: "Figure 12",
        shape: "carter-busy-day",
        paper: [[0.0, 78.0], [18.0, 85.0], [62.0, 93.0]],
    },
];

/// How the days' loads were found, beside every figure that they decide.
const CHOSEN: &str = "the day's loads of 95 and 150 % were chosen to come near these figures";

/// What the figures over time show: title, day, timeout, strategy.
const OVER_TIME: [(&str, usize, f64, Strategy); 4] = [
    ("Figure 13: normal day, regular, 5 s", 0, 5.0, Strategy::Regular),
    ("Figure 14: normal day, check, 5 s", 0, 5.0, Strategy::Check),
    ("Figure 15: busy day, regular, 8 s", 1, 8.0, Strategy::Regular),
    ("Figure 16: busy day, check, 8 s", 1, 8.0, Strategy::Check),
];

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let days = match Simulations::new(evidence) {
        Ok(days) => days,
        Err(why) => return refused(section, &why),
    };
    section.text(format!(
        "Simulated (weir-lab sim dtoc --shape carter-normal-day), one retry. The curves of Figures 9 and \
         10 are lost; from the paper's words these equal parts of a day were made, in % of capacity: \
         normal day {}; busy day {}. So what compares with the paper is the order of the strategies \
         rather than each figure.",
        loads(&DAYS[0]),
        loads(&DAYS[1])
    ));
    for (title, day, timeout, strategy) in OVER_TIME {
        if let Some(found) = days.of(day, timeout, strategy) {
            section.plot(over_time(title, &DAYS[day], found));
        }
    }
    for (place, day) in DAYS.iter().enumerate() {
        for (timeout, paper) in TIMEOUTS.iter().zip(day.paper) {
            for (strategy, paper) in STRATEGIES.iter().zip(paper) {
                let Some(found) = days.of(place, *timeout, *strategy) else { continue };
                let Day { figure, name, .. } = day;
                let what = format!("{figure}: {name}, {strategy}, {timeout} s: useful throughput");
                let row =
                    |said: String| Row::new(what, said, found.useful(), Unit::Percent).note(CHOSEN);
                section.row(match paper {
                    0.0 => row("livelock".to_owned()).paper_says(Bar::AtMost(0.005)),
                    paper => row(format!("{paper} %")).paper_is(paper / 100.0),
                });
            }
        }
    }
}

/// Every day, timeout and strategy.
struct Simulations(Vec<Simulated>);

impl Simulations {
    fn new(evidence: &Evidence<'_>) -> Result<Simulations, Invalid> {
        let mut models = Vec::new();
        for day in &DAYS {
            for timeout in TIMEOUTS {
                for strategy in STRATEGIES {
                    models.push(model(day, timeout, strategy)?);
                }
            }
        }
        simulate(models, evidence.choice.scale).map(Simulations)
    }

    fn of(&self, day: usize, timeout: f64, strategy: Strategy) -> Option<&Simulated> {
        let timeout = TIMEOUTS.iter().position(|&other| other == timeout)?;
        let strategy = STRATEGIES.iter().position(|&other| other == strategy)?;
        self.0.get((day * TIMEOUTS.len() + timeout) * STRATEGIES.len() + strategy)
    }
}

fn shape(day: &Day) -> Result<Shape, Invalid> {
    let unknown = || Invalid(format!("there is no day `{}`", day.shape));
    dtoc::day(day.shape).ok_or_else(unknown)
}

/// The loads of a day as text.
fn loads(day: &Day) -> String {
    let shape = dtoc::day(day.shape);
    let periods = shape.iter().flat_map(Shape::periods);
    let loads = periods.map(|period| format!("{:.0}", period.load * 100.0));
    loads.collect::<Vec<_>>().join(", ")
}

fn model(day: &Day, timeout: f64, strategy: Strategy) -> Result<Model, Invalid> {
    let shape = shape(day)?;
    // The day begins with an empty server, as the paper's does.
    Ok(Model {
        retries: 1,
        warm_up: 0.0,
        duration: shape.periods().iter().map(|period| period.seconds).sum(),
        interval: Some(INTERVAL),
        ..Model::new(shape, timeout, strategy)
    })
}

/// Load and useful throughput, by intervals.
fn over_time(title: &str, day: &Day, found: &Simulated) -> Plot {
    let y = Axis::linear("% of capacity");
    let mut plot = Plot::new(title, Axis::linear("time, s"), y);
    let mut steps = Vec::new();
    let mut start = 0.0;
    for period in dtoc::day(day.shape).iter().flat_map(Shape::periods) {
        steps.push((start, period.load * 100.0));
        start += period.seconds;
        steps.push((start, period.load * 100.0));
    }
    plot.series.push(series::line("load", steps).coloured(7, true));
    let first = found.each.first().and_then(|results| results.intervals.as_deref());
    let points = first.unwrap_or_default().iter().enumerate();
    let points = points.map(|(place, &percent)| (place as f64 * INTERVAL, percent));
    plot.series.push(series::line("useful", points.collect()).coloured(0, false));
    plot
}
