//! Policies by name: what the configuration, the simulator and the plots choose from. Each policy
//! describes itself in its own file; `mod.rs` lists them.

use std::fmt;
use std::str::FromStr;

use super::{ALL, ORDERS, PROTECTIVE, Policy, VARIANTS};
use weir_units::BitRate;

/// What is known of a policy before it is built.
#[derive(Clone, Copy)]
pub struct Descriptor {
    /// The name in configuration, metrics and on plots.
    pub name: &'static str,
    /// Which response goes first, in a line.
    pub help: &'static str,
    /// What it needs to be told and how it is to be asked.
    pub needs: Needs,
    /// A policy with no jobs, for a link of such a rate.
    pub build: fn(BitRate) -> Box<dyn Policy>,
}

/// What a policy needs; the default suits a rule that looks at sizes alone.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Ranges of one object that a client asks at the same time count as one job. The strict
    /// baselines ignore who asks.
    pub joined_ranges: bool,
    /// It looks at the virtual fair server. The gate runs one in any case, for its ledger; the
    /// simulator without a gate runs one for those who need it.
    pub fair_server: bool,
    /// Sizes mean something to it beyond their order: it is told bytes, not other units of work.
    pub bytes: bool,
    /// It looks at paths while a response is sent, not only at its arrival: then it is told of every
    /// reading of window and window credit. The server sends its gate one message more for each.
    pub path_updates: bool,
    /// How long its choice holds while nobody arrives, leaves or changes.
    pub choice: Choice,
}

impl Needs {
    /// Sizes of jobs, ranges joined.
    pub const SIZES: Needs = Needs {
        joined_ranges: true,
        fair_server: false,
        bytes: false,
        path_updates: false,
        choice: Choice::WhileServed,
    };
}

/// How long the choice of a policy holds while nobody arrives, leaves or changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Until the chosen job is done: service makes it no worse.
    WhileServed,
    /// For one grant.
    Grant,
    /// For as many bytes as it is asked for: it chooses for a grant of any size.
    Foreseen,
}

/// A policy by name.
#[derive(Clone, Copy)]
pub struct PolicyKind(&'static Descriptor);

impl PolicyKind {
    /// All that weir has, in the order of the documentation.
    pub const ALL: &'static [PolicyKind] = ALL;

    /// Those that only the simulator and the lab offer, to show what a choice in one of `ALL` does.
    pub const VARIANTS: &'static [PolicyKind] = VARIANTS;

    /// `protective` over other orders than least remaining size. A server chooses one by its
    /// `protective_order`.
    pub const ORDERS: &'static [PolicyKind] = ORDERS;

    /// All that have a name: `ALL`, `ORDERS` and `VARIANTS`.
    pub fn every() -> impl Iterator<Item = PolicyKind> {
        ALL.iter().chain(ORDERS).chain(VARIANTS).copied()
    }

    /// The policy that `descriptor` describes, which need not be one of weir's own.
    pub const fn new(descriptor: &'static Descriptor) -> PolicyKind {
        PolicyKind(descriptor)
    }

    /// The name in configuration and metrics.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Which response goes first, in a line.
    pub fn help(self) -> &'static str {
        self.0.help
    }

    /// What it needs to be told and how it is to be asked.
    pub fn needs(self) -> Needs {
        self.0.needs
    }

    /// A policy with no jobs, for a link of `rate`.
    pub fn build(self, rate: BitRate) -> Box<dyn Policy> {
        (self.0.build)(rate)
    }

    /// Where it stands in [`PolicyKind::ALL`]; those of others come after them.
    pub fn place(self) -> usize {
        ALL.iter().position(|kind| *kind == self).unwrap_or(ALL.len())
    }

    /// All names, with commas between.
    pub fn names() -> String {
        let names: Vec<&str> = ALL.iter().map(|kind| kind.name()).collect();
        names.join(", ")
    }
}

impl Default for PolicyKind {
    fn default() -> PolicyKind {
        PROTECTIVE
    }
}

/// Names tell policies apart.
impl PartialEq for PolicyKind {
    fn eq(&self, other: &PolicyKind) -> bool {
        self.name() == other.name()
    }
}

impl Eq for PolicyKind {}

impl fmt::Debug for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Of [`PolicyKind::every`] one.
impl FromStr for PolicyKind {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        let found = PolicyKind::every().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownPolicy(name.to_owned()))
    }
}

/// A name that is no policy's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPolicy(String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no policy is called \"{}\"; there are {}", self.0, PolicyKind::names())
    }
}

impl std::error::Error for UnknownPolicy {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_differ() {
        for (place, kind) in ALL.iter().enumerate() {
            assert_eq!(kind.name().parse(), Ok(*kind));
            assert_eq!(kind.place(), place);
            assert!(!kind.help().is_empty() && !kind.help().ends_with('.'));
        }
        for kind in ORDERS.iter().chain(VARIANTS) {
            assert_eq!(kind.name().parse(), Ok(*kind));
            assert!(kind.name().contains('/') && !ALL.contains(kind));
        }
        let error = "best".parse::<PolicyKind>().unwrap_err().to_string();
        assert!(error.contains("\"best\"") && error.contains(&PolicyKind::names()), "{error}");
    }
}
