//! The figures of a run: response times by size beside those of exact servers on the same trace,
//! and reasons why a run does not count. Cells of both kinds make their outcomes with it.

use std::collections::BTreeMap;

use weir_load::Report;
use weir_sim::ideal::{self, Job};
use weir_stats::lateness::Lateness;
use weir_stats::series::Series;
use weir_stats::{Outcome as End, Record, Response, Samples};
use weir_workload::{Request, Wire};

use crate::outcome::{Ideal, SHARES, Served, SizeClass, Summary, UP_TO};

/// A response this much after its finish under processor sharing is late. It is some grants, a
/// round trip and the emulated link's jitter.
const LATE: f64 = 0.050;
/// Bodies of fewer bytes are small.
const SMALL: u64 = 10_000;
/// Speed of the exact servers as a share of the rate.
const PACE: f64 = 0.99;
/// A run counts when requests started on time, responses were read on time and nobody took the processor.
const MOST_LAG_MS: f64 = 1.0;
const MOST_STEAL: f64 = 0.01;
/// Share of the packets that the emulated link may send on more than 1 ms after they were due: the
/// bound of the generator's own lag.
const MOST_LATE: f64 = 0.01;
/// Share of the requests that the generator may not have been able to send, for want of descriptors
/// or ports.
const MOST_UNSENT: f64 = 0.001;

/// How late the generator was: 99th percentiles in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lags {
    /// Of starting requests.
    pub(crate) start: f64,
    /// Of reading complete responses.
    pub(crate) read: f64,
}

impl Lags {
    pub(crate) fn of(report: &Report) -> Lags {
        Lags { start: report.lag[1] * 1e3, read: report.read_lag[1] * 1e3 }
    }

    /// Whether the generator was on time. A lag that is not a number is no measured lag.
    pub(crate) fn are_small(self) -> bool {
        self.start <= MOST_LAG_MS && self.read <= MOST_LAG_MS
    }
}

/// Response times in milliseconds.
pub(crate) fn summary(responses: &[Response]) -> Summary {
    let Some(found) = weir_stats::Summary::of(responses) else { return Summary::of_nothing() };
    let decile = |mean: Option<f64>| mean.map_or(f64::NAN, |mean| mean * 1e3);
    Summary {
        count: found.count,
        mean: found.mean * 1e3,
        variance: found.variance,
        median: found.median * 1e3,
        p95: found.p95 * 1e3,
        p99: found.p99 * 1e3,
        largest: found.largest * 1e3,
        very_largest: found.very_largest * 1e3,
        deciles: found.deciles.into_iter().map(decile).collect(),
        by_size: found.by_size.iter().map(|bin| (bin.mean_size, bin.mean_time * 1e3)).collect(),
    }
}

/// Response times by class of clients, in milliseconds; nothing where there is one class.
pub(crate) fn by_class(records: &[Record]) -> Vec<Summary> {
    let last = records.iter().map(|record| record.class).max().unwrap_or(0);
    let of = |class: u16| {
        let own = records.iter().filter(|record| record.class == class).cloned();
        summary(&weir_stats::responses(&own.collect::<Vec<_>>()))
    };
    if last == 0 { Vec::new() } else { (0..=last).map(of).collect() }
}

/// Bring records into the order of the requests they are of: that of time, and of size where times
/// are equal.
pub(crate) fn sort(requests: &mut [Request], records: &mut [Record]) {
    let size = |request: &Request| request.size.unwrap_or(0);
    requests.sort_by(|a, b| a.at.total_cmp(&b.at).then(size(a).cmp(&size(b))));
    records.sort_by(|a, b| a.scheduled.total_cmp(&b.scheduled).then(a.size.cmp(&b.size)));
}

/// Requests as work for an exact server, in bytes on the wire.
fn jobs(requests: &[Request], wire: &Wire) -> Vec<Job> {
    let work = |request: &Request| wire.bytes(request.size.unwrap_or(0)) as f64;
    requests.iter().map(|request| Job { arrival: request.at, work: work(request) }).collect()
}

