//! The figures of a run under their stable names, with units in the names: what the summary, the
//! JSON and the page show. Filled in by the [`tally`](super::tally) and the command.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_load::{HandshakeTimes, Handshakes};
use weir_stats::Outcome;
use weir_stats::lag::TOLERANCE;

use crate::words::{count, percent};

/// Everything a run showed. A figure that does not exist (the mean of nothing) is null.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Figures {
    /// Number of this format; it grows when a name changes its meaning or goes.
    pub(crate) format: u32,
    /// Of weir.
    pub(crate) version: &'static str,
    /// RFC 3339, UTC.
    pub(crate) started_at: String,
    pub(crate) url: String,
    pub(crate) server: String,
    pub(crate) seed: u64,
    /// The plan in words, as it was printed.
    pub(crate) plan: Vec<(String, String)>,
    /// Somebody ended the run before its time.
    pub(crate) ended_early: bool,
    pub(crate) duration_s: f64,

    /// Requests that ended, however they did.
    pub(crate) requests: u64,
    /// Every outcome, also those that did not happen.
    pub(crate) outcomes: BTreeMap<&'static str, u64>,
    /// Complete responses with another status than 200, by their status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) failed: u64,
    pub(crate) failed_share: f64,
    /// Attempts beyond the first of each request.
    pub(crate) retries: u64,
    /// Lines of the trace that could not be read and were skipped.
    pub(crate) trace_lines_skipped: u64,

    pub(crate) response_ms_mean: Option<f64>,
    pub(crate) response_ms_stddev: Option<f64>,
    pub(crate) response_ms_p50: Option<f64>,
    pub(crate) response_ms_p90: Option<f64>,
    pub(crate) response_ms_p95: Option<f64>,
    pub(crate) response_ms_p99: Option<f64>,
    pub(crate) response_ms_p999: Option<f64>,
    pub(crate) response_ms_max: Option<f64>,
    /// Mean of the largest 1 % of the responses.
    pub(crate) response_ms_largest_1_percent_mean: Option<f64>,
    /// Response time over the time the link alone needs; null unless its rate is known.
    pub(crate) slowdown_mean: Option<f64>,
    pub(crate) slowdown_p50: Option<f64>,
    pub(crate) slowdown_p99: Option<f64>,

    pub(crate) responses_per_s: f64,
    /// Bytes of bodies of complete responses.
    pub(crate) goodput_bytes_per_s: f64,
    /// All bytes of bodies, also of what did not become complete.
    pub(crate) received_body_bytes: u64,
    pub(crate) received_head_bytes: u64,
    pub(crate) connections: u64,
    pub(crate) connections_most_open: u64,
    /// Null in clear text.
    pub(crate) tls: Option<TlsFigures>,

    pub(crate) start_lag_us_p50: Option<f64>,
    pub(crate) start_lag_us_p99: Option<f64>,
    pub(crate) start_lag_us_p999: Option<f64>,
    pub(crate) start_lag_us_max: Option<f64>,
    /// Of complete responses: for how long reading them, their connections and handshakes late can have
    /// held them up.
    pub(crate) read_lag_us_p50: Option<f64>,
    pub(crate) read_lag_us_p99: Option<f64>,
    pub(crate) read_lag_us_p999: Option<f64>,
    pub(crate) read_lag_us_max: Option<f64>,
    /// Milliseconds that both lags add at most to the response time of this name.
    pub(crate) lag_in: BTreeMap<&'static str, f64>,
    pub(crate) steal_share: f64,
    pub(crate) idle_share: f64,
    pub(crate) generator_processor_s: f64,

    /// All figures count.
    pub(crate) valid: bool,
    /// Names of the figures that do not.
    pub(crate) invalid_figures: Vec<&'static str>,
    /// No figure counts at all.
    #[serde(skip)]
    pub(crate) void: bool,
    /// Why, in words.
    pub(crate) invalid: Vec<String>,

    pub(crate) by_size: Vec<SizeClass>,
    pub(crate) by_class: Vec<ClientClass>,
    pub(crate) by_second: Vec<Second>,
    /// Response time that a share of the responses does not exceed.
    pub(crate) distribution: Vec<Point>,
}

/// What TLS did.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TlsFigures {
    /// Handshakes in which the server proved who it is.
    pub(crate) full: HandshakeFigures,
    /// Handshakes that resumed an earlier session.
    pub(crate) resumed: HandshakeFigures,
    pub(crate) failed: u64,
    /// Why the first of these failed.
    pub(crate) failure: Option<String>,
    /// Bytes from the network: heads, bodies, records and handshakes.
    pub(crate) received_bytes: u64,
}

/// Handshakes of one kind.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HandshakeFigures {
    pub(crate) count: u64,
    pub(crate) ms_p50: Option<f64>,
    pub(crate) ms_p99: Option<f64>,
    pub(crate) ms_p999: Option<f64>,
    pub(crate) ms_max: Option<f64>,
}

