//! Which band of the kernel a response belongs to: by what it has left, or by SWIFT. A worker has one for
//! all of its connections, since both learn from the sizes of its responses.

use super::by_size::BySize;
use super::by_swift::BySwift;
use super::progress::Progress;
use crate::config::KernelOrder;

/// See the module.
#[derive(Debug)]
pub(super) enum Classes {
    Size(BySize),
    Swift(BySwift),
}

impl Classes {
    pub(super) fn new(order: KernelOrder) -> Classes {
        match order {
            KernelOrder::Size(cutoffs) => Classes::Size(BySize::new(cutoffs)),
            KernelOrder::Swift(_) => Classes::Swift(BySwift::default()),
        }
    }

    /// Whether bands depend on the round trip.
    pub(super) fn need_round_trip(&self) -> bool {
        matches!(self, Classes::Swift(_))
    }

    /// A response of `bytes` is about to be sent.
    pub(super) fn begins(&self, bytes: u64) {
        match self {
            Classes::Size(by_size) => by_size.begins(bytes),
            Classes::Swift(by_swift) => by_swift.begins(bytes),
        }
    }

    /// The SO_PRIORITY of a response that is so far.
    pub(super) fn priority(&self, response: Progress) -> u32 {
        match self {
            Classes::Size(by_size) => by_size.priority(response.left),
            Classes::Swift(by_swift) => by_swift.priority(response),
        }
    }

    /// How many bytes can be sent before the response may belong to another band.
    pub(super) fn to_cutoff(&self, response: Progress) -> u64 {
        match self {
            Classes::Size(by_size) => by_size.to_cutoff(response.left),
            Classes::Swift(by_swift) => by_swift.to_cutoff(response),
        }
    }
}