/// Response times of requests that finish at these times.
fn times(requests: &[Request], finish: &[f64]) -> Summary {
    let pairs = requests.iter().zip(finish);
    let times = pairs.map(|(request, finish)| (request.size.unwrap_or(0), finish - request.at));
    summary(&times.collect::<Vec<_>>())
}

/// Mean response time in milliseconds of the same requests through exact SRPT at the whole rate,
/// which no server that leaves some of the link free can have.
pub(crate) fn srpt_at_full_rate(requests: &[Request], wire: &Wire, rate: u64) -> f64 {
    times(requests, &ideal::srpt(&jobs(requests, wire), rate as f64 / 8.0)).mean
}

/// The same requests through exact servers, and how late the records are against one. Both are
/// sorted, and of equal number.
pub(crate) fn ideal(requests: &[Request], records: &[Record], wire: &Wire, rate: u64) -> Ideal {
    let jobs = jobs(requests, wire);
    let speed = PACE * rate as f64 / 8.0;
    let (srpt, sharing) = (ideal::srpt(&jobs, speed), ideal::processor_sharing(&jobs, speed));
    let finish = |record: &Record| match record.outcome {
        End::Ok => record.last_byte,
        _ => None,
    };
    let pairs = records.iter().map(finish).zip(sharing.iter().copied());
    let late = Lateness::of(pairs, LATE);
    Ideal {
        srpt: times(requests, &srpt),
        sharing: times(requests, &sharing),
        late: late.as_ref().map_or(0.0, |late| late.share),
        worst: late.and_then(|late| late.worst).map_or(f64::NAN, |worst| worst * 1e3),
    }
}

/// Records by how they ended; every way is there.
pub(crate) fn outcomes(records: &[Record]) -> BTreeMap<String, usize> {
    let count = |end: End| records.iter().filter(|record| record.outcome == end).count();
    End::ALL.iter().map(|&end| (end.name().to_owned(), count(end))).collect()
}

/// Share of the records without a complete response, of all and of the largest 1 %.
pub(crate) fn incomplete(records: &[Record]) -> (f64, f64) {
    let mut sorted: Vec<&Record> = records.iter().collect();
    sorted.sort_by_key(|record| std::cmp::Reverse(record.size));
    let share = |some: &[&Record]| {
        let bad = some.iter().filter(|record| record.outcome != End::Ok).count();
        bad as f64 / some.len().max(1) as f64
    };
    (share(&sorted), share(&sorted[..sorted.len().div_ceil(100)]))
}

/// What `link_bytes` on the wire were spent on, and who was served. `wire` has the heads of the
/// server.
pub(crate) fn served(records: &[Record], wire: &Wire, link_bytes: u64) -> Served {
    let complete = || records.iter().filter(|record| record.outcome == End::Ok);
    let useful_bytes = complete().map(|record| wire.bytes(record.size)).sum();
    let class = |(place, &up_to): (usize, &u64)| {
        let above = place.checked_sub(1).map(|before| UP_TO[before]);
        let within =
            |record: &&Record| record.size <= up_to && above.is_none_or(|it| record.size > it);
        let (asked, complete) =
            (records.iter().filter(within).count(), complete().filter(within).count());
        SizeClass { up_to, asked, complete }
    };
    let classes = UP_TO.iter().enumerate().map(class).collect();
    Served { link_bytes, useful_bytes, classes }
}

/// Mean response time in milliseconds by the second in which requests were scheduled.
pub(crate) fn series(records: &[Record]) -> Vec<Option<f64>> {
    let series = Series::of(records);
    series.seconds().iter().map(|second| second.mean.map(|mean| mean * 1e3)).collect()
}

/// 95th percentile in milliseconds of the responses with small bodies, by the minute in which
/// requests were scheduled.
pub(crate) fn small_p95(records: &[Record]) -> Vec<Option<f64>> {
    let mut minutes: Vec<Vec<f64>> = Vec::new();
    for record in records.iter().filter(|record| record.size < SMALL) {
        let minute = (record.scheduled / 60.0).max(0.0) as usize;
        if minute >= minutes.len() {
            minutes.resize(minute + 1, Vec::new());
        }
        minutes[minute].extend(record.response_time().map(|time| time * 1e3));
    }
    minutes.into_iter().map(|times| Samples::new(times).percentile(0.95)).collect()
}

