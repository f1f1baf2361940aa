//! The handshakes of a run: how many, of which kind, and how long they took. The engine counts them for
//! its report.

use crate::error::Error;
use crate::times::Times;

/// The handshakes of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handshakes {
    /// Those that authenticated the server by its certificate.
    pub full: HandshakeTimes,
    /// Those that resumed an earlier session.
    pub resumed: HandshakeTimes,
    /// Those that came to nothing.
    pub failed: u64,
    /// Why the first of these did.
    pub failure: Option<String>,
}

/// Handshakes of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HandshakeTimes {
    /// How many.
    pub count: u64,
    /// From the connection's being made to the arrival of the server's last message, without the
    /// client's work on that: 50th, 99th and 99.9th percentile and the most, in seconds.
    pub seconds: [f64; 4],
}

/// Counts the handshakes of a run.
pub(crate) struct HandshakeCounts {
    full: Times,
    resumed: Times,
    failed: u64,
    failure: Option<String>,
}

impl HandshakeCounts {
    pub(crate) fn new() -> Result<HandshakeCounts, Error> {
        let (full, resumed) = (Times::new()?, Times::new()?);
        Ok(HandshakeCounts { full, resumed, failed: 0, failure: None })
    }

    /// One is complete.
    pub(crate) fn add(&mut self, resumed: bool, seconds: f64) {
        if resumed { self.resumed.add(seconds) } else { self.full.add(seconds) }
    }

    /// One has failed.
    pub(crate) fn failed(&mut self, why: impl FnOnce() -> String) {
        self.failed += 1;
        self.failure.get_or_insert_with(why);
    }

    /// All so far.
    pub(crate) fn report(&self) -> Handshakes {
        let times =
            |times: &Times| HandshakeTimes { count: times.count(), seconds: times.percentiles() };
        Handshakes {
            full: times(&self.full),
            resumed: times(&self.resumed),
            failed: self.failed,
            failure: self.failure.clone(),
        }
    }
}
