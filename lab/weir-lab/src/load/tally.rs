//! Counts the records of a run as they come, in memory that does not grow with their number, and
//! computes the figures. Used by the [`session`](super::session) and, at the end, by the command.

use hdrhistogram::Histogram;
use weir_stats::lag::LAG_SHARE;
use weir_stats::series::Series;
use weir_stats::size::SizeBins;
use weir_stats::streaming::Streaming;
use weir_stats::{Outcome, Record, Welford};
use weir_workload::Wire;

use super::figures::{ClientClass, Figures, Point, Second, SizeClass, lag_matters};
use super::progress::Snapshot;

/// Size classes of the tables to each factor of 10.
const PER_FACTOR: u32 = 2;

/// A link that slowdown is measured by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// What it carries.
    pub(crate) bytes_per_second: f64,
    /// What a response costs on it.
    pub(crate) wire: Wire,
}

/// Everything counted so far.
pub(crate) struct Tally {
    all: Streaming,
    series: Series,
    bins: SizeBins,
    sizes: Vec<Option<Box<Group>>>,
    /// By client class, with the class's name.
    classes: Vec<(String, Streaming)>,
    link: Option<Link>,
    slowdown: Welford,
    /// Thousandths.
    slowdowns: Histogram<u64>,
}

/// Responses of one size class.
#[derive(Default)]
struct Group {
    times: Streaming,
    slowdown: Welford,
}

impl Tally {
    /// Nothing yet; `classes` are the names of the client classes.
    pub(crate) fn new(classes: &[String], link: Option<Link>) -> Tally {
        let bins = SizeBins::new(PER_FACTOR);
        Tally {
            all: Streaming::new(),
            series: Series::default(),
            sizes: (0..bins.count()).map(|_| None).collect(),
            bins,
            classes: classes.iter().map(|name| (name.clone(), Streaming::new())).collect(),
            link,
            slowdown: Welford::default(),
            slowdowns: Histogram::new(3).expect("0 to 5 digits are allowed, 3 are asked"),
        }
    }

    /// Counts one request.
    pub(crate) fn add(&mut self, record: &Record) {
        self.all.add(record);
        self.series.add(record);
        let group = self.sizes[self.bins.index(record.size)].get_or_insert_default();
        group.times.add(record);
        if self.classes.len() > 1
            && let Some((_, class)) = self.classes.get_mut(usize::from(record.class))
        {
            class.add(record);
        }
        if let (Some(link), Some(time)) = (self.link, record.response_time()) {
            let alone = link.wire.bytes(record.size) as f64 / link.bytes_per_second;
            let slowdown = time / alone;
            self.slowdown.add(slowdown);
            group.slowdown.add(slowdown);
            let thousandths = (slowdown * 1e3).clamp(0.0, 1e15) as u64;
            self.slowdowns.record(thousandths).expect("a histogram that resizes takes any value");
        }
    }

    /// Requests that were refused, if no request has ended in any other way.
    pub(crate) fn all_refused(&self) -> Option<u64> {
        let refused = self.all.outcome(Outcome::Refused);
        (refused > 0 && refused == self.all.requests()).then_some(refused)
    }

    /// Requests that ended otherwise than complete and right.
    pub(crate) fn failed(&self) -> u64 {
        self.all.requests() - self.all.outcome(Outcome::Ok)
    }

    /// Records that are invalid and in no figure.
    pub(crate) fn unusable(&self) -> u64 {
        self.all.unusable()
    }

