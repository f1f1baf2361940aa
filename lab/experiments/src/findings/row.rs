//! The end of each experiment: what the paper found, what we found, the bar if there is one, and what
//! to make of it in words. Experiments write rows, reports print them.

use serde::Serialize;
use weir_stats::confidence::{MedianInterval, median_interval};

use super::digits::number;

/// The median of a figure over the seeds, and an interval that holds the true median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Median.
    pub middle: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Seeds.
    pub count: usize,
}

impl Interval {
    /// From one value per seed; those that are not finite are left out. By ranks, since times are
    /// skewed and seeds are few: of five seeds it is from least to most, which holds the true median
    /// with 94 %.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Interval> {
        let finite: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let found = median_interval(&finite)?;
        let MedianInterval { median, low, high, count, .. } = found;
        Some(Interval { middle: median, low, high, count })
    }
}

/// What we found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ours {
    /// Over the seeds whose runs count; `None` without any.
    pub interval: Option<Interval>,
    /// Seeds whose runs do not count.
    pub left_out: usize,
    /// The largest share of requests without a whole response in one of the runs: those who waited
    /// in vain are in no response time.
    pub incomplete: f64,
}

impl Ours {
    /// Nothing, as when nothing was run.
    pub(crate) fn none() -> Ours {
        Ours { interval: None, left_out: 0, incomplete: 0.0 }
    }

    /// The same, judged by the most over the seeds: what must never happen.
    pub(crate) fn worst(self) -> Ours {
        let worst = |interval: Interval| Interval { middle: interval.high, ..interval };
        Ours { interval: self.interval.map(worst), ..self }
    }

    /// The median.
    pub(crate) fn middle(&self) -> Option<f64> {
        self.interval.map(|interval| interval.middle)
    }
}

/// What a figure should come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bar {
    /// At most.
    AtMost(f64),
    /// At least.
    AtLeast(f64),
    /// Better than: above, strictly.
    Above(f64),
    /// Within, ends included.
    Between(f64, f64),
}

impl Bar {
    /// Whether a value reaches it.
    pub fn reached(self, value: f64) -> bool {
        match self {
            Bar::AtMost(limit) => value <= limit,
            Bar::AtLeast(limit) => value >= limit,
            Bar::Above(limit) => value > limit,
            Bar::Between(low, high) => (low..=high).contains(&value),
        }
    }

    /// The limit that a value misses, or the nearest one.
    fn limit(self, value: f64) -> f64 {
        match self {
            Bar::AtMost(limit) | Bar::AtLeast(limit) | Bar::Above(limit) => limit,
            Bar::Between(low, high) if (value - low).abs() < (value - high).abs() => low,
            Bar::Between(_, high) => high,
        }
    }
}

/// How a figure is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A ratio.
    Times,
    /// Milliseconds.
    Ms,
    /// A share, printed in per cent.
    Percent,
    /// A number.
    Count,
}

/// One line of an experiment's end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What is compared.
    pub what: String,
    /// The paper's figure, as it says it; empty if it has none.
    pub paper: String,
    /// The paper's figure as a number, in the row's unit (a share for per cent).
    pub paper_value: Option<f64>,
    /// Ours.
    pub ours: Ours,
    /// Its unit.
    pub unit: Unit,
    /// What it should come to.
    pub bar: Option<Bar>,
    /// Why it is what it is, or why it cannot be compared.
    pub note: String,
    /// The paper's effect does not exist on this kernel; `note` says why.
    pub not_comparable: bool,
}

/// A verdict, apart from its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The bar is reached.
    Reached,
    /// It is not.
    Missed,
    /// There is no bar; the figure is reported.
    Reported,
    /// No run counts.
    Nothing,
    /// It cannot be compared.
    NotComparable,
}

impl Row {
    /// A figure beside the paper's.
    pub(crate) fn new(
        what: impl Into<String>,
        paper: impl Into<String>,
        ours: Ours,
        unit: Unit,
    ) -> Row {
        Row {
            what: what.into(),
            paper: paper.into(),
            paper_value: None,
            ours,
            unit,
            bar: None,
            note: String::new(),
            not_comparable: false,
        }
    }