/// Response times in milliseconds that the shares of [`SHARES`] do not exceed; empty without any.
pub(crate) fn distribution(responses: &[Response]) -> Vec<f64> {
    let samples = Samples::new(responses.iter().map(|&(_, time)| time * 1e3));
    SHARES.iter().filter_map(|&share| samples.percentile(share)).collect()
}

/// Complete responses, and bytes of their bodies, per second, of those that ended in time.
pub(crate) fn throughput(records: &[Record], seconds: f64) -> (f64, f64) {
    let in_time = records.iter().filter(|record| {
        record.outcome == End::Ok && record.last_byte.is_some_and(|last| last <= seconds)
    });
    let (count, bytes) = in_time.fold((0_u64, 0_u64), |(count, bytes), record| {
        (count + 1, bytes.saturating_add(record.size))
    });
    (count as f64 / seconds, bytes as f64 / seconds)
}

/// Reasons why a run does not count.
pub(crate) fn why_invalid(
    lags: Lags,
    steal: f64,
    records: &[Record],
    wan: Option<&weir_wan::Statistics>,
) -> Vec<String> {
    let mut reasons = Vec::new();
    let both = [(lags.start, "requests started late"), (lags.read, "responses were read late")];
    for (lag, what) in both {
        // A lag that is not a number is no measured lag either.
        if lag.is_nan() || lag > MOST_LAG_MS {
            reasons.push(format!("{what}: p99 {lag:.2} ms"));
        }
    }
    if steal > MOST_STEAL {
        reasons.push(format!("the hypervisor stole {:.1} % of the processor", steal * 100.0));
    }
    let count = |end: End| records.iter().filter(|record| record.outcome == end).count();
    if count(End::Ok) == 0 {
        reasons.push("no response was complete".into());
    }
    let unsent = count(End::Unsent);
    if unsent as f64 > MOST_UNSENT * records.len() as f64 {
        reasons
            .push(format!("the generator had no descriptors or ports left for {unsent} requests"));
    }
    if let Some(weir_wan::Statistics { down, up }) = wan {
        let overrun = down.overrun + up.overrun;
        if overrun > 0 {
            reasons.push(format!("the emulated link came too late for {overrun} packets"));
        }
        let packets = (down.packets_out + up.packets_out).max(1);
        let late = (down.very_late + up.very_late) as f64 / packets as f64;
        if late > MOST_LATE {
            let percent = late * 100.0;
            reasons.push(format!(
                "the emulated link was over 1 ms late with {percent:.1} % of the packets"
            ));
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(scheduled: f64, size: u64, last_byte: Option<f64>) -> Record {
        Record {
            scheduled,
            started: scheduled,
            connected: None,
            first_byte: None,
            last_byte,
            size,
            class: 0,
            outcome: if last_byte.is_some() { End::Ok } else { End::Reset },
            attempts: 1,
            read_lag: 0.0,
        }
    }

    fn request(at: f64, size: u64) -> Request {
        Request { at, client: 0, class: 0, path: "/".into(), size: Some(size) }
    }

    #[test]
    fn exact_servers_and_lateness_are_of_the_same_requests() {
        // 1000 bytes are one second; the head and the packets are part of the work.
        let wire = Wire { head: 0, segment: u64::MAX, connection: 0, ..Wire::default() };
        let rate = (1066.0 * 8.0 / PACE) as u64;
        let mut requests = vec![request(0.0, 1000), request(0.0, 10)];
        let mut records = vec![record(0.0, 1000, Some(1.2)), record(0.0, 10, None)];
        sort(&mut requests, &mut records);
        assert_eq!((requests[0].size, records[0].size), (Some(10), 10));
        let ideal = ideal(&requests, &records, &wire, rate);
        assert!(ideal.srpt.mean < ideal.sharing.mean);
        // Both share the server: the larger ends with all the work, after 1.07 s.
        assert!((ideal.worst - 128.0).abs() < 3.0, "{}", ideal.worst);
        assert_eq!(ideal.late, 1.0);
        // At the whole rate everything takes 0.99 of that.
        let at_full_rate = srpt_at_full_rate(&requests, &wire, rate);
        assert!((at_full_rate / ideal.srpt.mean - PACE).abs() < 1e-3, "{at_full_rate}");
    }

    #[test]
    fn what_did_not_end_well_is_counted_and_not_timed() {
        let records: Vec<Record> = (0..200)
            .map(|i| record(i as f64 / 100.0, i, (i != 199).then_some(i as f64 / 100.0 + 0.5)))
            .collect();
        assert_eq!(incomplete(&records), (0.005, 0.5));
        assert_eq!(outcomes(&records)["reset"], 1);
        assert_eq!(series(&records).len(), 2);
        assert!((small_p95(&records)[0].expect("small ones") - 500.0).abs() < 1e-6);
        let late = [record(125.0, 9_999, Some(126.0)), record(10.0, 10_000, Some(11.0))];
        assert_eq!(small_p95(&late), [None, None, Some(1000.0)]);
        let responses = weir_stats::responses(&records);
        assert_eq!(summary(&responses).count, 199);
        assert!((distribution(&responses)[12] - 500.0).abs() < 1e-6);
        assert_eq!(distribution(&[]), [] as [f64; 0]);
        assert_eq!(throughput(&records, 1.0).0, 51.0);
    }

    #[test]
    fn bytes_are_of_use_if_the_response_was_complete() {
        let records = [
            record(0.0, 1_000, Some(0.1)),
            record(0.0, 1_001, None),
            record(0.0, 2_000_000, Some(1.0)),
        ];
        let wire = Wire { head: 0, segment: u64::MAX, connection: 0, ..Wire::default() };
        let found = served(&records, &wire, 3_000_000);
        assert_eq!((found.useful_bytes, found.link_bytes), (2_001_000 + 2 * 66, 3_000_000));
        let counts: Vec<_> = found.classes.iter().map(|c| (c.asked, c.complete)).collect();
        assert_eq!(counts, [(1, 1), (1, 0), (0, 0), (0, 0), (0, 0), (1, 1)]);
    }

    #[test]
    fn runs_that_the_machine_spoiled_do_not_count() {
        let mut wan = weir_wan::Statistics::default();
        (wan.down.packets_out, wan.up.very_late) = (1000, 10);
        let mut records = vec![record(0.0, 1, Some(1.0)); 1000];
        records[0].outcome = End::Unsent;
        let small = Lags { start: 0.9, read: 0.9 };
        assert!(why_invalid(small, 0.005, &records, None).is_empty());
        assert!(why_invalid(small, 0.005, &records, Some(&wan)).is_empty());
        (wan.down.overrun, wan.up.very_late) = (3, 11);
        let unsent = Record { outcome: End::Unsent, ..record(0.0, 1, None) };
        let unknown = Lags { start: f64::NAN, read: 0.0 };
        assert_eq!(why_invalid(unknown, 0.02, &[unsent], Some(&wan)).len(), 6);
    }

    #[test]
    fn a_generator_that_reads_late_spoils_a_run_as_one_that_starts_late() {
        let records = [record(0.0, 1, Some(1.0))];
        for (start, read, reason) in [
            (1.01, 1.0, "requests started late: p99 1.01 ms"),
            (1.0, 1.01, "responses were read late: p99 1.01 ms"),
            (1.0, f64::NAN, "responses were read late: p99 NaN ms"),
        ] {
            let lags = Lags { start, read };
            assert_eq!(why_invalid(lags, 0.0, &records, None), [reason]);
            assert!(!lags.are_small());
        }
        assert!(Lags { start: 1.0, read: 1.0 }.are_small());
    }
}
