//! Plays a log through fair sharing and each policy and compares the response times. Called by the
//! command; text and page show the result.

use weir_sched::{BitRate, Packets, PolicyKind, WireOverhead, policy};
use weir_sim::ideal::{self, Job};
use weir_sim::uplink::{
    Client, Finish, Fullness, Invalid, Link, Request, Transfer, backlog, finishes, fullness,
    grant_for,
};
use weir_stats::Samples;
use weir_stats::size::SizeBins;

use super::clock::Clock;
use super::demand::Demand;
use super::figures::{Figures, Full, Peak, Policy, SizeClass, Span, Times, Waiting, WhileFull};
use crate::failure::{Failure, failed};

/// Spans that are listed one by one.
const LISTED: usize = 100;
/// Parts of the time for which the backlog is told.
const BACKLOGS: usize = 240;

/// A packet's wire bytes beside its payload.
const OVERHEAD: u32 = WireOverhead::ETHERNET.bytes;

/// The link, and how much of it is used.
pub(super) struct Uplink {
    pub(super) rate: BitRate,
    pub(super) pace: f64,
    /// Clients with limits of their own: everything goes through the server's gate, which takes
    /// longer. `None`: whole bytes go straight to the client.
    pub(super) clients: Option<Client>,
}

impl Uplink {
    /// What of the link is used.
    fn paced(&self) -> BitRate {
        self.rate.scaled(self.pace)
    }

    /// Bytes of a grant, and how far apart finishes may be for no reason but grants.
    fn grant(&self, demand: &Demand) -> (u64, f64) {
        let speed = self.paced().bits() as f64 / 8.0;
        match self.clients {
            None => {
                let grant = grant_for(self.paced(), &demand.asked);
                (grant, grant as f64 / speed)
            }
            // One that has begun when a response arrives, and one that its own end falls into.
            Some(_) => {
                let grant = (self.paced().bits() / 8000).max(demand.wire.segment);
                (grant, 2.0 * (grant + u64::from(OVERHEAD)) as f64 / speed)
            }
        }
    }

    /// Response times in seconds under fair sharing, and when the uplink was full.
    fn fair(&self, demand: &Demand) -> Result<(Vec<f64>, Fullness), Invalid> {
        if let Some(client) = self.clients {
            let (link, requests) = self.through_the_gate(client, demand);
            let (_, fullness) = link.watch(policy::FAIR, &requests)?;
            return Ok((received(demand, link.share(&requests)?), fullness));
        }
        let fullness = fullness(self.paced(), &demand.asked)?;
        let job = |asked: &Transfer| Job { arrival: asked.at, work: asked.bytes.max(1) as f64 };
        let jobs: Vec<Job> = demand.asked.iter().map(job).collect();
        let speed = self.paced().bits() as f64 / 8.0;
        Ok((since_asked(demand, ideal::processor_sharing(&jobs, speed)), fullness))
    }

    /// Response times in seconds under a policy.
    fn under(&self, policy: PolicyKind, demand: &Demand) -> Result<Vec<f64>, Invalid> {
        if let Some(client) = self.clients {
            let (link, requests) = self.through_the_gate(client, demand);
            return Ok(received(demand, link.play(policy, &requests)?));
        }
        let grant = grant_for(self.paced(), &demand.asked);
        let finish = finishes(policy, self.paced(), grant, &demand.asked)?;
        Ok(since_asked(demand, finish))
    }

    /// The server's gate before the link, and what it is asked for.
    fn through_the_gate(&self, client: Client, demand: &Demand) -> (Link, Vec<Request>) {
        let wire = &demand.wire;
        let mss = u32::try_from(wire.segment).unwrap_or(u32::MAX);
        let link = Link {
            pace: self.pace,
            packets: Packets { mss, overhead: WireOverhead { bytes: OVERHEAD } },
            connection: wire.connection / u64::from(wire.requests_per_connection.max(1)),
            ..Link::new(self.rate)
        };
        let stream = |size: &u64| wire.head.saturating_add(*size);
        let pairs = demand.asked.iter().zip(&demand.sizes);
        let requests =
            pairs.map(|(asked, size)| Request { at: asked.at, size: stream(size), client });
        (link, requests.collect())
    }
}

fn received(demand: &Demand, finish: Vec<Finish>) -> Vec<f64> {
    since_asked(demand, finish.into_iter().map(|finish| finish.received))
}

fn since_asked(demand: &Demand, finish: impl IntoIterator<Item = f64>) -> Vec<f64> {
    demand.asked.iter().zip(finish).map(|(asked, finish)| (finish - asked.at).max(0.0)).collect()
}

