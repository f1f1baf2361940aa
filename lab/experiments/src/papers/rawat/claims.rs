//! What Rawat & Kshemkalyani say of their figures, sentence by sentence, as rows of the simulated
//! experiment.

use weir_sched::policy::{FAIR, SRPT, SWIFT};

use super::played::{Times, Trials, over_seeds};
use super::scene::{LOADS, ROUND_TRIPS_MS, Scene};
use crate::findings::{Bar, Ours, Row, Section, Unit};

/// What small requests may lose and not be "adversely affected by much": the paper has no number.
const NOT_MUCH: f64 = 1.05;

/// By how much less of its response time a mean is than another.
pub(super) fn gain(swift: f64, srpt: f64) -> f64 {
    1.0 - swift / srpt
}

/// The gain of large responses.
fn of_large(swift: &Times, srpt: &Times) -> f64 {
    gain(swift.large.seconds(), srpt.large.seconds())
}

/// All rows, for those loads and round trips that the scenes have.
pub(super) fn rows(trials: &Trials, scenes: &[Scene], section: &mut Section) {
    section.text(
        "A gain is the share of SRPT's mean response time that SWIFT saves the monitored requests. \
         Large are responses of 500 KB or more. A row of a load takes both sites and all round trips \
         together; all policies have the same requests, seed by seed.",
    );
    let claims = Claims { trials, scenes };
    let has = |load: f64| scenes.iter().any(|scene| scene.load == load);
    let loads: Vec<f64> = LOADS.into_iter().filter(|load| has(*load)).collect();
    for &load in &loads {
        section.row(claims.large(load));
    }
    for &load in &loads {
        section.row(claims.tenth(load));
    }
    section.row(claims.less_at_high_load());
    for &load in &loads {
        section.row(claims.share(load));
    }
    for load in loads.iter().copied().filter(|load| *load < 0.85) {
        section.row(claims.share_with_distance(load));
    }
    for load in loads.iter().copied().filter(|load| *load < 0.75) {
        section.row(claims.large_with_distance(load));
    }
    section.row(claims.all_above(0.5, 40.0, "all job sizes greater than the bottom 40 percentile"));
    section.row(claims.all_above(0.9, 20.0, "all job sizes greater than the bottom 20 percentile"));
    for &load in &loads {
        section.row(claims.small(load));
    }
    for &load in &loads {
        section.row(claims.against_stock(load));
    }
}

struct Claims<'a> {
    trials: &'a Trials,
    scenes: &'a [Scene],
}

impl Claims<'_> {
    /// A figure of SWIFT and SRPT at a load.
    fn at(&self, load: f64, figure: impl Fn(&Times, &Times) -> f64) -> Ours {
        let of = |scene: &Scene| self.scenes.contains(scene) && scene.load == load;
        self.trials.paired((SWIFT, SRPT), of, figure)
    }

    /// By how much a figure of SWIFT and SRPT is more in the one kind of scenes than in the other.
    fn more(
        &self,
        one: impl Fn(&Scene) -> bool,
        other: impl Fn(&Scene) -> bool,
        figure: impl Fn(&Times, &Times) -> f64,
    ) -> Ours {
        let of = |of: &dyn Fn(&Scene) -> bool| -> Vec<f64> {
            let pooled = |policy| {
                self.trials.pooled(policy, |scene| self.scenes.contains(scene) && of(scene))
            };
            let (swift, srpt) = (pooled(SWIFT), pooled(SRPT));
            swift.iter().zip(&srpt).map(|(swift, srpt)| figure(swift, srpt)).collect()
        };
        over_seeds(of(&one).iter().zip(of(&other)).map(|(one, other)| one - other))
    }

    fn large(&self, load: f64) -> Row {
        let what = format!("load {load}: large responses, gain of SWIFT");
        Row::new(what, "2.5 to 10 %", self.at(load, of_large), Unit::Percent)
            .paper_says(Bar::Between(0.025, 0.1))
    }

    fn tenth(&self, load: f64) -> Row {
        let figure = |swift: &Times, srpt: &Times| {
            gain(swift.between(90.0, 100.0).seconds(), srpt.between(90.0, 100.0).seconds())
        };
        let what = format!("load {load}: largest tenth, gain of SWIFT");
        Row::new(what, "", self.at(load, figure), Unit::Percent)
    }

    fn less_at_high_load(&self) -> Row {
        let less = self.more(|scene| scene.load == 0.5, |scene| scene.load == 0.9, of_large);
        let what = "large responses, gain at load 0.5 less that at 0.9, points";
        Row::new(what, "lower under high load", less, Unit::Percent).paper_says(Bar::Above(0.0))
    }

    fn share(&self, load: f64) -> Row {
        let figure = |swift: &Times, srpt: &Times| swift.share_that_gains(srpt, 0.0);
        let what = format!("load {load}: sizes that gain, share of the requests");
        Row::new(what, "nearly 40 to 80 %", self.at(load, figure), Unit::Percent)
            .paper_says(Bar::Between(0.4, 0.8))
    }

    fn share_with_distance(&self, load: f64) -> Row {
        let (near, far) = (ROUND_TRIPS_MS[0], ROUND_TRIPS_MS[3]);
        let at = |trip: u32| move |scene: &Scene| scene.load == load && scene.round_trip_ms == trip;
        let figure = |swift: &Times, srpt: &Times| swift.share_that_gains(srpt, 0.0);
        let what =
            format!("load {load}: sizes that gain at {far} ms less those at {near} ms, points");
        let more = self.more(at(far), at(near), figure);
        Row::new(what, "larger with distance", more, Unit::Percent).paper_says(Bar::Above(0.0))
    }

    fn large_with_distance(&self, load: f64) -> Row {
        let (near, far) = (ROUND_TRIPS_MS[0], ROUND_TRIPS_MS[3]);
        let at = |trip: u32| move |scene: &Scene| scene.load == load && scene.round_trip_ms == trip;
        let what = format!(
            "load {load}: large responses, gain at {far} ms less that at {near} ms, points"
        );
        let more = self.more(at(far), at(near), of_large);
        Row::new(what, "increases with round trip", more, Unit::Percent).paper_says(Bar::Above(0.0))
    }

    fn all_above(&self, load: f64, above: f64, paper: &str) -> Row {
        let ours = self.at(load, |swift, srpt| swift.share_that_gains(srpt, above));
        let what =
            format!("load {load}: of the sizes above the {above}th percentile, those that gain");
        Row::new(what, paper, ours, Unit::Percent).paper_says(Bar::AtLeast(1.0))
    }

    fn small(&self, load: f64) -> Row {
        let ours = self.at(load, |swift, srpt| {
            swift.between(0.0, 40.0).seconds() / srpt.between(0.0, 40.0).seconds()
        });
        let what = format!("load {load}: smallest 40 %, SWIFT ÷ SRPT, means");
        Row::new(what, "not adversely affected by much", ours, Unit::Times)
            .paper_says(Bar::AtMost(NOT_MUCH))
            .note("the paper has no number; 5 % is tolerated")
    }

    fn against_stock(&self, load: f64) -> Row {
        let of = |scene: &Scene| self.scenes.contains(scene) && scene.load == load;
        let ours = self.trials.paired((SWIFT, FAIR), of, |swift, fair| {
            swift.largest.seconds() / fair.largest.seconds()
        });
        let what = format!("load {load}: responses of 1 MB or more, SWIFT ÷ fair sharing, means");
        Row::new(what, "goes up", ours, Unit::Times).paper_says(Bar::Above(1.0))
    }
}