    /// With the paper's figure as a number.
    pub(crate) fn paper_is(mut self, value: f64) -> Row {
        self.paper_value = Some(value);
        self
    }

    /// With a bar.
    pub(crate) fn bar(mut self, bar: Bar) -> Row {
        self.bar = Some(bar);
        self
    }

    /// With a remark.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Row {
        self.note = note.into();
        self
    }

    /// Not comparable; `reason` says why.
    pub(crate) fn not_comparable(mut self, reason: impl Into<String>) -> Row {
        self.not_comparable = true;
        self.note = reason.into();
        self
    }

    /// What to make of it.
    pub fn verdict(&self) -> Verdict {
        match (self.ours.interval, self.bar) {
            _ if self.not_comparable => Verdict::NotComparable,
            (None, _) => Verdict::Nothing,
            (Some(ours), Some(bar)) if bar.reached(ours.middle) => Verdict::Reached,
            (Some(_), Some(_)) => Verdict::Missed,
            (Some(_), None) => Verdict::Reported,
        }
    }

    /// The verdict in words; it says how many seeds a bar was judged by if they are few, how many
    /// were left out, and which share of the requests is in no response time.
    pub fn words(&self) -> String {
        let mut words = match (self.verdict(), self.ours.interval, self.bar) {
            (Verdict::NotComparable, ..) => "not comparable".to_owned(),
            (_, Some(ours), Some(bar)) => against(bar, &ours),
            (_, Some(ours), None) => self.beside_paper(&ours),
            (_, None, _) if self.ours.left_out > 0 => "no valid run".to_owned(),
            (_, None, _) => "not run".to_owned(),
        };
        match self.ours.left_out {
            0 => {}
            1 => words.push_str("; 1 void seed left out"),
            some => words.push_str(&format!("; {some} void seeds left out")),
        }
        if self.ours.incomplete > UNMENTIONED {
            let share = self.ours.incomplete * 100.0;
            words.push_str(&format!(
                "; up to {share:.1} % of a run's requests got no whole response"
            ));
        }
        if !self.note.is_empty() {
            words.push_str(": ");
            words.push_str(&self.note);
        }
        words
    }

    /// How our figure lies to the paper's, where that is a number.
    fn beside_paper(&self, ours: &Interval) -> String {
        let Some(paper) = self.paper_value.filter(|&value| value != 0.0) else {
            return "reported".to_owned();
        };
        match ours.middle / paper {
            ratio if (0.8..=1.25).contains(&ratio) => "as in the paper".to_owned(),
            ratio => format!("{} × the paper's", number(ratio)),
        }
    }
}

/// Seeds of a full run; a verdict of fewer says so.
const PLANNED: usize = 5;

/// A share of requests without a whole response that is not worth a word.
const UNMENTIONED: f64 = 0.001;

