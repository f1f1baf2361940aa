//! The figures of a run under their stable names: what the summary, the JSON and the page show.
//! Units are in the names. It does not know how they were counted.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_stats::Outcome;
use weir_stats::lag::TOLERANCE;

use super::words::{percent, time};

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
    pub(crate) failed: u64,
    pub(crate) failed_share: f64,
    /// Attempts beyond the first of each request.
    pub(crate) retries: u64,
    /// Lines of the trace that could not be read and were passed over.
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

    pub(crate) start_lag_us_p50: Option<f64>,
    pub(crate) start_lag_us_p99: Option<f64>,
    pub(crate) start_lag_us_p999: Option<f64>,
    pub(crate) start_lag_us_max: Option<f64>,
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

impl Figures {
    /// The response times that are reported, in the order of the summary: word, JSON name,
    /// milliseconds, and the lag in microseconds that they are judged by: the 99th percentile, for
    /// rarer ones the lag that is as rare.
    pub(crate) fn ranks(&self) -> [(&'static str, &'static str, Option<f64>, Option<f64>); 7] {
        [
            ("mean", "response_ms_mean", self.response_ms_mean, self.start_lag_us_p99),
            ("median", "response_ms_p50", self.response_ms_p50, self.start_lag_us_p99),
            ("p90", "response_ms_p90", self.response_ms_p90, self.start_lag_us_p99),
            ("p95", "response_ms_p95", self.response_ms_p95, self.start_lag_us_p99),
            ("p99", "response_ms_p99", self.response_ms_p99, self.start_lag_us_p99),
            ("p99.9", "response_ms_p999", self.response_ms_p999, self.start_lag_us_p999),
            ("max", "response_ms_max", self.response_ms_max, self.start_lag_us_max),
        ]
    }

    /// Outcomes that happened, in the order of reports.
    pub(crate) fn outcomes_that_happened(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let number = |outcome: Outcome| self.outcomes.get(outcome.name()).copied().unwrap_or(0);
        let named = Outcome::ALL.into_iter().map(move |outcome| (outcome.name(), number(outcome)));
        named.filter(|(_, number)| *number > 0)
    }

    /// Marks what does not count: percentiles of which the generator's own lag is more than 1 %
    /// (it is part of them), and everything when the machine was not ours.
    pub(crate) fn judge(&mut self) {
        // What is judged by the same lag is told in one line.
        let mut late: Vec<(f64, f64, Vec<&str>)> = Vec::new();
        for (word, name, response, lag) in self.ranks() {
            let (Some(response), Some(lag)) = (response, lag) else { continue };
            if lag / 1e3 <= response * TOLERANCE {
                continue;
            }
            self.invalid_figures.push(name);
            match late.last_mut().filter(|(of, ..)| *of == lag) {
                Some((_, least, words)) => {
                    *least = least.min(response);
                    words.push(word);
                }
                None => late.push((lag, response, vec![word])),
            }
        }
        for (lag, least, words) in late {
            self.invalid.push(format!(
                "{}: requests started up to {} late, which is {} of {}",
                words.join(", "),
                time(lag / 1e3),
                percent(lag / 1e3 / least),
                time(least),
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

    /// Marks the classes, and the mean of the largest, beside which the 99th percentile of lag is
    /// not small: a class of fast responses may not count where all together do.
    fn judge_groups(&mut self) {
        let Some(lag) = self.start_lag_us_p99.map(|us| us / 1e3) else { return };
        let small = |times: [Option<f64>; 3]| {
            times.into_iter().flatten().all(|response| lag <= response * TOLERANCE)
        };
        for class in &mut self.by_size {
            class.valid =
                small([class.response_ms_mean, class.response_ms_p50, class.response_ms_p99]);
        }
        for class in &mut self.by_class {
            class.valid =
                small([class.response_ms_mean, class.response_ms_p50, class.response_ms_p99]);
        }
        let sizes = self.by_size.iter().filter(|class| !class.valid).count();
        let classes = self.by_class.iter().filter(|class| !class.valid).count();
        let largest = usize::from(!small([self.response_ms_largest_1_percent_mean, None, None]));
        for (name, words, number) in [
            ("response_ms_largest_1_percent_mean", "largest 1 %".to_owned(), largest),
            ("by_size", format!("{sizes} of {} size classes", self.by_size.len()), sizes),
            ("by_class", format!("{classes} of {} client classes", self.by_class.len()), classes),
        ] {
            if number > 0 {
                self.invalid_figures.push(name);
                self.invalid.push(format!(
                    "{words}: requests started up to {} late, more than {} of a response time",
                    time(lag),
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
            start_lag_us_p99: Some(9.0),
            start_lag_us_p999: Some(111.0),
            outcomes: BTreeMap::from([("ok", 1000)]),
            ..Figures::default()
        }
    }

    #[test]
    fn a_percentile_is_void_when_lag_is_over_one_percent_of_it() {
        let mut rarely = figures();
        rarely.judge();
        assert_eq!(rarely.invalid_figures, ["response_ms_p999"]);
        assert!(rarely.is_valid("response_ms_p50") && !rarely.valid);
        assert!(rarely.invalid[0].contains("111 µs") && rarely.invalid[0].contains("1.01 %"));
        let mut often = Figures { start_lag_us_p99: Some(99.0), ..figures() };
        often.judge();
        assert_eq!(often.invalid_figures, ["response_ms_p50", "response_ms_p999"]);
        let mut all = Figures { start_lag_us_p99: Some(101.0), ..figures() };
        all.judge();
        assert_eq!(all.invalid.len(), 2, "{:?}", all.invalid);
        assert!(all.invalid[0].starts_with("median, p99:"), "{:?}", all.invalid);
    }

    #[test]
    fn nothing_complete_or_something_unsent_voids_everything() {
        for (outcomes, reason) in [
            (BTreeMap::from([("refused", 7)]), "no response was complete"),
            (BTreeMap::from([("ok", 7), ("unsent", 3)]), "3 requests could not be sent"),
        ] {
            let mut found = Figures { start_lag_us_p999: None, outcomes, ..figures() };
            found.judge();
            assert!(!found.valid && !found.is_valid("response_ms_p50"));
            assert!(found.invalid.len() == 1 && found.invalid[0].contains(reason), "{found:?}");
        }
    }

    #[test]
    fn a_class_is_void_by_itself() {
        let class = |ms| SizeClass {
            from_bytes: 0,
            below_bytes: None,
            requests: 1,
            failed: 0,
            response_ms_mean: Some(ms),
            response_ms_p50: Some(ms),
            response_ms_p99: Some(ms),
            slowdown_mean: None,
            valid: true,
        };
        let by_size = vec![class(0.5), class(5.0)];
        let mut found = Figures { by_size, start_lag_us_p999: None, ..figures() };
        found.judge();
        assert_eq!(found.by_size.iter().map(|c| c.valid).collect::<Vec<_>>(), [false, true]);
        assert_eq!(found.invalid_figures, ["by_size"]);
        assert!(!found.valid && found.is_valid("response_ms_p50"), "{:?}", found.invalid);
    }

    #[test]
    fn steal_voids_everything() {
        let fine = || Figures { start_lag_us_p999: Some(110.0), ..figures() };
        let mut stolen = Figures { steal_share: 0.011, ..fine() };
        stolen.judge();
        assert!(!stolen.valid && !stolen.is_valid("response_ms_p50"));
        assert_eq!(stolen.invalid.len(), 1);
        let mut still = Figures { steal_share: 0.01, ..fine() };
        still.judge();
        assert!(still.valid, "{:?}", still.invalid);
    }
}
