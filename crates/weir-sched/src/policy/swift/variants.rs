//! SWIFT with other choices where the paper leaves one, so that their effect can be shown. For the
//! simulator and the lab, which find them by name; the server does not offer them.

use super::levels::{SwiftBasis, SwiftChoices, SwiftRounding, swift_band};
use super::{NEEDS, Swift};
use crate::policy::ranked::{Facts, Ranked, Rule};
use crate::policy::{Descriptor, PolicyKind};

/// Makes a policy with these choices, and with as many bands if their number is given.
macro_rules! variant {
    ($name:literal, $help:literal, { $($choice:ident: $value:expr),* } $(, $bands:literal)?) => {
        PolicyKind::new(&Descriptor {
            name: concat!("swift/", $name),
            help: $help,
            needs: NEEDS,
            build: |_| {
                #[allow(clippy::needless_update, reason = "some variants name every choice that there is")]
                let rule = Swift::new(SwiftChoices { $($choice: $value,)* ..SwiftChoices::PAPER });
                $(let rule = Merged { rule, bands: $bands };)?
                Box::new(Ranked::new(rule))
            },
        })
    };
}

/// All of them.
pub(in crate::policy) const VARIANTS: &[PolicyKind] = &[
    variant!("initial", "SWIFT by the size that a response had on its arrival", {
        basis: SwiftBasis::Initial
    }),
    variant!("round-down", "SWIFT with the weighted sum rounded to the higher priority", {
        rounding: SwiftRounding::Down
    }),
    variant!("round-up", "SWIFT with the weighted sum rounded to the lower priority", {
        rounding: SwiftRounding::Up
    }),
    variant!("15-cuts", "SWIFT with 16 classes of which the first two share priority 1", { cuts: 15 }),
    variant!("zero", "SWIFT with 16 classes, the first of which has the priority of SYN-ACKs", {
        cuts: 15,
        highest: 0
    }),
    variant!("8-bands", "SWIFT with its priorities merged into 8", {}, 8),
    variant!("7-bands", "SWIFT with its priorities merged into 7", {}, 7),
];

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
