//! The end of each experiment: what the paper found, what we found, the bar if there is one, and what
//! to make of it in words. Experiments write rows, reports print them.

use serde::Serialize;

use super::bar::{Bar, Claim};
use super::ours::{Interval, Ours};
use super::unit::Unit;

/// One line of an experiment's end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What is compared.
    pub what: String,
    /// The paper's figure, as it says it; empty if it has none.
    pub paper: String,
    /// The same as numbers.
    pub claim: Option<Claim>,
    /// Ours.
    pub ours: Ours,
    /// Its unit.
    pub unit: Unit,
    /// What it should come to.
    pub bar: Option<Bar>,
    /// Whether the bar is missed where too many requests got no whole response, whatever the figure is.
    pub whole: bool,
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
    /// There is no bar, and the figure is as the paper says.
    Agrees,
    /// There is no bar, and it is not.
    Differs,
    /// There is neither; the figure is reported.
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
            claim: None,
            ours,
            unit,
            bar: None,
            whole: false,
            note: String::new(),
            not_comparable: false,
        }
    }

    /// With the paper's figure as a number.
    pub(crate) fn paper_is(self, value: f64) -> Row {
        Row { claim: Some(Claim::Is(value)), ..self }
    }

    /// With the paper's limit or range.
    pub(crate) fn paper_says(self, limit: Bar) -> Row {
        Row { claim: Some(Claim::Holds(limit)), ..self }
    }

    /// With a bar.
    pub(crate) fn bar(mut self, bar: Bar) -> Row {
        self.bar = Some(bar);
        self
    }

    /// With a bar that is missed if more than 1 % of the requests behind the figure got no whole response.
    pub(crate) fn whole(self) -> Row {
        Row { whole: true, ..self }
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
        match (self.ours.middle(), self.bar, self.claim) {
            _ if self.not_comparable => Verdict::NotComparable,
            (None, ..) => Verdict::Nothing,
            (Some(ours), Some(bar), _) if self.reaches(bar, ours) => Verdict::Reached,
            (Some(_), Some(_), _) => Verdict::Missed,
            (Some(ours), None, Some(claim)) if claim.holds(ours) => Verdict::Agrees,
            (Some(_), None, Some(_)) => Verdict::Differs,
            (Some(_), None, None) => Verdict::Reported,
        }
    }

    /// The verdict in words. They say by how many seeds it was judged, how many were left out, and
    /// which share of the requests is in no response time.
    pub fn words(&self) -> String {
        let mut words = match self.ours.interval {
            _ if self.not_comparable => "not comparable".to_owned(),
            Some(ours) => self.judged(&ours) + &seeds(&ours),
            None if self.ours.left_out > 0 => "no valid run".to_owned(),
            None => "not run".to_owned(),
        };
        match self.ours.left_out {
            0 => {}
            1 => words.push_str("; 1 void seed left out"),
            some => words.push_str(&format!("; {some} void seeds left out")),
        }
        let times = matches!(self.unit, Unit::Ms | Unit::Seconds | Unit::Times);
        let found = self.ours.interval.is_some();
        if times && found && self.ours.incomplete > UNMENTIONED {
            let share = self.ours.incomplete * 100.0;
            words.push_str(&format!(
                "; up to {share:.1} % of a run's requests got no whole response and are in no \
                 response time"
            ));
        }
        if !self.note.is_empty() {
            words.push_str(": ");
            words.push_str(&self.note);
        }
        words
    }

    fn lacks_responses(&self) -> bool {
        self.whole && self.ours.incomplete > MOST_INCOMPLETE
    }

    fn reaches(&self, bar: Bar, value: f64) -> bool {
        bar.reached(value) && !self.lacks_responses()
    }

    /// A figure against its bar and beside the paper's.
    fn judged(&self, ours: &Interval) -> String {
        let value = ours.middle;
        let bar = self.bar.map(|bar| {
            let words = match bar.reached(value) {
                true if self.lacks_responses() => {
                    let share = self.ours.incomplete * 100.0;
                    format!(
                        "missed, since up to {share:.1} % of the requests got no whole response"
                    )
                }
                true => "reached".to_owned(),
                false => format!("missed by {}", bar.missed_by(value, self.unit)),
            };
            words + unsure(ours, |end| self.reaches(bar, end))
        });
        let claim = self
            .claim
            .map(|claim| claim.words(value, self.unit) + unsure(ours, |end| claim.holds(end)));
        let both: Vec<String> = bar.into_iter().chain(claim).collect();
        if both.is_empty() { "reported".to_owned() } else { both.join("; ") }
    }

    /// The commits of the weir that was measured.
    pub fn commits(&self) -> String {
        let commits: Vec<&str> = self.ours.commits.iter().map(String::as_str).collect();
        commits.join(", ")
    }
}

/// The share of requests without a whole response above which a figure of the others reaches no bar.
const MOST_INCOMPLETE: f64 = 0.01;
/// A share of requests without a whole response that is not worth a word.
const UNMENTIONED: f64 = 0.001;

/// Of a judgement with two limits, both ends may fail while the middle does not.
fn unsure(ours: &Interval, holds: impl Fn(f64) -> bool) -> &'static str {
    let as_middle = |end| holds(end) == holds(ours.middle);
    let sure = as_middle(ours.low) && as_middle(ours.high);
    if sure { "" } else { ", though the interval has both" }
}

/// How many seeds there were.
fn seeds(ours: &Interval) -> String {
    match ours.count {
        0 => " (computed)".to_owned(),
        1 => " (1 seed)".to_owned(),
        some => format!(" ({some} seeds)"),
    }
}

#[cfg(test)]
mod tests;
