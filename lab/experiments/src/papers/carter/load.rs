//! Carter 1999, section 4.1: useful throughput over the load, and what is left of large requests.

use weir_sim::dtoc::{Model, Results, Strategy};
use weir_workload::Invalid;

use super::simulated::{Simulated, constant, over_load, refused, simulate};
use crate::choice::Scale;
use crate::experiment::{Evidence, Experiment};
use crate::findings::{Bar, Claim, Ours, Row, Section, Table, Unit};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "carter-load",
    paper: "Carter 1999",
    repeats: "Figures 2 to 8",
    title: "Requests whose clients have left: constant load",
    groups: |_| Vec::new(),
    report,
};

/// Multiples of the capacity. The largest is where the paper reads off its figures.
const LOADS: [f64; 9] = [0.5, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 2.5, HIGHEST];
const HIGHEST: f64 = 3.0;
/// Seconds that clients wait.
const TIMEOUTS: [f64; 4] = [5.0, 8.0, 9.0, 10.0];
/// What is compared: the paper's two strategies, without and with a retry.
const FIGURES: [(&str, Strategy, u32); 4] = [
    ("Figure 2: regular, no retry", Strategy::Regular, 0),
    ("Figure 3: check at dequeue, no retry", Strategy::Check, 0),
    ("Figure 4: regular, one retry", Strategy::Regular, 1),
    ("Figure 5: check at dequeue, one retry", Strategy::Check, 1),
];
/// Beyond the paper, at the highest load and the shortest patience.
const BEYOND: [Strategy; 6] = Strategy::ALL;
/// Mean of Figure 21's sizes as appendix A.2 gives it.
const MEAN_SIZE: f64 = 14_675.0;

/// The grid of the figures, simulated.
struct Grid {
    points: Vec<Simulated>,
    beyond: Vec<Simulated>,
}

impl Grid {
    fn new(scale: Scale) -> Result<Grid, Invalid> {
        // The paper's figures are read off at the highest load, so that is simulated longest.
        let (duration, longest) = match scale {
            Scale::Quick => (300.0, 300.0),
            Scale::Full => (3_000.0, 10_000.0),
            Scale::Paper => (20_000.0, 20_000.0),
        };
        let mut models = Vec::new();
        for (_, strategy, retries) in FIGURES {
            for timeout in TIMEOUTS {
                for load in LOADS {
                    let duration = if load == HIGHEST { longest } else { duration };
                    let model = constant(load, timeout, retries, strategy)?;
                    models.push(Model { duration, ..model });
                }
            }
        }
        for strategy in BEYOND {
            let model = constant(HIGHEST, TIMEOUTS[0], 0, strategy)?;
            models.push(Model { duration: longest, ..model });
        }
        let mut points = simulate(models, scale)?;
        let beyond = points.split_off(points.len() - BEYOND.len());
        Ok(Grid { points, beyond })
    }

    fn at(&self, figure: usize, timeout: f64, load: f64) -> Option<&Simulated> {
        let timeout = TIMEOUTS.iter().position(|&other| other == timeout)?;
        let load = LOADS.iter().position(|&other| other == load)?;
        self.points.get((figure * TIMEOUTS.len() + timeout) * LOADS.len() + load)
    }

    /// A figure over the load, a curve for each timeout.
    fn curves(
        &self,
        figure: usize,
        value: impl Fn(&Simulated) -> Ours,
    ) -> Vec<(String, Vec<(f64, Ours)>)> {
        let curve = |&timeout: &f64| {
            let at = |&load: &f64| Some((load * 100.0, value(self.at(figure, timeout, load)?)));
            (format!("{timeout} s"), LOADS.iter().filter_map(at).collect())
        };
        TIMEOUTS.iter().map(curve).collect()
    }
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let grid = match Grid::new(evidence.choice.scale) {
        Ok(grid) => grid,
        Err(why) => return refused(section, &why),
    };
    section.text(
        "Simulated (weir-lab sim dtoc): one server of 100 requests a second with a listen queue of 1024, \
         sizes of Figure 21, Poisson arrivals, clients that leave after their timeout. Medians of \
         five repetitions. Useful throughput counts clients answered in time, in % of the requests \
         that the server can answer; it says nothing of their sizes, so useful work (service time of \
         those clients, in % of the time) and success by class stand beside it.",
    );
    for (figure, (title, ..)) in FIGURES.iter().enumerate() {
        let curves = grid.curves(figure, Simulated::useful);
        section.plot(over_load(title, "useful throughput, %", curves));
    }
    let size = grid
        .curves(3, |point| point.ours(|results| Some(results.mean_successful_size_bytes? / 100.0)));
    section.plot(over_load("Figure 6: mean size of what succeeds", "bytes", size));
    let in_service = grid
        .curves(3, |point| point.ours(|results| Some(results.in_service_timeout_percent? / 100.0)));
    section.plot(over_load("Figure 8: timed out in service", "% of requests", in_service));
    section.table(classes(&grid));
    section.table(beyond(&grid));
    throughput(&grid, section);
    discrimination(&grid, section);
    reference(&grid, section);
}

/// Figure 7.
fn classes(grid: &Grid) -> Table {
    let caption = "Figure 7: clients answered in time by class of size, % of all answered; check at \
                   dequeue, one retry, load of 300 %. Asked for: 35, 50, 14 and 1.";
    let columns = ["timeout", "below 1 KB", "below 10 KB", "below 100 KB", "larger"];
    let mut table = Table::new(caption, &columns);
    for timeout in TIMEOUTS {
        let Some(point) = grid.at(3, timeout, HIGHEST) else { continue };
        let share = |class: usize| {
            let percent =
                move |results: &Results| Some(results.successful_class_percent?[class] / 100.0);
            (point.ours(percent), Unit::Percent)
        };
        table.row(format!("{timeout} s"), &[0, 1, 2, 3].map(share));
    }
    table
}

