//! A gate in front of a simulated link, in virtual time, and an independent processor-sharing
//! server to hold it against.
#![allow(unreachable_pub)]

pub(super) mod calls;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use weir_sched::{
    BitRate, ClientId, FairnessRecord, FlowId, FlowSpec, Gate, GateConfig, JobId, JobSpec, Next,
    Pacer, Packets, Path, PolicyKind, Time, WireOverhead,
};

/// Bytes a second of the link in all tests.
pub const LINK: u64 = 1_000_000;
/// For so long a slow client takes nothing.
pub const PAUSE: Duration = Duration::from_millis(40);
pub const NO_HEADERS: WireOverhead = WireOverhead { bytes: 0 };

#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Seconds.
    pub at: f64,
    /// Bytes.
    pub size: u64,
    /// Seconds at which the client leaves, if it does.
    pub leaves: Option<f64>,
}

pub fn request(at: f64, size: u64) -> Request {
    Request { at, size, leaves: None }
}

pub fn time(seconds: f64) -> Time {
    Time::from_nanos((seconds * 1e9).round() as u64)
}

pub fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

pub struct Link {
    pub policy: PolicyKind,
    /// Bytes a second the gate is told.
    pub told: u64,
    /// Bytes a second the link can do.
    pub real: u64,
    pub mss: u32,
    pub grant: Duration,
    pub starvation_interval: Option<Duration>,
    /// Sockets take only half of every so many-th grant; 0: they take all.
    pub half_of_every: u64,
    /// Every so many-th client takes a grant and then nothing for a [`PAUSE`]; 0: none.
    pub slow_every: usize,
}

impl Link {
    pub fn exact(policy: PolicyKind) -> Link {
        Link {
            policy,
            told: LINK,
            real: LINK,
            mss: 1000,
            grant: Duration::from_millis(1),
            starvation_interval: None,
            half_of_every: 0,
            slow_every: 0,
        }
    }

    pub fn gate(&self) -> Gate {
        let rate = BitRate::new(self.told * 8).expect("not zero");
        let config = GateConfig {
            policy: self.policy,
            grant: self.grant,
            starvation_interval: self.starvation_interval,
        };
        Gate::new(config, Arc::new(Pacer::new(rate)))
    }

    /// Plays the requests, each on a connection of its own, and returns when the last byte of each
    /// left the link (`None`: its client left first).
    ///
    /// A connection takes data while at most one segment of its own waits at the link, as a socket
    /// with TCP_NOTSENT_LOWAT does.
    pub fn play(&self, requests: &[Request]) -> Vec<Option<f64>> {
        self.play_and_settle(requests).0
    }

