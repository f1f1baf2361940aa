//! The keys of the ranked policies, a rule each. A rule sees one job at a time and no link.

use super::ranked::{Facts, Rule};
use crate::pacer::BitRate;
use crate::virtual_fair::Level;

/// First come first served: arrival order alone decides.
#[derive(Debug)]
pub(super) struct Fifo;

impl Rule for Fifo {
    type Key = ();

    fn key(&self, _: &Facts) {}
}

/// Least remaining first. A tie goes to the earlier arrival, so the running job is kept.
#[derive(Debug)]
pub(super) struct Srpt;

impl Rule for Srpt {
    type Key = u64;

    fn key(&self, job: &Facts) -> u64 {
        job.remaining
    }
}

/// Least original size first.
#[derive(Debug)]
pub(super) struct Psjf;

impl Rule for Psjf {
    type Key = u64;

    fn key(&self, job: &Facts) -> u64 {
        job.size
    }
}

/// Least attained service first.
#[derive(Debug)]
pub(super) struct Las;

impl Rule for Las {
    type Key = u64;

    fn key(&self, job: &Facts) -> u64 {
        job.attained
    }
}

/// The order in which virtual processor sharing finishes (Friedman & Henderson 2003).
#[derive(Debug)]
pub(super) struct Fsp;

impl Rule for Fsp {
    type Key = Level;

    const PROMISES: bool = true;

    fn key(&self, job: &Facts) -> Level {
        job.finish
    }
}

/// Schroeder's classes by remaining size (section 2.2), first come first served inside.
#[derive(Debug)]
pub(super) struct Bands;

impl Bands {
    const CUTOFFS: [u64; 4] = [1_000, 2_000, 5_000, 50_000];
}

impl Rule for Bands {
    type Key = usize;

    fn key(&self, job: &Facts) -> usize {
        Bands::CUTOFFS.partition_point(|cutoff| *cutoff <= job.remaining)
    }
}

/// Remaining size less what the job has waited times a credit (Crovella 1999 section 7).
///
/// All credits grow alike, so the order between two jobs changes only by service, and the key may
/// be the remaining size plus the credit *not* earned before arrival: no key moves with time.
#[derive(Debug)]
pub(super) struct Ageing {
    /// Bytes a second of waiting is worth.
    credit: u64,
}

impl Ageing {
    /// A tenth of the link: a job that needs `s` seconds of the whole link is first after `10 s`.
    pub(super) fn on_a_link_of(rate: BitRate) -> Ageing {
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