    /// Fills in what records tell of a run under way.
    pub(crate) fn snapshot(&self, now: &mut Snapshot) {
        let ms = |share| self.all.percentile(share).map(|s| s * 1e3);
        now.mean_ms = self.all.times().mean().map(|s| s * 1e3);
        now.p50_ms = ms(0.5);
        now.p90_ms = ms(0.9);
        now.p99_ms = ms(0.99);
        now.p999_ms = ms(0.999);
        now.max_ms = ms(1.0);
        now.lag_p99_ms = self.all.lag(LAG_SHARE).map(|s| s * 1e3);
        now.lag_max_ms = self.all.lag(1.0).map(|s| s * 1e3);
        now.read_lag_p99_ms = self.all.read_lag(LAG_SHARE).map(|s| s * 1e3);
        now.read_lag_max_ms = self.all.read_lag(1.0).map(|s| s * 1e3);
        let failures = Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Ok);
        now.failures = failures
            .map(|outcome| (outcome.name(), self.all.outcome(outcome)))
            .filter(|(_, number)| *number > 0)
            .collect();
        now.means_ms = self.series.seconds().iter().map(|s| s.mean.unwrap_or(0.0) * 1e3).collect();
    }

    /// Fills in the figures that follow from records, of a run of so many seconds.
    pub(crate) fn figures(&self, figures: &mut Figures, seconds: f64) {
        let all = &self.all;
        figures.requests = all.requests();
        figures.outcomes = Outcome::ALL
            .into_iter()
            .map(|outcome| (outcome.name(), all.outcome(outcome)))
            .collect();
        figures.failed = self.failed();
        figures.failed_share = figures.failed as f64 / figures.requests.max(1) as f64;
        figures.retries = all
            .attempts()
            .saturating_sub(figures.requests - all.outcome(Outcome::Unsent).min(figures.requests));
        self.times(figures);
        if seconds > 0.0 {
            figures.responses_per_s = all.outcome(Outcome::Ok) as f64 / seconds;
            figures.goodput_bytes_per_s = all.bytes() as f64 / seconds;
        }
        figures.by_size = self.by_size();
        figures.by_class = self.by_class();
        let seconds = self.series.seconds().iter().zip(0..);
        figures.by_second = seconds
            .map(|(counted, second)| Second {
                second,
                requests: counted.requests,
                failed: counted.failed,
                response_ms_mean: counted.mean.map(|s| s * 1e3),
                response_ms_max: counted.max.map(|s| s * 1e3),
            })
            .collect();
        figures.distribution = self.distribution();
    }

    fn times(&self, figures: &mut Figures) {
        let all = &self.all;
        let ms = |share| all.percentile(share).map(|s| s * 1e3);
        figures.response_ms_mean = all.times().mean().map(|s| s * 1e3);
        figures.response_ms_stddev = all.times().variance().map(|s| s.sqrt() * 1e3);
        figures.response_ms_p50 = ms(0.5);
        figures.response_ms_p90 = ms(0.9);
        figures.response_ms_p95 = ms(0.95);
        figures.response_ms_p99 = ms(0.99);
        figures.response_ms_p999 = ms(0.999);
        figures.response_ms_max = ms(1.0);
        // Of responses of one size none is larger than the others.
        let sizes = all.by_size().len();
        let largest = all.largest(0.01).filter(|_| sizes > 1);
        figures.response_ms_largest_1_percent_mean = largest.map(|s| s * 1e3);
        for (name, _, lag) in shares(all) {
            if let Some(lag) = lag {
                figures.lag_in.insert(name, lag * 1e3);
            }
        }
        if let Some(lag) = all.lag_in_largest(0.01) {
            figures.lag_in.insert("response_ms_largest_1_percent_mean", lag * 1e3);
        }
        let us = |share| all.lag(share).map(|s| s * 1e6);
        figures.start_lag_us_p50 = us(0.5);
        figures.start_lag_us_p99 = us(0.99);
        figures.start_lag_us_p999 = us(0.999);
        figures.start_lag_us_max = us(1.0);
        let us = |share| all.read_lag(share).map(|s| s * 1e6);
        figures.read_lag_us_p50 = us(0.5);
        figures.read_lag_us_p99 = us(0.99);
        figures.read_lag_us_p999 = us(0.999);
        figures.read_lag_us_max = us(1.0);
        figures.slowdown_mean = self.slowdown.mean();
        if !self.slowdowns.is_empty() {
            let slowdown = |share| Some(self.slowdowns.value_at_quantile(share) as f64 / 1e3);
            figures.slowdown_p50 = slowdown(0.5);
            figures.slowdown_p99 = slowdown(0.99);
        }
    }

    fn by_size(&self) -> Vec<SizeClass> {
        let class = |(bin, group): (usize, &Option<Box<Group>>)| {
            let (group, (from_bytes, below_bytes)) = (group.as_ref()?, self.bins.bounds(bin)?);
            let times = &group.times;
            Some(SizeClass {
                from_bytes,
                below_bytes,
                requests: times.requests(),
                failed: times.requests() - times.outcome(Outcome::Ok),
                response_ms_mean: times.times().mean().map(|s| s * 1e3),
                response_ms_p50: times.percentile(0.5).map(|s| s * 1e3),
                response_ms_p99: times.percentile(0.99).map(|s| s * 1e3),
                slowdown_mean: group.slowdown.mean(),
                valid: is_valid(times),
            })
        };
        self.sizes.iter().enumerate().filter_map(class).collect()
    }

    fn by_class(&self) -> Vec<ClientClass> {
        if self.classes.len() < 2 {
            return Vec::new();
        }
        let class = |(name, times): &(String, Streaming)| ClientClass {
            name: name.clone(),
            requests: times.requests(),
            failed: times.requests() - times.outcome(Outcome::Ok),
            response_ms_mean: times.times().mean().map(|s| s * 1e3),
            response_ms_p50: times.percentile(0.5).map(|s| s * 1e3),
            response_ms_p99: times.percentile(0.99).map(|s| s * 1e3),
            valid: is_valid(times),
        };
        self.classes.iter().map(class).collect()
    }

    /// A point at each percent, then ten to each further nine, as far as there are responses.
    fn distribution(&self) -> Vec<Point> {
        let complete = self.all.outcome(Outcome::Ok) as f64;
        let mut shares: Vec<f64> = (0..99).map(|percent| f64::from(percent) / 100.0).collect();
        let mut rest = 0.01;
        while rest * complete >= 1.0 {
            shares.extend((0..9).map(|step| 1.0 - rest * (1.0 - f64::from(step) / 10.0)));
            rest /= 10.0;
        }
        let point = |share| {
            let response_ms = self.all.percentile(share)? * 1e3;
            Some(Point { share, response_ms })
        };
        shares.into_iter().filter_map(point).collect()
    }
}

