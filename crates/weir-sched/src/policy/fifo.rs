//! First come first served: arrival order alone decides.

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