/// What the server can do beyond the paper.
fn beyond(grid: &Grid) -> Table {
    let caption = "Beyond the paper: load of 300 %, 5 s, no retry. Useful throughput in requests and \
                   in work, % of capacity; success by class of size, % of its clients.";
    let columns =
        ["strategy", "requests", "work", "below 1 KB", "below 10 KB", "below 100 KB", "larger"];
    let mut table = Table::new(caption, &columns);
    for (strategy, point) in BEYOND.iter().zip(&grid.beyond) {
        let class = |class: usize| {
            let share = move |results: &Results| Some(results.success_by_class[class]);
            (point.ours(share), Unit::Percent)
        };
        let work = point.ours(|results| Some(results.useful_work_percent / 100.0));
        let mut row = vec![(point.useful(), Unit::Percent), (work, Unit::Percent)];
        row.extend([0, 1, 2, 3].map(class));
        table.row(strategy.name(), &row);
    }
    table
}

fn throughput(grid: &Grid, section: &mut Section) {
    let mut row =
        |figure: usize, timeout: f64, paper: &str, claim: Claim, bar: Option<(f64, f64)>| {
            let Some(point) = grid.at(figure, timeout, HIGHEST) else { return };
            let (name, ..) = FIGURES[figure];
            let what = format!("{name}, 300 %, {timeout} s: useful throughput");
            let mut row = Row::new(what, paper, point.useful(), Unit::Percent);
            row.claim = Some(claim);
            section.row(match bar {
                Some((value, by)) => {
                    row.bar(Bar::Between((value - by) / 100.0, (value + by) / 100.0))
                }
                None => row,
            });
        };
    let none = Claim::Holds(Bar::AtMost(0.005));
    let most = Claim::Holds(Bar::Between(0.95, 0.98));
    row(0, 5.0, "0 % (livelock)", none, Some((0.0, 0.5)));
    row(0, 8.0, "about 3 % (figure 20)", Claim::Is(0.03), Some((1.9, 0.5)));
    row(0, 9.0, "about 15 % (figure 20)", Claim::Is(0.15), Some((14.4, 1.5)));
    row(0, 10.0, "about 40 %", Claim::Is(0.40), Some((43.6, 3.0)));
    row(1, 5.0, "around 85 %", Claim::Is(0.85), Some((85.6, 1.0)));
    row(1, 8.0, "95 to 98 %", most, Some((95.1, 1.0)));
    row(1, 9.0, "95 to 98 %", most, Some((96.6, 1.0)));
    row(1, 10.0, "95 to 98 %", most, Some((97.8, 1.0)));
    row(2, 5.0, "very similar to no retry", none, None);
    row(2, 10.0, "slightly worse than no retry", Claim::Holds(Bar::Below(0.40)), None);
    let lowest = LOADS.iter().filter(|&&load| load > 1.0).filter_map(|&load| {
        let middle = grid.at(3, 5.0, load)?.useful().middle()?;
        Some((middle, load))
    });
    if let Some((least, load)) = lowest.min_by(|one, other| one.0.total_cmp(&other.0)) {
        let what = "Figure 5: check, one retry, 5 s: load of the lowest useful throughput";
        let found = Ours::computed(load);
        let note = format!("{:.1} % there", least * 100.0);
        section.row(Row::new(what, "150 %", found, Unit::Percent).paper_is(1.5).note(note));
    }
    let recovery = |load| grid.at(3, 5.0, load).map(Simulated::useful);
    if let (Some(high), Some(low)) = (recovery(HIGHEST), recovery(1.5)) {
        let ratio = high.middle().zip(low.middle()).map(|(high, low)| high / low);
        let what = "Figure 5: check, one retry, 5 s: useful throughput at 300 % ÷ at 150 %";
        let found = ratio.map_or(Ours::none(), Ours::computed);
        section.row(Row::new(what, "it recovers", found, Unit::Times).bar(Bar::Above(1.0)));
    }
}

fn discrimination(grid: &Grid, section: &mut Section) {
    let Some(point) = grid.at(3, 5.0, HIGHEST) else { return };
    let size = point.ours(|results| Some(results.mean_successful_size_bytes? / MEAN_SIZE));
    let what =
        "Figure 6: check, one retry, 300 %, 5 s: mean size of what succeeds ÷ of what is asked";
    section.row(Row::new(what, "smaller in all cases", size, Unit::Times).bar(Bar::AtMost(1.0)));
    let late = point.ours(|results| Some(results.in_service_timeout_percent? / 100.0));
    let what = "Figure 8: check, one retry, 300 %, 5 s: timed out in service";
    section.row(Row::new(what, "14 %", late, Unit::Percent).paper_is(0.14));
}

/// The best that the model allows.
fn reference(grid: &Grid, section: &mut Section) {
    let Some(place) = BEYOND.iter().position(|&strategy| strategy == Strategy::SrptPurge) else {
        return;
    };
    let Some(point) = grid.beyond.get(place) else { return };
    let what = "shortest first, purge and abort, 300 %, 5 s: useful throughput";
    let bar = Bar::Between(2.71, 2.73);
    section.row(Row::new(what, "", point.useful(), Unit::Percent).bar(bar));
    let work = point.ours(|results| Some(results.useful_work_percent / 100.0));
    let what = "shortest first, purge and abort, 300 %, 5 s: useful work";
    section.row(Row::new(what, "", work, Unit::Percent).bar(Bar::AtLeast(0.98)));
}