/// The figures of response times by their JSON names, and what lag adds to each, in seconds.
fn shares(times: &Streaming) -> [(&'static str, Option<f64>, Option<f64>); 7] {
    let at = |share| (times.percentile(share), times.lag_in_percentile(share));
    let of = |name, (figure, lag)| (name, figure, lag);
    [
        of("response_ms_mean", (times.times().mean(), times.lag_in_mean())),
        of("response_ms_p50", at(0.5)),
        of("response_ms_p90", at(0.9)),
        of("response_ms_p95", at(0.95)),
        of("response_ms_p99", at(0.99)),
        of("response_ms_p999", at(0.999)),
        of("response_ms_max", at(1.0)),
    ]
}

/// Whether lag is small beside the figures that are told of a class: mean, median, p99.
fn is_valid(times: &Streaming) -> bool {
    let told = ["response_ms_mean", "response_ms_p50", "response_ms_p99"];
    shares(times).into_iter().filter(|(name, ..)| told.contains(name)).all(|(_, figure, lag)| {
        figure.zip(lag).is_none_or(|(figure, lag)| !lag_matters(lag * 1e3, figure * 1e3))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(at: f64, size: u64, time: Option<f64>) -> Record {
        Record {
            scheduled: at,
            started: at + 1e-5,
            connected: Some(at),
            first_byte: Some(at),
            last_byte: time.map(|time| at + time),
            size,
            class: u16::from(size > 1000),
            outcome: if time.is_some() { Outcome::Ok } else { Outcome::Refused },
            attempts: if time.is_some() { 1 } else { 3 },
            read_lag: 2e-5,
        }
    }

    #[test]
    fn figures_follow_from_records() {
        let link = Link { bytes_per_second: 1e6, wire: Wire::default() };
        let mut tally = Tally::new(&["near".into(), "far".into()], Some(link));
        for i in 0..1000 {
            tally.add(&record(f64::from(i) / 100.0, 500, Some(0.010)));
            let large = record(f64::from(i) / 100.0, 50_000, Some(0.200));
            tally.add(&Record { read_lag: 4e-5, ..large });
        }
        tally.add(&record(3.0, 500, None));
        let mut figures = Figures::default();
        tally.figures(&mut figures, 10.0);
        assert_eq!((figures.requests, figures.failed, figures.retries), (2001, 1, 2));
        assert_eq!(figures.outcomes["ok"], 2000);
        assert_eq!(figures.outcomes.len(), Outcome::ALL.len());
        let near = |found: Option<f64>, expected: f64| {
            let found = found.expect("it exists");
            assert!((found / expected - 1.0).abs() < 0.002, "{found} is not {expected}");
        };
        near(figures.response_ms_mean, 105.0);
        near(figures.response_ms_p50, 10.0);
        near(figures.response_ms_p99, 200.0);
        near(figures.response_ms_largest_1_percent_mean, 200.0);
        near(figures.start_lag_us_p99, 10.0);
        near(figures.read_lag_us_p99, 40.0);
        near(figures.lag_in.get("response_ms_mean").copied(), 0.04);
        near(figures.lag_in.get("response_ms_largest_1_percent_mean").copied(), 0.05);
        // To a thousandth of the figure, as the histograms have it.
        let median = figures.lag_in.get("response_ms_p50").copied();
        assert!(median.is_some_and(|lag| (lag - 0.03).abs() <= 0.01), "{median:?}");
        assert!(figures.by_size.iter().all(|class| class.valid));
        near(Some(figures.responses_per_s), 200.0);
        near(Some(figures.goodput_bytes_per_s), 5_050_000.0);
        near(figures.slowdown_p50, 0.200 * 1e6 / Wire::default().bytes(50_000) as f64);
        near(figures.slowdown_p99, 0.010 * 1e6 / Wire::default().bytes(500) as f64);
        assert_eq!(figures.by_second.len(), 10);
        assert_eq!(figures.by_second[3].failed, 1);
        let sizes: Vec<_> = figures.by_size.iter().map(|c| (c.from_bytes, c.requests)).collect();
        assert_eq!(sizes, [(317, 1001), (31_623, 1000)]);
        let classes: Vec<_> =
            figures.by_class.iter().map(|c| (c.name.as_str(), c.requests, c.failed)).collect();
        assert_eq!(classes, [("near", 1001, 1), ("far", 1000, 0)]);
        assert!(
            figures
                .distribution
                .is_sorted_by(|a, b| a.share < b.share && a.response_ms <= b.response_ms)
        );
        let last = figures.distribution.last().expect("a point").share;
        assert!((0.999..1.0).contains(&last), "{last}");
    }

    #[test]
    fn nothing_counted_has_no_times() {
        let mut figures = Figures::default();
        Tally::new(&[], None).figures(&mut figures, 0.0);
        assert_eq!((figures.requests, figures.response_ms_mean), (0, None));
        assert!(figures.distribution.is_empty() && figures.by_size.is_empty());
    }
}