impl TlsFigures {
    /// Of a run's handshakes, in which so many bytes came from the network.
    pub(crate) fn of(handshakes: &Handshakes, received_bytes: u64) -> TlsFigures {
        let of = |times: &HandshakeTimes| {
            let [ms_p50, ms_p99, ms_p999, ms_max] =
                times.seconds.map(|seconds| (times.count > 0).then_some(seconds * 1e3));
            HandshakeFigures { count: times.count, ms_p50, ms_p99, ms_p999, ms_max }
        };
        TlsFigures {
            full: of(&handshakes.full),
            resumed: of(&handshakes.resumed),
            failed: handshakes.failed,
            failure: handshakes.failure.clone(),
            received_bytes,
        }
    }
}

/// Requests with responses of about one size.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SizeClass {
    pub(crate) from_bytes: u64,
    /// The first size above; null for the last class.
    pub(crate) below_bytes: Option<u64>,
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) response_ms_mean: Option<f64>,
    pub(crate) response_ms_p50: Option<f64>,
    pub(crate) response_ms_p99: Option<f64>,
    pub(crate) slowdown_mean: Option<f64>,
    /// These times count: lag is small beside each.
    pub(crate) valid: bool,
}

/// Requests of one class of clients.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ClientClass {
    pub(crate) name: String,
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) response_ms_mean: Option<f64>,
    pub(crate) response_ms_p50: Option<f64>,
    pub(crate) response_ms_p99: Option<f64>,
    /// These times count: lag is small beside each.
    pub(crate) valid: bool,
}

/// Requests that should have started in one second of the run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Second {
    pub(crate) second: u64,
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) response_ms_mean: Option<f64>,
    pub(crate) response_ms_max: Option<f64>,
}

/// One point of a distribution.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) share: f64,
    pub(crate) response_ms: f64,
}

/// Number of the format of [`Figures`].
pub(crate) const FORMAT: u32 = 1;

/// Steal may be this share of the machine's time before nothing is valid.
const MOST_STEAL: f64 = 0.01;

/// Lag below so many milliseconds does not matter: starting a request takes as long, and reading one.
const START_MS: f64 = 0.01;

/// Whether the lag in a time is more than a hundredth of it, and worth a word; both in milliseconds.
pub(super) fn lag_matters(lag: f64, of: f64) -> bool {
    lag > of * TOLERANCE && lag > START_MS
}

impl Figures {
    /// The response times that are reported, in the order of the summary: word, JSON name,
    /// milliseconds.
    pub(crate) fn ranks(&self) -> [(&'static str, &'static str, Option<f64>); 7] {
        [
            ("mean", "response_ms_mean", self.response_ms_mean),
            ("median", "response_ms_p50", self.response_ms_p50),
            ("p90", "response_ms_p90", self.response_ms_p90),
            ("p95", "response_ms_p95", self.response_ms_p95),
            ("p99", "response_ms_p99", self.response_ms_p99),
            ("p99.9", "response_ms_p999", self.response_ms_p999),
            ("max", "response_ms_max", self.response_ms_max),
        ]
    }

    /// Which statuses came instead of 200, in words; empty if none did.
    pub(crate) fn statuses_in_words(&self) -> String {
        let named = |(status, number): (&u16, &u64)| format!("{status}: {}", count(*number));
        self.statuses.iter().map(named).collect::<Vec<_>>().join(", ")
    }

    /// Outcomes that happened, in the order of reports.
    pub(crate) fn outcomes_that_happened(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let number = |outcome: Outcome| self.outcomes.get(outcome.name()).copied().unwrap_or(0);
        let named = Outcome::ALL.into_iter().map(move |outcome| (outcome.name(), number(outcome)));
        named.filter(|(_, number)| *number > 0)
    }

    /// Marks what does not count: figures of which the generator's own lag is more than 1 % (it is
    /// part of them), and everything when the machine was not ours.
    pub(crate) fn judge(&mut self) {
        let mut late: Vec<&str> = Vec::new();
        let mut most = 0.0_f64;
        let largest = self.response_ms_largest_1_percent_mean;
        let largest = ("largest 1 %", "response_ms_largest_1_percent_mean", largest);
        for (word, name, response) in self.ranks().into_iter().chain([largest]) {
            let (Some(response), Some(lag)) = (response, self.lag_in.get(name)) else { continue };
            if lag_matters(*lag, response) {
                self.invalid_figures.push(name);
                late.push(word);
                most = most.max(lag / response);
            }
        }
        if !late.is_empty() {
            self.invalid.push(format!(
                "{}: the generator started requests or read responses late, and up to {} of the \
                 figure is that",
                late.join(", "),
                percent(most)
            ));
        }
        self.judge_groups();
        let before = self.invalid.len();
        let of = |outcome: Outcome| self.outcomes.get(outcome.name()).copied().unwrap_or(0);
        let (complete, unsent) = (of(Outcome::Ok), of(Outcome::Unsent));
        if complete == 0 {
            self.invalid.push("all figures: no response was complete".into());
        }
        if unsent > 0 {
            self.invalid.push(format!(
                "all figures: {unsent} requests could not be sent for want of descriptors or ports"
            ));
        }
        if self.steal_share > MOST_STEAL {
            self.invalid.push(format!(
                "all figures: the hypervisor took {:.1} % of the machine's processor time",
                self.steal_share * 100.0
            ));
        }
        self.void = self.invalid.len() > before;
        self.valid = self.invalid.is_empty();
    }

