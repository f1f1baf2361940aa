//! What one user saw of one request. The generator makes one when a request ends; files, figures
//! and series are made of them.

use serde::{Deserialize, Serialize};

/// Seconds beyond which a time is a mistake. Within, sums and squares stay finite.
const FAR: f64 = 1e10;

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
    /// The user gave up every attempt, retries included.
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
    /// Read lag: seconds by which, at most, the response ended later because the generator read late what
    /// had come for the request; 0 where that is not known. Of a new connection, its handshake of TLS, each
    /// stretch of the response that can have filled the receive window and its end, one after the other. In
    /// no file.
    #[serde(skip)]
    pub read_lag: f64,
}

impl Record {
    /// Seconds from the intended start to the last byte, if the response was complete and right.
    pub fn response_time(&self) -> Option<f64> {
        match self.outcome {
            Outcome::Ok => self.last_byte.map(|last| last - self.scheduled),
            _ => None,
        }
    }

    /// Start lag: seconds by which the generator was late with it, which is the machine's fault and not the
    /// server's.
    pub fn lag(&self) -> f64 {
        self.started - self.scheduled
    }

    /// Start lag and read lag together: what of the response time may be the generator's own.
    pub fn whole_lag(&self) -> f64 {
        self.lag().max(0.0) + self.read_lag.max(0.0)
    }

    /// Whether the record can be counted: its times are numbers (within three centuries), and
    /// a complete response has a last byte. Files of records hold no others.
    ///
    /// # Errors
    ///
    /// What is wrong with it, by field.
    pub fn check(&self) -> Result<(), String> {
        let times = [
            ("scheduled", Some(self.scheduled)),
            ("started", Some(self.started)),
            ("connected", self.connected),
            ("first_byte", self.first_byte),
            ("last_byte", self.last_byte),
            ("read_lag", Some(self.read_lag)),
        ];
        for (field, time) in times {
            if let Some(time) = time.filter(|time| !(-FAR..=FAR).contains(time)) {
                return Err(format!("{field} is {time}, not seconds from the start of the run"));
            }
        }
        if self.outcome == Outcome::Ok && self.last_byte.is_none() {
            return Err("the outcome is ok, but last_byte is missing".into());
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any record that can be counted.
    pub(crate) fn any_record() -> impl Strategy<Value = Record> {
        let time = || prop_oneof![-1e9..1e9_f64, Just(0.0), Just(1e-300), 0.0..1e-6_f64];
        let maybe = || prop::option::of(time());
        let outcome = prop::sample::select(Outcome::ALL.to_vec());
        (time(), time(), maybe(), maybe(), time(), any::<(u64, u16, u32)>(), outcome).prop_map(
            |(
                scheduled,
                started,
                connected,
                first_byte,
                last,
                (size, class, attempts),
                outcome,
            )| {
                let ended = matches!(outcome, Outcome::Ok | Outcome::Status);
                let last_byte = ended.then_some(last);
                Record {
                    scheduled,
                    started,
                    connected,
                    first_byte,
                    last_byte,
                    size,
                    class,
                    outcome,
                    attempts,
                    read_lag: 0.0,
                }
            },
        )
    }

    /// A record that started on time and was read at once.
    pub(crate) fn record(at: f64, size: u64, outcome: Outcome, time: Option<f64>) -> Record {
        Record {
            scheduled: at,
            started: at,
            connected: None,
            first_byte: None,
            last_byte: time.map(|time| at + time),
            size,
            class: 0,
            outcome,
            attempts: 1,
            read_lag: 0.0,
        }
    }

    #[test]
    fn only_ok_has_a_response_time() {
        for outcome in Outcome::ALL {
            let time = record(1.0, 5, outcome, Some(0.5)).response_time();
            assert_eq!(time.is_some(), outcome == Outcome::Ok, "{}", outcome.name());
        }
    }

    #[test]
    fn names_are_those_of_files() {
        for outcome in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
        }
    }

    #[test]
    fn records_that_cannot_be_counted_say_why() {
        let good = record(0.0, 5, Outcome::Ok, Some(0.5));
        assert_eq!(good.check(), Ok(()));
        let no_end = Record { last_byte: None, ..good.clone() };
        assert!(no_end.check().unwrap_err().contains("last_byte is missing"));
        for (time, word) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-2e10, "-20000000000")] {
            let no_time = Record { first_byte: Some(time), ..good.clone() };
            let error = no_time.check().unwrap_err();
            assert!(error.starts_with(&format!("first_byte is {word}, ")), "{error}");
        }
        let no_lag = Record { read_lag: f64::NAN, ..good };
        assert!(no_lag.check().unwrap_err().starts_with("read_lag is NaN, "));
    }

    #[test]
    fn the_whole_lag_is_of_starting_and_of_reading() {
        let right = record(1.0, 5, Outcome::Ok, Some(2.0));
        let late = Record { started: 1.25, read_lag: 0.5, ..right };
        assert_eq!((late.lag(), late.whole_lag()), (0.25, 0.75));
        let early = Record { started: 0.5, ..late };
        assert_eq!((early.lag(), early.whole_lag()), (-0.5, 0.5));
    }
}