/// Figures, and what plots need beside them.
pub(super) struct Compared<'a> {
    pub(super) demand: &'a Demand,
    /// The log's times, to the end of the last response.
    pub(super) clock: Clock,
    pub(super) figures: Figures,
    pub(super) fullness: Fullness,
    /// Response times in seconds, request by request.
    pub(super) fair: Vec<f64>,
    pub(super) policies: Vec<(PolicyKind, Vec<f64>)>,
}

/// # Errors
///
/// More is asked than the uplink carries in a hundred years.
pub(super) fn compare<'a>(
    demand: &'a Demand,
    uplink: &Uplink,
    policies: &[PolicyKind],
) -> Result<Compared<'a>, Failure> {
    let requests = &demand.asked;
    let (fair, found) = std::thread::scope(|scope| {
        let fair = scope.spawn(|| uplink.fair(demand));
        let found: Vec<_> = policies
            .iter()
            .map(|&policy| scope.spawn(move || uplink.under(policy, demand)))
            .collect();
        let found: Result<Vec<_>, _> = found.into_iter().map(joined).collect();
        (joined(fair), found)
    });
    let ((fair, fullness), found) =
        fair.and_then(|fair| Ok((fair, found?))).map_err(|error| cannot(demand, &error))?;
    let (grant, same) = uplink.grant(demand);
    // A byte here and there is rounded.
    let same = same + 1e-6;
    let bins = SizeBins::new(1);
    let view = View { demand, fullness: &fullness, fair: &fair, same, bins: &bins };
    let (fair_times, told) = std::thread::scope(|scope| {
        let fair_times = scope.spawn(|| view.times(&fair));
        let view = &view;
        let told: Vec<_> = policies
            .iter()
            .zip(&found)
            .map(|(&policy, times)| scope.spawn(move || view.policy(policy, times)))
            .collect();
        let told: Vec<Policy> = told.into_iter().map(joined).collect();
        (joined(fair_times), told)
    });
    let wire_bytes: f64 = requests.iter().map(|asked| asked.bytes as f64).sum();
    let span = requests.last().map_or(0.0, |last| last.at);
    let figures = Figures {
        log: demand.log.clone(),
        format: demand.format.clone(),
        requests: requests.len() as u64,
        records_left_out: demand.left_out,
        bad_records: demand.bad,
        unknown_sizes: demand.unknown_sizes,
        began: demand.clock.rfc3339(0.0),
        span_s: span,
        scale_load: demand.scale_load,
        uplink_bits_per_second: uplink.rate.bits(),
        uplink_pace: uplink.pace,
        body_bytes: demand.sizes.iter().map(|&size| size as f64).sum(),
        wire_bytes,
        round_trip_ms: uplink.clients.map(|client| client.round_trip.as_secs_f64() * 1e3),
        client_bits_per_second: uplink.clients.and_then(|client| client.rate).map(BitRate::bits),
        offered_load: (span > 0.0).then(|| wire_bytes * 8.0 / (span * uplink.rate.bits() as f64)),
        grant_bytes: grant,
        same_within_ms: same * 1e3,
        full: full(demand, uplink, &fullness),
        fair: fair_times,
        policies: told,
    };
    let policies = policies.iter().copied().zip(found).collect();
    let clock = demand.clock.ending(fullness.until);
    Ok(Compared { demand, clock, figures, fullness, fair, policies })
}

/// Requests that no link plays: almost always a size or a time in the log that is nonsense.
fn cannot(demand: &Demand, error: &Invalid) -> Failure {
    let scaled = match demand.scale_load {
        1.0 => String::new(),
        factor => format!("; times are divided by --scale-load {factor}"),
    };
    failed(format!("{}: {error}{scaled}", demand.log))
}

/// What a thread found; a panic goes on here.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(found) => found,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn full(demand: &Demand, uplink: &Uplink, fullness: &Fullness) -> Full {
    let requests = &demand.asked;
    let inside = requests.iter().filter(|asked| fullness.is_full(asked.at)).count();
    let mut listed = fullness.spans.clone();
    listed.sort_by(|a, b| (b.1 - b.0).total_cmp(&(a.1 - a.0)));
    listed.truncate(LISTED);
    listed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let told = |(from, to): (f64, f64)| Span {
        from_s: from,
        to_s: to,
        from: demand.clock.rfc3339(from),
        to: demand.clock.rfc3339(to),
    };
    let rate = uplink.paced();
    let (waiting, peak) = match uplink.clients {
        Some(_) => (Vec::new(), None),
        None => {
            let (at, bytes) = fullness.peak;
            let peak = Peak {
                peak_backlog_bytes: bytes,
                peak_backlog_s: bytes * 8.0 / rate.bits() as f64,
                peak_backlog_at_s: at,
            };
            (backlog(rate, requests, fullness.until, BACKLOGS), Some(peak))
        }
    };
    Full {
        seconds: fullness.seconds(),
        percent_of_time: percent(fullness.seconds(), fullness.until.ceil()),
        percent_of_requests: percent(inside as f64, requests.len() as f64),
        spans: fullness.spans.len() as u64,
        longest: listed.into_iter().map(told).collect(),
        peak,
        backlog: waiting.into_iter().map(|(at_s, bytes)| Waiting { at_s, bytes }).collect(),
    }
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

