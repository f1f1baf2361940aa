//! First come, first served. The baseline without any sharing; arrival order alone is the key.

use super::ranked::{Facts, Ranked, Rule};
use super::{Descriptor, Needs, PolicyKind};

/// See the module.
pub const FIFO: PolicyKind = PolicyKind::new(&Descriptor {
    name: "fifo",
    help: "first come, first served",
    needs: Needs { joined_ranges: false, ..Needs::SIZES },
    build: |_| Box::new(Ranked::new(Fifo)),
});

#[derive(Debug)]
struct Fifo;

impl Rule for Fifo {
    type Key = ();

    fn key(&self, _: &Facts) {}
}
