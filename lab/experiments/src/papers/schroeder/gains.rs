//! Schroeder 2003, rows that many sections have: how much better shortest first is than FAIR, what the
//! largest pay for it, figures of one system, and the worst or best over a range.

use super::conditions::Conditions;
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, BANDS, SRPT};
use crate::experiment::{Evidence, Measure, mean};
use crate::findings::{Bar, Claim, Ours, Row, Section, Unit, label};

/// The systems that go by size, the paper's first.
pub(super) const ORDERS: [&str; 2] = [BANDS, SRPT];

/// What the paper says, in its words and as numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said {
    pub(super) words: &'static str,
    pub(super) claim: Option<Claim>,
}

/// A figure.
pub(super) const fn is(words: &'static str, value: f64) -> Said {
    Said { words, claim: Some(Claim::Is(value)) }
}

/// A limit or a range.
pub(super) const fn says(words: &'static str, limit: Bar) -> Said {
    Said { words, claim: Some(Claim::Holds(limit)) }
}

/// Words without a number.
pub(super) const fn words(words: &'static str) -> Said {
    Said { words, claim: None }
}

/// A figure of a run that the paper gives for FAIR, for SRPT or for both.
#[derive(Clone, Copy)]
pub(super) struct Figure {
    word: &'static str,
    fair: Option<Said>,
    srpt: Option<Said>,
    figure: Measure,
    unit: Unit,
}

impl Figure {
    /// A figure of which the paper says nothing.
    pub(super) const fn of(word: &'static str, unit: Unit, figure: Measure) -> Figure {
        Figure { word, fair: None, srpt: None, figure, unit }
    }

    /// With what the paper gives for FAIR.
    pub(super) const fn fair(self, said: Said) -> Figure {
        Figure { fair: Some(said), ..self }
    }

    /// With what the paper gives for SRPT.
    pub(super) const fn srpt(self, said: Said) -> Figure {
        Figure { srpt: Some(said), ..self }
    }
}

/// The mean response time of Apache over that of the systems that go by size.
pub(super) fn gain(
    evidence: &Evidence<'_>,
    section: &mut Section,
    case: &Case,
    (word, said): (&str, Said),
) {
    for order in ORDERS {
        let ours = evidence.runs.ratio(&case.cell(APACHE), &case.cell(order), mean);
        let what = format!("Apache prefork ÷ {}, {word}", label(order));
        say(section, what, said, ours, Unit::Times);
    }
}

/// The same over a range of cases: the one in which it is least.
pub(super) fn least_gain(
    evidence: &Evidence<'_>,
    section: &mut Section,
    cases: &[(String, Case)],
    (word, said): (&str, Said),
) {
    for order in ORDERS {
        let what = format!("Apache prefork ÷ {}, {word}", label(order));
        let of = |case: &Case| evidence.runs.ratio(&case.cell(APACHE), &case.cell(order), mean);
        Extreme::Least.say(section, (what, said, Unit::Times), cases, of);
    }
}

/// A figure of the systems that go by size over Apache's.
pub(super) fn price(
    evidence: &Evidence<'_>,
    section: &mut Section,
    case: &Case,
    (word, said): (&str, Said),
    figure: Measure,
) {
    for order in ORDERS {
        let ours = evidence.runs.ratio(&case.cell(order), &case.cell(APACHE), figure);
        let what = format!("{} ÷ Apache prefork, {word}", label(order));
        say(section, what, said, ours, Unit::Times);
    }
}

/// A figure of Apache, and of the systems that go by size.
pub(super) fn each(evidence: &Evidence<'_>, section: &mut Section, case: &Case, of: &Figure) {
    for (system, said) in [(APACHE, of.fair), (BANDS, of.srpt), (SRPT, of.srpt)] {
        let Some(said) = said else { continue };
        let ours = evidence.runs.value(&case.cell(system), of.figure);
        say(section, format!("{}, {}", label(system), of.word), said, ours, of.unit);
    }
}

/// A system in a case over itself in another.
pub(super) fn change(
    evidence: &Evidence<'_>,
    section: &mut Section,
    (system, above, below): (&str, &Case, &Case),
    (word, said): (&str, Said),
) {
    let ours = evidence.runs.ratio(&above.cell(system), &below.cell(system), mean);
    say(section, format!("{}, {word}, means", label(system)), said, ours, Unit::Times);
}

/// The same for FAIR and for the systems that go by size.
pub(super) fn changes(
    evidence: &Evidence<'_>,
    section: &mut Section,
    (above, below): (&Case, &Case),
    (word, fair, srpt): (&str, Said, Said),
) {
    for (system, said) in [(APACHE, fair), (BANDS, srpt), (SRPT, srpt)] {
        change(evidence, section, (system, above, below), (word, said));
    }
}

/// A row in the paper's conditions.
pub(super) fn say(section: &mut Section, what: String, said: Said, ours: Ours, unit: Unit) {
    let row = Row { claim: said.claim, ..Row::new(what, said.words, ours, unit) };
    Conditions::Paper.row(section, row);
}

/// Which of several cases counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extreme {
    Least,
    Most,
}

impl Extreme {
    /// The row of a figure that several cases have.
    pub(super) fn say(
        self,
        section: &mut Section,
        (what, said, unit): (String, Said, Unit),
        cases: &[(String, Case)],
        figure: impl Fn(&Case) -> Ours,
    ) {
        let each = cases.iter().map(|(name, case)| (name.clone(), figure(case)));
        let (ours, note) = self.of(each.collect());
        let row = Row { claim: said.claim, ..Row::new(what, said.words, ours, unit) };
        Conditions::Paper.row(section, row.note(note));
    }

    /// The least or the most of named figures, and which it is. With one missing there is none: it
    /// might be that.
    pub(super) fn of(self, each: Vec<(String, Ours)>) -> (Ours, String) {
        let left_out = each.iter().map(|(_, ours)| ours.left_out).sum();
        let missing = each.iter().filter(|(_, ours)| ours.middle().is_none());
        let missing: Vec<&str> = missing.map(|(name, _)| name.as_str()).collect();
        let count = each.len();
        let nothing = Ours { left_out, ..Ours::none() };
        if missing.len() == count {
            return (nothing, String::new());
        }
        if !missing.is_empty() {
            return (nothing, format!("no run that counts on {}", missing.join(", ")));
        }
        let known = each.into_iter().filter_map(|(name, ours)| Some((ours.middle()?, name, ours)));
        let found = match self {
            Extreme::Least => known.min_by(|one, other| one.0.total_cmp(&other.0)),
            Extreme::Most => known.max_by(|one, other| one.0.total_cmp(&other.0)),
        };
        let word = if self == Extreme::Least { "least" } else { "most" };
        found.map_or((nothing, String::new()), |(_, name, ours)| {
            (Ours { left_out, ..ours }, format!("{word} of {count}, on {name}"))
        })
    }
}
