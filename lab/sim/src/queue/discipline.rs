//! The orders of service by name: the policies of `weir-sched`, and exact processor sharing. What
//! `weir-lab sim queue` and `transient` take.

use std::fmt;
use std::str::FromStr;

use weir_sched::PolicyKind;

/// An order of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Exact processor sharing, `ps`.
    Sharing,
    /// A policy of the server.
    Policy(PolicyKind),
}

impl Discipline {
    /// All of them, the reference first.
    pub fn all() -> impl Iterator<Item = Discipline> {
        std::iter::once(Discipline::Sharing)
            .chain(PolicyKind::ALL.iter().copied().map(Discipline::Policy))
    }

    /// The name that is typed.
    pub fn name(self) -> &'static str {
        match self {
            Discipline::Sharing => "ps",
            Discipline::Policy(policy) => policy.name(),
        }
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Discipline {
    type Err = UnknownDiscipline;

    fn from_str(name: &str) -> Result<Self, UnknownDiscipline> {
        if name == Discipline::Sharing.name() {
            return Ok(Discipline::Sharing);
        }
        // Variants of policies too, which are not in the list of all.
        name.parse().map(Discipline::Policy).map_err(|_| UnknownDiscipline(name.to_owned()))
    }
}

/// A name that is neither a policy's nor `ps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownDiscipline(String);

impl fmt::Display for UnknownDiscipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Discipline::all().map(Discipline::name).collect();
        write!(f, "no policy is called \"{}\"; there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownDiscipline {}
