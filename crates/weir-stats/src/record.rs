//! What one user saw of one request.

use serde::{Deserialize, Serialize};

/// How a request ended, as its user would tell it. Only [`Outcome::Ok`] has a response time; the
/// others are counted, never mixed into latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The status that was asked for, the announced length, every byte.
    Ok,
    /// Complete, but with another status.
    Status,
    /// Wrong bytes, another length than expected, or what is not HTTP.
    Wrong,
    /// The server closed before the last byte.
    Short,
    /// The server reset the connection.
    Reset,
    /// The connection was refused or could not be made.
    Refused,
    /// The user gave up: as often as he was to retry, the last time for good.
    Abandoned,
    /// Not complete when the run ended.
    Unfinished,
    /// Not sent, for want of a descriptor or a port of our own.
    Unsent,
}

impl Outcome {
    /// Every outcome, in the order of reports.
    pub const ALL: [Outcome; 9] = [
        Outcome::Ok,
        Outcome::Status,
        Outcome::Wrong,
        Outcome::Short,
        Outcome::Reset,
        Outcome::Refused,
        Outcome::Abandoned,
        Outcome::Unfinished,
        Outcome::Unsent,
    ];

    /// The word used in files and summaries.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Status => "status",
            Outcome::Wrong => "wrong",
            Outcome::Short => "short",
            Outcome::Reset => "reset",
            Outcome::Refused => "refused",
            Outcome::Abandoned => "abandoned",
            Outcome::Unfinished => "unfinished",
            Outcome::Unsent => "unsent",
        }
    }
}

/// One request. Times are seconds from the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When the request should have started; latency counts from here.
    pub scheduled: f64,
    /// When it did start (its SYN, or its first byte on a connection that stood).
    pub started: f64,
    /// When the connection stood; equal to `started` on one that stood already. Of the last attempt.
    pub connected: Option<f64>,
    /// First byte of the response, of the last attempt.
    pub first_byte: Option<f64>,
    /// Last byte of the response; `None` unless the outcome is [`Outcome::Ok`] or [`Outcome::Status`].
    pub last_byte: Option<f64>,
    /// Body bytes: as the workload says, or as they came where it does not say.
    pub size: u64,
    /// The client's class; an index into the run's classes.
    pub class: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// Times the request was sent, first attempt and retries.
    pub attempts: u32,
}

impl Record {
    /// Seconds from the intended start to the last byte, if the response was complete and right.
    pub fn response_time(&self) -> Option<f64> {
        match self.outcome {
            Outcome::Ok => self.last_byte.map(|last| last - self.scheduled),
            _ => None,
        }
    }

    /// Seconds by which the generator was late: the machine's fault, not the server's.
    pub fn lag(&self) -> f64 {
        self.started - self.scheduled
    }
}
