//! Which of the waiting jobs goes next: the policies, each in a file of its own, and what they are
//! told. Used by the gate, and by the simulator without one.

mod descriptor;
mod path;
mod ranked;
mod slack;

use std::fmt;

use crate::time::Time;
use crate::virtual_fair::Level;

pub use descriptor::{Choice, Descriptor, Needs, PolicyKind, UnknownPolicy};
pub use path::Path;
pub use protective::ProtectiveOrder;
pub use ranked::{Facts, Ranked, Rule};
pub use swift::{SizeCutoffs, SwiftBasis, SwiftChoices, SwiftLevels, SwiftRounding, swift_band};

/// Names each policy's file and the descriptor in it.
macro_rules! policies {
    ($($file:ident::$descriptor:ident,)*) => {
        $(mod $file; pub use $file::$descriptor;)*
        const ALL: &[PolicyKind] = &[$($descriptor),*];
    };
}

// A new policy is a file beside this one and a line here; docs/policies.md shows it.
policies! {
    fair::FAIR,
    fifo::FIFO,
    srpt::SRPT,
    psjf::PSJF,
    las::LAS,
    fsp::FSP,
    protective::PROTECTIVE,
    bands::BANDS,
    ageing::AGEING,
    swift::SWIFT,
    srrt::SRRT,
    burst::BURST,
}

// Beside these: what the simulator and the lab find by name.
const ORDERS: &[PolicyKind] = protective::ORDERS;
const VARIANTS: &[PolicyKind] = swift::VARIANTS;

/// Where the virtual fair server stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct FairState {
    /// The service that a job present from the beginning would have had.
    pub level: Level,
    /// Bytes that have been granted and that it has not been told of.
    pub behind: u64,
}

/// What is known of a job when it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Arrival order: ties go to the lower number.
    pub order: u64,
    /// When it arrived.
    pub at: Time,
    /// Bytes to send, at least 1.
    pub size: u64,
    /// Where the virtual fair server stands.
    pub fair: FairState,
    /// Where it will have finished the job.
    pub finish: Level,
    /// The path to its client, as the gate was told last.
    pub path: Path,
}

/// Orders jobs. The gate tells it of arrivals, service and departures and asks which goes next.
///
/// `id` is a small number, the gate's, free for another job once the job has departed *and* has
/// finished in the virtual fair server. A job may be chosen only between `ready` and `blocked`.
pub trait Policy: fmt::Debug + Send {
    /// A job arrives; it cannot be sent yet.
    fn arrive(&mut self, id: u32, job: &Arrival);
    /// A job turns out to be `bytes` longer and now finishes virtually at `finish`.
    fn grow(&mut self, id: u32, bytes: u64, fair: FairState, finish: Level);
    /// The job can be sent now.
    fn ready(&mut self, id: u32);
    /// The job cannot be sent now.
    fn blocked(&mut self, id: u32);
    /// The virtual fair server, at `level`, stops sharing with the job: its client takes no more than
    /// fair sharing would have sent it by now.
    fn pause(&mut self, id: u32, level: Level) {
        let _ = (id, level);
    }
    /// It shares with the job again, and now finishes it at `finish`.
    fn resume(&mut self, id: u32, fair: FairState, finish: Level) {
        let _ = (id, fair, finish);
    }
    /// `bytes` of the job were granted.
    fn served(&mut self, id: u32, bytes: u64);
    /// `bytes` that had been granted were not sent.
    fn returned(&mut self, id: u32, bytes: u64);
    /// `bytes` of the job will never be sent, and it now finishes virtually at `finish`.
    fn shrink(&mut self, id: u32, bytes: u64, fair: FairState, finish: Level);
    /// The gate was told of the path to its client: its round-trip time, window or window credit is
    /// another than before ([`Gate::path_changed`](crate::Gate::path_changed)).
    fn path_changed(&mut self, id: u32, path: Path) {
        let _ = (id, path);
    }
    /// The job has finished or its client has gone.
    fn depart(&mut self, id: u32);
    /// The job has finished in the virtual fair server.
    fn virtually_finished(&mut self, id: u32) {
        let _ = id;
    }
    /// Whether `bytes` of a job may go ahead of their turn without making others late.
    fn can_spare(&mut self, id: u32, fair: FairState, bytes: u64) -> bool {
        let _ = (id, fair, bytes);
        true
    }
    /// The job that goes next, `grant` bytes of it.
    fn pick(&mut self, fair: FairState, grant: u64) -> Option<u32>;
}

/// The example of the guide for those who add a policy compiles and does what it says.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/policies.md")]
struct Guide;
