//! The order in which virtual processor sharing finishes (fair sojourn protocol, Friedman &
//! Henderson 2003): nobody is later than under fair sharing. `protective` is compared with it.

use super::ranked::{Facts, Ranked, Rule};
use super::{Descriptor, Needs, PolicyKind};
use crate::virtual_fair::Level;

/// See the module.
pub const FSP: PolicyKind = PolicyKind::new(&Descriptor {
    name: "fsp",
    help: "in the order in which fair sharing would finish",
    needs: Needs { fair_server: true, ..Needs::SIZES },
    build: |_| Box::new(Ranked::new(Fsp)),
});

#[derive(Debug)]
struct Fsp;

impl Rule for Fsp {
    type Key = Level;

    const PROMISES: bool = true;

    fn key(&self, job: &Facts) -> Level {
        job.finish
    }
}
