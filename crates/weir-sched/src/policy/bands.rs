//! Schroeder's size classes by remaining size (2003, section 2.2), first come first served inside.
//! For comparison with that paper, whose prototype had a few priorities in the kernel.

use super::ranked::{Facts, Ranked, Rule};
use super::{Descriptor, Needs, PolicyKind};

/// See the module.
pub const BANDS: PolicyKind = PolicyKind::new(&Descriptor {
    name: "bands",
    help: "classes of what is left (below 1, 2, 5, 50 KB), first come first served inside",
    needs: Needs { bytes: true, ..Needs::SIZES },
    build: |_| Box::new(Ranked::new(Bands)),
});

#[derive(Debug)]
struct Bands;

/// Where classes end, in bytes.
const CUTOFFS: [u64; 4] = [1_000, 2_000, 5_000, 50_000];

impl Rule for Bands {
    type Key = usize;

    fn key(&self, job: &Facts) -> usize {
        CUTOFFS.partition_point(|cutoff| *cutoff <= job.remaining)
    }
}
