//! Shortest remaining processing time (Schrage 1968; Crovella 1999; Schroeder 2003, section 2): the
//! least mean response time. A tie goes to the earlier arrival, so the job that is being served is
//! kept.

use super::ranked::{Facts, Ranked, Rule};
use super::{Descriptor, Needs, PolicyKind};

/// See the module.
pub const SRPT: PolicyKind = PolicyKind::new(&Descriptor {
    name: "srpt",
    help: "the least left to send first",
    needs: Needs { joined_ranges: false, ..Needs::SIZES },
    build: |_| Box::new(Ranked::new(Srpt)),
});

#[derive(Debug)]
pub(super) struct Srpt;

impl Rule for Srpt {
    type Key = u64;

    fn key(&self, job: &Facts) -> u64 {
        job.remaining
    }
}