    /// The same, and the fairness ledger.
    pub fn play_and_settle(&self, requests: &[Request]) -> (Vec<Option<f64>>, Vec<FairnessRecord>) {
        let mut gate = self.gate();
        let mut finish = vec![None; requests.len()];
        let mut events: Vec<(Time, usize, bool)> = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            events.push((time(request.at), index, true));
            events.extend(request.leaves.map(|at| (time(at), index, false)));
        }
        events.sort_by_key(|(at, index, arrives)| (*at, !*arrives, *index));
        let mut events = events.into_iter().peekable();
        let mut jobs: HashMap<JobId, usize> = HashMap::new();
        let mut flows: Vec<Option<(FlowId, JobId)>> = vec![None; requests.len()];
        let mut queue: Vec<(Time, FlowId)> = Vec::new();
        let (mut now, mut link_free) = (Time::ZERO, Time::ZERO);
        let mut grants = 0;
        let rate = BitRate::new(self.real * 8).expect("not zero");
        loop {
            while let Some(&(_, index, arrives)) = events.peek().filter(|(at, ..)| *at <= now) {
                events.next();
                if arrives {
                    let spec = FlowSpec {
                        client: ClientId(index as u128),
                        packets: Packets { mss: self.mss, overhead: NO_HEADERS },
                        path: Path::default(),
                    };
                    let flow = gate.open(spec);
                    let spec =
                        JobSpec { flow, tag: 0, size: Some(requests[index].size), range_of: None };
                    let job = gate.arrive(now, spec).expect("the flow is open");
                    jobs.insert(job, index);
                    flows[index] = Some((flow, job));
                } else if let Some((flow, _)) = flows[index] {
                    gate.close(now, flow);
                }
            }
            queue.retain(|(sent, flow)| {
                if *sent <= now {
                    gate.flow_ready(now, *flow);
                }
                *sent > now
            });
            gate.tick(now);
            let wake = match gate.next(now) {
                Next::Grant(grant) => {
                    grants += 1;
                    let half = self.half_of_every > 0 && grants % self.half_of_every == 0;
                    let taken = if half { grant.bytes.div_ceil(2) } else { grant.bytes };
                    gate.used(now, &grant, taken);
                    link_free = link_free.max(now) + rate.time_for(taken);
                    let index = jobs[&grant.job];
                    finish[index] = Some(seconds(link_free));
                    if self.is_slow(index) {
                        gate.flow_blocked(now, grant.flow);
                        queue.push((now + PAUSE, grant.flow));
                    }
                    if link_free > now + rate.time_for(4 * u64::from(self.mss)) {
                        gate.flow_blocked(now, grant.flow);
                        queue.push((link_free, grant.flow));
                    }
                    continue;
                }
                Next::Wait(at) | Next::Receipt(at) => Some(at),
                Next::Idle => None,
            };
            let arrival = events.peek().map(|(at, ..)| *at);
            let unblocked = queue.iter().map(|(at, _)| *at).min();
            let Some(at) = wake.into_iter().chain(arrival).chain(unblocked).min() else { break };
            now = now.max(at);
        }
        assert_eq!(gate.jobs(), 0, "all is sent in the end");
        for (index, request) in requests.iter().enumerate() {
            if request.leaves.is_some_and(|at| finish[index].is_none_or(|f| f > at)) {
                finish[index] = None;
            }
        }
        gate.tick(now + Duration::from_secs(1000));
        let settled = gate.fairness_records().collect();
        (finish, settled)
    }

    fn is_slow(&self, index: usize) -> bool {
        self.slow_every > 0 && index.is_multiple_of(self.slow_every)
    }
}

/// When exact processor sharing would finish each request, had nobody left.
pub fn processor_sharing(requests: &[Request]) -> Vec<f64> {
    let mut left: Vec<f64> = requests.iter().map(|r| r.size as f64).collect();
    let mut finish = vec![f64::INFINITY; requests.len()];
    let mut now = 0.0;
    loop {
        let present: Vec<usize> = (0..requests.len())
            .filter(|&i| requests[i].at <= now + 1e-12 && finish[i].is_infinite())
            .collect();
        let next_arrival = requests
            .iter()
            .map(|r| r.at)
            .filter(|at| *at > now + 1e-12)
            .fold(f64::INFINITY, f64::min);
        if present.is_empty() {
            if next_arrival.is_infinite() {
                return finish;
            }
            now = next_arrival;
            continue;
        }
        let each = LINK as f64 / present.len() as f64;
        let least = present.iter().map(|&i| left[i]).fold(f64::INFINITY, f64::min);
        let step = (least / each).min(next_arrival - now);
        now += step;
        for i in present {
            left[i] -= step * each;
            if left[i] <= 1e-6 {
                finish[i] = now;
            }
        }
    }
}

/// Sums the response times of those that finished.
pub fn mean_response(requests: &[Request], finish: &[Option<f64>]) -> f64 {
    let done: Vec<f64> =
        requests.iter().zip(finish).filter_map(|(r, f)| f.map(|f| f - r.at)).collect();
    done.iter().sum::<f64>() / done.len() as f64
}

/// Numbers that look random and are the same in every run (splitmix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Poisson arrivals of bounded Pareto sizes (mean about 4 KB, largest 1 MB) at `load`.
    pub fn heavy_tailed(&mut self, load: f64, until: f64) -> Vec<Request> {
        let (least, alpha) = (1000.0_f64, 1.2_f64);
        let mean = 4_500.0;
        let mut requests = Vec::new();
        let mut at = 0.0;
        loop {
            at -= (1.0 - self.unit()).ln() * mean / (load * LINK as f64);
            if at > until {
                return requests;
            }
            let size = (least / (1.0 - self.unit()).powf(1.0 / alpha)).min(1e6);
            requests.push(request(at, size as u64));
        }
    }
}
