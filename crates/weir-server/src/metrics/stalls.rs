//! Turns of a worker that took too long, by what they were spent on. Counted by the workers, which
//! time their turns.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::size_classes::Label;

/// What a turn was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Opening a name, or asking for its metadata.
    Open,
    /// Reading what should have been in memory.
    Read,
    /// Sending straight from a file that should have been in memory.
    SendFile,
    /// None of these: computing, or not having the processor.
    Other,
}

const CAUSES: [(Cause, &str); 4] = [
    (Cause::Open, "open"),
    (Cause::Read, "read"),
    (Cause::SendFile, "sendfile"),
    (Cause::Other, "other"),
];

/// How many there were.
#[derive(Debug)]
pub(crate) struct Stalls(Vec<Counter>);

impl Stalls {
    pub(super) fn register(registry: &mut Registry) -> Stalls {
        let stalls = Family::<Label, Counter>::default();
        let help = "Turns of a worker that took more than 10 ms, by what they were spent on";
        registry.register("stalled_turns", help, stalls.clone());
        let of = |(_, label)| stalls.get_or_create(&[("cause", label)]).clone();
        Stalls(CAUSES.into_iter().map(of).collect())
    }

    pub(crate) fn count(&self, cause: Cause) {
        if let Some(place) = CAUSES.iter().position(|(known, _)| *known == cause) {
            self.0[place].inc();
        }
    }
}
