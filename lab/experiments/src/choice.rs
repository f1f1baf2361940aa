//! What the user chose: how long experiments run, with how many seeds and which systems. Experiments
//! make their cells from it, and a run keeps it beside its outcomes.

use serde::{Deserialize, Serialize};

/// How long an experiment takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// One seed and about a minute of load: a check that all works, not a result. At most three
    /// minutes with all cells side by side.
    Quick,
    /// About 150 s of load and five seeds.
    Full,
    /// The paper's 30 minutes (Crovella: 10) and one seed.
    Paper,
}

impl Scale {
    /// The word used in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Quick => "quick",
            Scale::Full => "full",
            Scale::Paper => "paper",
        }
    }

    /// Seeds of a run of this scale.
    pub(crate) fn seeds(self) -> u64 {
        match self {
            Scale::Quick | Scale::Paper => 1,
            Scale::Full => 5,
        }
    }
}

/// What the user chose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// How long.
    pub scale: Scale,
    /// Seeds 1 to this; `None` is the scale's own number.
    pub seeds: Option<u64>,
    /// Systems under test instead of the experiment's own.
    pub systems: Option<Vec<String>>,
}

impl Choice {
    /// The scale's own seeds and the experiments' own systems.
    pub fn of(scale: Scale) -> Choice {
        Choice { scale, seeds: None, systems: None }
    }

    /// What this and another run of the same experiments at the same scale cover together.
    pub(crate) fn with(&self, other: &Choice) -> Choice {
        let seeds = |choice: &Choice| choice.seeds.unwrap_or(choice.scale.seeds());
        let systems = self.systems.as_ref().zip(other.systems.as_ref()).map(|(ours, theirs)| {
            let more = theirs.iter().filter(|system| !ours.contains(system));
            ours.iter().chain(more).cloned().collect()
        });
        Choice { scale: self.scale, seeds: Some(seeds(self).max(seeds(other))), systems }
    }

    /// The systems of a comparison: the user's, or `own`.
    pub(crate) fn systems(&self, own: &[&str]) -> Vec<String> {
        match &self.systems {
            Some(chosen) => chosen.clone(),
            None => own.iter().map(|&system| system.to_owned()).collect(),
        }
    }
}
