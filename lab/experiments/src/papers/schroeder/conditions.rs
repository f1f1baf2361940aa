//! Schroeder 2003, the conditions of a comparison: the paper's, with its systems, or today's. Every
//! experiment of the paper runs in both, and its rows say in which, and what is unlike the paper.

use crate::choice::{Choice, Scale};
use crate::experiment::Group;
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, BANDS, SRPT};
use crate::findings::{Row, Section};

/// What the paper compares: its SRPT, bands of the kernel, and its FAIR, Apache; beside them weir's
/// exact order.
pub(super) const PAPER: [&str; 3] = [SRPT, BANDS, APACHE];
/// A quick run needs no queues of the kernel.
const QUICK: [&str; 2] = [SRPT, APACHE];

/// The paper's conditions or today's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conditions {
    /// Table 2, row A: see [`Case::in_the_paper`].
    Paper,
    /// Load in wire bytes, a queue of 1000 packets and the kernel's timeout of a second, unless a
    /// case says otherwise.
    Today,
}

/// Both, the paper's first.
pub(super) const BOTH: [Conditions; 2] = [Conditions::Paper, Conditions::Today];

impl Conditions {
    /// W1, or any case, in these conditions. What a row of Table 2 changes comes after.
    pub(super) fn of(self, case: Case) -> Case {
        match self {
            Conditions::Paper => case.in_the_paper(),
            Conditions::Today => case,
        }
    }

    /// The systems that are compared in them, `today` of today's.
    pub(super) fn systems(self, choice: &Choice, today: &[&str]) -> Vec<String> {
        match (self, choice.scale) {
            (Conditions::Paper, Scale::Quick) => choice.systems(&QUICK),
            (Conditions::Paper, _) => choice.systems(&PAPER),
            (Conditions::Today, _) => choice.systems(today),
        }
    }

    /// What rows and captions end with.
    pub(super) fn named(self, what: impl std::fmt::Display) -> String {
        match self {
            Conditions::Paper => format!("{what}, as the paper ran it"),
            Conditions::Today => format!("{what}, today"),
        }
    }

    /// In what a row is unlike the paper's.
    fn unlike(self, scale: Scale) -> String {
        let unlike = match self {
            Conditions::Paper => "Apache 2.4, Linux 6, other requests",
            Conditions::Today => "load in wire bytes, the kernel's RTO of 1 s",
        };
        let runs = if scale == Scale::Paper { "" } else { ", shorter runs" };
        format!("unlike the paper: {unlike}{runs}")
    }

    /// A row of these conditions. With a figure of the paper, it says what is unlike it.
    pub(super) fn row(self, section: &mut Section, row: Row) {
        let what = self.named(&row.what);
        let note = match (row.paper.is_empty(), row.note.is_empty()) {
            (true, _) => row.note,
            (false, true) => self.unlike(section.scale),
            (false, false) => format!("{}; {}", row.note, self.unlike(section.scale)),
        };
        section.row(Row { what, note, ..row });
    }
}

/// Groups of each case for each system, for a comparison with verdicts.
pub(super) fn groups<'a>(
    cases: impl IntoIterator<Item = &'a Case>,
    systems: &[String],
) -> Vec<Group> {
    cases.into_iter().flat_map(|case| case.groups(systems).collect::<Vec<_>>()).collect()
}

/// What the paper's conditions are, for a section's text.
pub(super) const AS_THE_PAPER: &str = "\"As the paper ran it\": load in bytes of files, queues of 100 \
     packets and an initial retransmission timeout of 3 s together, packets of 1500 bytes, listen \
     queues of 512, no SYN cookies, Apache prefork with 350 processes (Table 2, row A; sections 2.1, \
     3.2 and 3.3.2), and what the row of Table 2 changes. \"Kernel bands\" are the paper's SRPT, cut at \
     1, 2, 5 and 50 KB. Unlike the paper: Apache 2.4 for 1.3, Linux 6 for 2.2, Poisson arrivals with \
     sizes of a law fitted to its trace (or another day of the NASA log), cubic congestion control, \
     and at full scale 150 s of load for half an hour.";
