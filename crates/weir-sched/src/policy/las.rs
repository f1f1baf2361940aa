//! Least attained service: what has been sent least goes first, so no length is needed. For
//! comparison, and for content whose length nobody knows.

use super::ranked::{Facts, Ranked, Rule};
use super::{Choice, Descriptor, Needs, PolicyKind};

/// See the module.
pub const LAS: PolicyKind = PolicyKind::new(&Descriptor {
    name: "las",
    help: "the least sent so far first; needs no length",
    needs: Needs { choice: Choice::Grant, ..Needs::SIZES },
    build: |_| Box::new(Ranked::new(Las)),
});

#[derive(Debug)]
struct Las;

impl Rule for Las {
    type Key = u64;

    fn key(&self, job: &Facts) -> u64 {
        job.attained
    }
}
