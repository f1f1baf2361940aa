//! Remaining size less what the job has waited times a credit (Crovella 1999 section 7): long jobs
//! are not put off for ever. For comparison with that paper.
//!
//! All credits grow alike, so the order between two jobs changes only by service, and the key may
//! be the remaining size plus the credit *not* earned before arrival: no key moves with time.

use super::ranked::{Facts, Ranked, Rule};
use super::{Descriptor, Needs, PolicyKind};
use weir_units::BitRate;

/// See the module.
pub const AGEING: PolicyKind = PolicyKind::new(&Descriptor {
    name: "ageing",
    help: "the least left to send first, less a credit for waiting",
    needs: Needs::SIZES,
    build: |rate| Box::new(Ranked::new(Ageing::on_a_link_of(rate))),
});

#[derive(Debug)]
struct Ageing {
    /// Bytes a second of waiting is worth.
    credit: u64,
}

impl Ageing {
    /// A tenth of the link: a job that needs `s` seconds of the whole link is first after `10 s`.
    fn on_a_link_of(rate: BitRate) -> Ageing {
        Ageing { credit: (rate.bits() / 80).max(1) }
    }
}

impl Rule for Ageing {
    type Key = u128;

    fn key(&self, job: &Facts) -> u128 {
        let unearned = u128::from(self.credit) * u128::from(job.at.as_nanos()) / 1_000_000_000;
        u128::from(job.remaining) + unearned
    }
}
