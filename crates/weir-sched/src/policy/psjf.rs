//! Preemptive shortest job first, by original size. The simulator of Carter's server orders requests
//! by it.

use super::ranked::{Facts, Ranked, Rule};
use super::{Descriptor, Needs, PolicyKind};

/// See the module.
pub const PSJF: PolicyKind = PolicyKind::new(&Descriptor {
    name: "psjf",
    help: "the smallest first, by its whole size",
    needs: Needs { joined_ranges: false, ..Needs::SIZES },
    build: |_| Box::new(Ranked::new(Psjf)),
});

#[derive(Debug)]
struct Psjf;

impl Rule for Psjf {
    type Key = u64;

    fn key(&self, job: &Facts) -> u64 {
        job.size
    }
}
