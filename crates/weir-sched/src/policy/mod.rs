//! Which of the waiting jobs goes next. A policy knows sizes and service, not flows or links.

mod fair;
mod path;
mod protective;
mod ranked;
mod rules;
mod slack;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::pacer::BitRate;
use crate::time::Time;
use crate::virtual_fair::Level;

/// Where the virtual fair server stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct FairState {
    /// The service that a job present from the beginning would have had.
    pub level: Level,
    /// Bytes that have been granted and that it has not been told of.
    pub behind: u64,
}

/// What is known of the way to a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Time to the client and back; zero: nothing is ever waited for.
    pub round_trip: Duration,
    /// Bytes that may be under way at once (the congestion window), before it opens further.
    pub window: u64,
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
    /// The way to its client.
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

/// The policies by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyKind {
    /// Processor sharing by quantum: what every server does today.
    Fair,
    /// First come first served.
    Fifo,
    /// Shortest remaining processing time (Schrage 1968; Schroeder 2003 section 2).
    Srpt,
    /// Preemptive shortest job first, by original size.
    Psjf,
    /// Least attained service: needs no size.
    Las,
    /// In the order of virtual fair finishing (Friedman & Henderson 2003).
    Fsp,
    /// Least remaining first as long as nobody misses the virtual fair finish.
    #[default]
    Protective,
    /// Schroeder's size classes (section 2.2: 1, 2, 5 and 50 KB), first come first served inside.
    Bands,
    /// Remaining size less a credit for waiting (Crovella 1999 section 7).
    Ageing,
}

impl PolicyKind {
    /// Every policy, in the order of the documentation.
    pub const ALL: [PolicyKind; 9] = [
        PolicyKind::Fair,
        PolicyKind::Fifo,
        PolicyKind::Srpt,
        PolicyKind::Psjf,
        PolicyKind::Las,
        PolicyKind::Fsp,
        PolicyKind::Protective,
        PolicyKind::Bands,
        PolicyKind::Ageing,
    ];

    /// The name in configuration and metrics.
    pub fn name(self) -> &'static str {
        match self {
            PolicyKind::Fair => "fair",
            PolicyKind::Fifo => "fifo",
            PolicyKind::Srpt => "srpt",
            PolicyKind::Psjf => "psjf",
            PolicyKind::Las => "las",
            PolicyKind::Fsp => "fsp",
            PolicyKind::Protective => "protective",
            PolicyKind::Bands => "bands",
            PolicyKind::Ageing => "ageing",
        }
    }

    /// Whether ranges of one object that a client asks at the same time count as one job. The
    /// strict baselines ignore who asks.
    pub fn joins_ranges(self) -> bool {
        !matches!(self, PolicyKind::Srpt | PolicyKind::Psjf | PolicyKind::Fifo)
    }

    /// A policy with no jobs, for a link of `rate`.
    pub fn build(self, rate: BitRate) -> Box<dyn Policy> {
        use ranked::Ranked;
        match self {
            PolicyKind::Fair => Box::new(fair::Fair::on_a_link_of(rate)),
            PolicyKind::Fifo => Box::new(Ranked::new(rules::Fifo)),
            PolicyKind::Srpt => Box::new(Ranked::new(rules::Srpt)),
            PolicyKind::Psjf => Box::new(Ranked::new(rules::Psjf)),
            PolicyKind::Las => Box::new(Ranked::new(rules::Las)),
            PolicyKind::Fsp => Box::new(Ranked::new(rules::Fsp)),
            PolicyKind::Protective => Box::new(protective::Protective::on_a_link_of(rate)),
            PolicyKind::Bands => Box::new(Ranked::new(rules::Bands)),
            PolicyKind::Ageing => Box::new(Ranked::new(rules::Ageing::on_a_link_of(rate))),
        }
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PolicyKind {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        PolicyKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownPolicy(name.to_owned()))
    }
}

/// A name that is no policy's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPolicy(String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = PolicyKind::ALL.map(PolicyKind::name).join(", ");
        write!(f, "no policy is called \"{}\"; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownPolicy {}
