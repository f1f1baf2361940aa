//! How the gate of a backend is configured: limit, order, bounds of the queue, with the names that
//! the configuration and the command line use. Read by the gate and by whoever sets one up.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Calls of one backend that may be under way at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallLimit {
    /// Always so many; zero is taken as one.
    Fixed(u32),
    /// Learned from how long the backend takes: as few as keep it busy, or as many as it takes
    /// two milliseconds for. The default.
    #[default]
    Auto,
}

impl fmt::Display for CallLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallLimit::Fixed(calls) => write!(f, "{calls}"),
            CallLimit::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for CallLimit {
    type Err = InvalidCallLimit;

    /// `auto`, or a number of calls, at least 1.
    fn from_str(text: &str) -> Result<CallLimit, InvalidCallLimit> {
        if text == "auto" {
            return Ok(CallLimit::Auto);
        }
        match text.parse() {
            Ok(calls) if calls > 0 => Ok(CallLimit::Fixed(calls)),
            _ => Err(InvalidCallLimit(text.to_owned())),
        }
    }
}

/// A text that is no limit of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidCallLimit(String);

impl fmt::Display for InvalidCallLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a limit of calls is \"auto\" or a number from 1 on, not \"{}\"", self.0)
    }
}

impl std::error::Error for InvalidCallLimit {}

/// In which order waiting calls are started. Routes of lesser priority numbers come first in each
/// of them, and among clients that wait those with many calls take turns with those with few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendOrder {
    /// First come first served until the oldest that waits has waited 80 % of what clients of its
    /// route are seen to endure, or half of it and the newest would wait 80 %; newest first from there
    /// until the oldest has waited less than a quarter. The default.
    ///
    /// First come first served is wrong in overload: the head of the queue is always about to
    /// leave. Newest first is wrong below overload: the same mean wait, ten times its second moment
    /// at 90 % load.
    #[default]
    Adaptive,
    /// Last come first served.
    NewestFirst,
    /// First come first served.
    Fifo,
    /// Least expected service time first, as learned from past calls of the same route and kind.
    /// Of equal ones the newest: the oldest of the longest that are still served is always about to
    /// leave. The expectation is that of the call's arrival.
    ShortestExpected,
    /// Earliest deadline first. Without a deadline of its own, a call's is its arrival and the
    /// patience of its route.
    Edf,
}

impl BackendOrder {
    /// Every order.
    pub const ALL: [BackendOrder; 5] = [
        BackendOrder::Adaptive,
        BackendOrder::NewestFirst,
        BackendOrder::Fifo,
        BackendOrder::ShortestExpected,
        BackendOrder::Edf,
    ];

    /// As it is written in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            BackendOrder::Adaptive => "adaptive",
            BackendOrder::NewestFirst => "newest-first",
            BackendOrder::Fifo => "fifo",
            BackendOrder::ShortestExpected => "shortest-expected",
            BackendOrder::Edf => "edf",
        }
    }
}

impl fmt::Display for BackendOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for BackendOrder {
    type Err = UnknownOrder;

    fn from_str(name: &str) -> Result<BackendOrder, UnknownOrder> {
        BackendOrder::ALL
            .into_iter()
            .find(|order| order.name() == name)
            .ok_or_else(|| UnknownOrder(name.to_owned()))
    }
}

/// A name that is no order's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOrder(String);

impl fmt::Display for UnknownOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = BackendOrder::ALL.map(BackendOrder::name).join(", ");
        write!(f, "no order of calls is called \"{}\"; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownOrder {}

/// How the gate of a backend behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendConfig {
    /// Calls under way at once.
    pub limit: CallLimit,
    /// Which waiting call is started next.
    pub order: BackendOrder,
    /// Calls that wait at most; of more, those that would be served last are refused. It bounds
    /// memory: a long queue does no harm while the dead leave it. Default 65,536.
    pub max_queue: usize,
    /// A call waits at most so long while the patience of its route's clients is unknown. Default
    /// 60 s.
    pub queue_timeout: Duration,
}

impl Default for BackendConfig {
    fn default() -> BackendConfig {
        BackendConfig {
            limit: CallLimit::Auto,
            order: BackendOrder::Adaptive,
            max_queue: 65_536,
            queue_timeout: Duration::from_secs(60),
        }
    }
}