/// How response times are looked at.
struct View<'a> {
    demand: &'a Demand,
    fullness: &'a Fullness,
    fair: &'a [f64],
    same: f64,
    bins: &'a SizeBins,
}

impl View<'_> {
    fn policy(&self, policy: PolicyKind, times: &[f64]) -> Policy {
        let count = times.len() as f64;
        let faster = times.iter().zip(self.fair).filter(|(t, fair)| *t + self.same < **fair);
        let slower = times.iter().zip(self.fair).filter(|(t, fair)| **t > *fair + self.same);
        let (faster, slower) = (faster.count(), slower.count());
        let later = times.iter().zip(self.fair).map(|(time, fair)| time - fair);
        let latest = later.fold(0.0, f64::max);
        let largest = self.largest();
        Policy {
            policy: policy.name(),
            faster_percent: percent(faster as f64, count),
            slower_percent: percent(slower as f64, count),
            latest_s: latest,
            largest_response_later_s: largest.map_or(0.0, |i| times[i] - self.fair[i]),
            times: self.times(times),
        }
    }

    /// The first of the largest responses.
    fn largest(&self) -> Option<usize> {
        let sizes = self.demand.sizes.iter().enumerate();
        sizes
            .max_by_key(|(index, size)| (**size, std::cmp::Reverse(*index)))
            .map(|(index, _)| index)
    }

    fn times(&self, times: &[f64]) -> Times {
        let requests = &self.demand.asked;
        let all = Samples::new(times.iter().copied());
        let full = requests.iter().zip(times).filter(|(r, _)| self.fullness.is_full(r.at));
        let full = Samples::new(full.map(|(_, time)| *time));
        let while_full = (!full.is_empty()).then(|| WhileFull {
            requests: full.len() as u64,
            response_ms_mean: ms(full.mean()),
            response_ms_p50: ms(full.median()),
            response_ms_p95: ms(full.percentile(0.95)),
            response_ms_p99: ms(full.percentile(0.99)),
        });
        let largest = self.largest();
        Times {
            response_ms_mean: ms(all.mean()),
            response_ms_p50: ms(all.median()),
            response_ms_p95: ms(all.percentile(0.95)),
            response_ms_p99: ms(all.percentile(0.99)),
            response_ms_max: ms(all.percentile(1.0)),
            while_full,
            largest_response_bytes: largest.map_or(0, |index| self.demand.sizes[index]),
            largest_response_s: largest.map_or(0.0, |index| times[index]),
            by_size: self.by_size(times),
        }
    }

    fn by_size(&self, times: &[f64]) -> Vec<SizeClass> {
        let mut classes: Vec<Vec<usize>> = vec![Vec::new(); self.bins.count()];
        for (index, size) in self.demand.sizes.iter().enumerate() {
            classes[self.bins.index(*size)].push(index);
        }
        let classes = classes.iter().enumerate().filter(|(_, members)| !members.is_empty());
        let told = classes.filter_map(|(bin, members)| {
            let (from_bytes, below_bytes) = self.bins.bounds(bin)?;
            let samples = Samples::new(members.iter().map(|&index| times[index]));
            let count = members.len() as f64;
            let faster = members.iter().filter(|&&i| times[i] + self.same < self.fair[i]).count();
            let slower = members.iter().filter(|&&i| times[i] > self.fair[i] + self.same).count();
            Some(SizeClass {
                from_bytes,
                below_bytes,
                requests: members.len() as u64,
                response_ms_mean: ms(samples.mean()),
                response_ms_p50: ms(samples.median()),
                response_ms_p99: ms(samples.percentile(0.99)),
                faster_percent: percent(faster as f64, count),
                slower_percent: percent(slower as f64, count),
            })
        });
        told.collect()
    }
}

/// Milliseconds of what there is at least one of.
fn ms(seconds: Option<f64>) -> f64 {
    seconds.unwrap_or(0.0) * 1e3
}