    /// Says which classes do not count: one of fast responses may not where all together do.
    fn judge_groups(&mut self) {
        let sizes = self.by_size.iter().filter(|class| !class.valid).count();
        let classes = self.by_class.iter().filter(|class| !class.valid).count();
        for (name, words, number) in [
            ("by_size", format!("{sizes} of {} size classes", self.by_size.len()), sizes),
            ("by_class", format!("{classes} of {} client classes", self.by_class.len()), classes),
        ] {
            if number > 0 {
                self.invalid_figures.push(name);
                self.invalid.push(format!(
                    "{words}: the generator started requests or read responses late, and more than \
                     {} of a figure is that",
                    percent(TOLERANCE)
                ));
            }
        }
    }

    /// Whether the figure of this JSON name counts.
    pub(crate) fn is_valid(&self, name: &str) -> bool {
        !self.void && !self.invalid_figures.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        Figures {
            response_ms_p50: Some(1.0),
            response_ms_p99: Some(10.0),
            response_ms_p999: Some(11.0),
            lag_in: BTreeMap::from([
                ("response_ms_p50", 0.01),
                ("response_ms_p99", 0.01),
                ("response_ms_p999", 0.1),
                ("response_ms_max", 7.0),
            ]),
            outcomes: BTreeMap::from([("ok", 1000)]),
            ..Figures::default()
        }
    }

    #[test]
    fn a_figure_is_void_when_more_than_one_percent_of_it_is_lag() {
        let mut fine = figures();
        fine.judge();
        assert!(fine.valid && fine.invalid_figures.is_empty(), "{:?}", fine.invalid);
        // Ten microseconds are what it takes to start a request.
        fine.response_ms_p50 = Some(0.1);
        fine.judge();
        assert!(fine.valid, "{:?}", fine.invalid);
        let mut rarely = figures();
        rarely.lag_in.insert("response_ms_p999", 0.111);
        rarely.judge();
        assert_eq!(rarely.invalid_figures, ["response_ms_p999"]);
        assert!(rarely.is_valid("response_ms_p50") && !rarely.valid);
        assert!(rarely.invalid[0].starts_with("p99.9: "), "{:?}", rarely.invalid);
        assert!(rarely.invalid[0].contains("1.01 %"), "{:?}", rarely.invalid);
        let mut often = rarely.clone();
        (often.invalid, often.invalid_figures) = Default::default();
        often.lag_in.insert("response_ms_p50", 0.03);
        often.judge();
        assert_eq!(often.invalid_figures, ["response_ms_p50", "response_ms_p999"]);
        assert!(often.invalid[0].starts_with("median, p99.9: "), "{:?}", often.invalid);
        assert!(often.invalid.len() == 1 && often.invalid[0].contains("3.00 %"));
    }

    #[test]
    fn nothing_complete_or_something_unsent_voids_everything() {
        for (outcomes, reason) in [
            (BTreeMap::from([("refused", 7)]), "no response was complete"),
            (BTreeMap::from([("ok", 7), ("unsent", 3)]), "3 requests could not be sent"),
        ] {
            let mut found = Figures { outcomes, ..figures() };
            found.judge();
            assert!(!found.valid && !found.is_valid("response_ms_p50"));
            assert!(found.invalid.len() == 1 && found.invalid[0].contains(reason), "{found:?}");
        }
    }

    #[test]
    fn a_class_is_void_by_itself() {
        let class = |valid| SizeClass {
            from_bytes: 0,
            below_bytes: None,
            requests: 1,
            failed: 0,
            response_ms_mean: Some(1.0),
            response_ms_p50: Some(1.0),
            response_ms_p99: Some(1.0),
            slowdown_mean: None,
            valid,
        };
        let mut found = Figures { by_size: vec![class(false), class(true)], ..figures() };
        found.judge();
        assert_eq!(found.invalid_figures, ["by_size"]);
        assert!(found.invalid[0].starts_with("1 of 2 size classes"), "{:?}", found.invalid);
        assert!(!found.valid && found.is_valid("response_ms_p50"), "{:?}", found.invalid);
    }

    #[test]
    fn steal_voids_everything() {
        let mut stolen = Figures { steal_share: 0.011, ..figures() };
        stolen.judge();
        assert!(!stolen.valid && !stolen.is_valid("response_ms_p50"));
        assert_eq!(stolen.invalid.len(), 1);
        let mut still = Figures { steal_share: 0.01, ..figures() };
        still.judge();
        assert!(still.valid, "{:?}", still.invalid);
    }
}