fn against(bar: Bar, ours: &Interval) -> String {
    // Of a bar with two limits, both ends may miss while the middle does not.
    let as_middle = |end| bar.reached(end) == bar.reached(ours.middle);
    let sure = as_middle(ours.low) && as_middle(ours.high);
    let unsure = if sure { "" } else { ", though the interval has both" };
    let seeds = match ours.count {
        1 => " (1 seed)".to_owned(),
        few if few < PLANNED => format!(" ({few} seeds)"),
        _ => String::new(),
    };
    if bar.reached(ours.middle) {
        return format!("reached{seeds}{unsure}");
    }
    let limit = bar.limit(ours.middle);
    let by = match limit == 0.0 {
        true => number(ours.middle),
        false => format!("{:.1} %", ((ours.middle / limit - 1.0) * 100.0).abs()),
    };
    format!("missed by {by}{seeds}{unsure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(values: &[f64]) -> Ours {
        Ours { interval: Interval::of(values.iter().copied()), left_out: 0, incomplete: 0.0 }
    }

    #[test]
    fn an_interval_is_least_to_most_of_five_and_narrower_of_many() {
        let five = Interval::of([5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert_eq!((five.middle, five.low, five.high, five.count), (3.0, 1.0, 5.0, 5));
        let nine = Interval::of((1..=9).map(f64::from)).unwrap();
        assert_eq!((nine.middle, nine.low, nine.high), (5.0, 2.0, 8.0));
        assert_eq!(Interval::of([f64::NAN]), None);
        assert_eq!(Interval::of([1.0, 3.0]).unwrap().middle, 2.0);
    }

    #[test]
    fn a_missed_bar_says_by_how_much() {
        let row = Row::new("a", "", ours(&[9.0]), Unit::Times).bar(Bar::AtLeast(10.0));
        assert_eq!(
            (row.verdict(), row.words().as_str()),
            (Verdict::Missed, "missed by 10.0 % (1 seed)")
        );
        let row = Row::new("a", "", ours(&[9.0, 11.0, 12.0]), Unit::Times).bar(Bar::AtLeast(10.0));
        assert_eq!(row.verdict(), Verdict::Reached);
        assert_eq!(row.words(), "reached (3 seeds), though the interval has both");
        let all = ours(&[11.0, 12.0, 13.0, 14.0, 15.0]);
        let row = Row::new("a", "", all, Unit::Times).bar(Bar::AtLeast(10.0));
        assert_eq!(row.words(), "reached");
        let row = Row::new("a", "", ours(&[0.5]), Unit::Percent).bar(Bar::AtMost(0.0));
        assert_eq!(row.words(), "missed by 0.500 (1 seed)");
    }

    #[test]
    fn strict_and_two_sided_bars() {
        assert!(!Bar::Above(1.9).reached(1.9) && Bar::AtLeast(1.9).reached(1.9));
        let null = Row::new("a", "", ours(&[1.2]), Unit::Times).bar(Bar::Between(0.9, 1.1));
        assert_eq!(null.words(), "missed by 9.1 % (1 seed)");
        assert!(Bar::Between(0.9, 1.1).reached(0.9));
        let wide = Row::new("a", "", ours(&[0.5, 1.0, 1.5]), Unit::Times);
        let words = wide.bar(Bar::Between(0.9, 1.1)).words();
        assert_eq!(words, "reached (3 seeds), though the interval has both");
    }

    #[test]
    fn without_runs_there_is_no_verdict() {
        let row = Row::new("a", "8", Ours::none(), Unit::Times).bar(Bar::AtLeast(1.0));
        assert_eq!((row.verdict(), row.words().as_str()), (Verdict::Nothing, "not run"));
        let void = Ours { left_out: 2, ..Ours::none() };
        let row = Row::new("a", "8", void, Unit::Times).bar(Bar::AtLeast(1.0));
        assert_eq!(row.words(), "no valid run; 2 void seeds left out");
    }

    #[test]
    fn who_waited_in_vain_is_mentioned() {
        let some = Ours { incomplete: 0.026, ..ours(&[8.5]) };
        let words = Row::new("a", "", some, Unit::Times).words();
        assert_eq!(words, "reported; up to 2.6 % of a run's requests got no whole response");
        let few = Ours { incomplete: 0.0009, ..ours(&[8.5]) };
        assert_eq!(Row::new("a", "", few, Unit::Times).words(), "reported");
    }

    #[test]
    fn without_a_bar_the_paper_is_the_measure() {
        let row = Row::new("a", "8", ours(&[8.5]), Unit::Times).paper_is(8.0);
        assert_eq!((row.verdict(), row.words().as_str()), (Verdict::Reported, "as in the paper"));
        let row = Row::new("a", "8", ours(&[16.0]), Unit::Times).paper_is(8.0);
        assert_eq!(row.words(), "2.00 × the paper's");
        let row = row.not_comparable("the kernel waits a second");
        assert_eq!(row.verdict(), Verdict::NotComparable);
        assert_eq!(row.words(), "not comparable: the kernel waits a second");
    }
}
