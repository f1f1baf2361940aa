//! SWIFT with other choices where the paper leaves one, so that their effect can be shown. For the
//! simulator and the lab, which find them by name; the server does not offer them.

use super::levels::{SwiftBasis, SwiftChoices, SwiftRounding, swift_band};
use super::{NEEDS, Swift};
use crate::policy::ranked::{Facts, Ranked, Rule};
use crate::policy::{Descriptor, PolicyKind};

/// All of them.
pub(in crate::policy) const VARIANTS: &[PolicyKind] = &[
    PolicyKind::new(&Descriptor {
        name: "swift/initial",
        help: "SWIFT by the size that a response had on its arrival",
        needs: NEEDS,
        build: |_| Box::new(by(SwiftChoices { basis: SwiftBasis::Initial, ..SwiftChoices::PAPER })),
    }),
    PolicyKind::new(&Descriptor {
        name: "swift/round-down",
        help: "SWIFT with the weighted sum rounded to the higher priority",
        needs: NEEDS,
        build: |_| Box::new(by(SwiftChoices { rounding: SwiftRounding::Down, ..SwiftChoices::PAPER })),
    }),
    PolicyKind::new(&Descriptor {
        name: "swift/round-up",
        help: "SWIFT with the weighted sum rounded to the lower priority",
        needs: NEEDS,
        build: |_| Box::new(by(SwiftChoices { rounding: SwiftRounding::Up, ..SwiftChoices::PAPER })),
    }),
    PolicyKind::new(&Descriptor {
        name: "swift/15-cuts",
        help: "SWIFT with 16 classes of which the first two share priority 1",
        needs: NEEDS,
        build: |_| Box::new(by(SwiftChoices { cuts: 15, ..SwiftChoices::PAPER })),
    }),
    PolicyKind::new(&Descriptor {
        name: "swift/zero",
        help: "SWIFT with 16 classes, the first of which has the priority of SYN-ACKs",
        needs: NEEDS,
        build: |_| Box::new(by(SwiftChoices { cuts: 15, highest: 0, ..SwiftChoices::PAPER })),
    }),
    PolicyKind::new(&Descriptor {
        name: "swift/8-bands",
        help: "SWIFT with its priorities merged into 8",
        needs: NEEDS,
        build: |_| Box::new(merged_into(8)),
    }),
    PolicyKind::new(&Descriptor {
        name: "swift/7-bands",
        help: "SWIFT with its priorities merged into 7",
        needs: NEEDS,
        build: |_| Box::new(merged_into(7)),
    }),
];

fn by(choices: SwiftChoices) -> Ranked<Swift> {
    Ranked::new(Swift::new(choices))
}

fn merged_into(bands: u8) -> Ranked<Merged> {
    Ranked::new(Merged { rule: Swift::new(SwiftChoices::PAPER), bands })
}

/// Priorities merged into fewer bands, which is what a kernel has.
#[derive(Debug)]
struct Merged {
    rule: Swift,
    bands: u8,
}

impl Rule for Merged {
    type Key = u8;

    fn arrives(&mut self, size: u64) {
        self.rule.arrives(size);
    }

    fn key(&self, job: &Facts) -> u8 {
        swift_band(self.rule.key(job), self.bands)
    }
}
