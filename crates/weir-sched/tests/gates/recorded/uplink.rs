//! The uplink gate with every policy.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use weir_sched::{
    BitRate, ClientId, FlowId, FlowSpec, Gate, GateConfig, Grant, JobId, JobSpec, LEASE, Next,
    ObjectId, Pacer, Packets, Path, PolicyKind, Time, WireOverhead,
};

use super::compare;
use super::script::{Digest, Numbers};

/// One digest for each policy. A policy without one here is not compared.
const RECORDED: &[(&str, u64)] = &[
    ("fair", 0xE470_99B4_FD5E_79F4),
    ("fifo", 0xE47A_F73B_4A5E_B7DC),
    ("srpt", 0xDC6B_9230_1F32_3E2C),
    ("psjf", 0x8A0D_215A_5CA2_384E),
    ("las", 0xEB0F_B206_CBFC_A225),
    ("fsp", 0x1ED6_2F14_C6F8_F05A),
    ("protective", 0xCD71_87D0_6AFA_721B),
    ("bands", 0x5EC0_3975_73C9_A629),
    ("ageing", 0x49F7_AAC9_5D9D_3574),
];

const STEPS: u64 = 40_000;

#[test]
fn every_policy_grants_what_it_granted() {
    let digests = PolicyKind::ALL.iter().map(|&policy| {
        let mut digest = Digest::new();
        for (seed, megabits) in [(1, 1), (2, 10), (3, 1000)] {
            Uplink::new(policy, megabits, seed).play(&mut digest);
        }
        (policy.name().to_owned(), digest.value())
    });
    compare(RECORDED, &digests.collect::<Vec<_>>());
}

/// A gate and all that its owner knows.
struct Uplink {
    gate: Gate,
    pacer: Arc<Pacer>,
    numbers: Numbers,
    now: Time,
    flows: Vec<FlowId>,
    /// How many jobs there had been when each flow was opened.
    opened_at: HashMap<FlowId, u64>,
    /// Every job that ever was, in order of arrival, and its place there.
    jobs: Vec<JobId>,
    places: HashMap<JobId, u64>,
    /// Grants without a receipt, and when they get one.
    unreported: Vec<(Time, Grant)>,
    /// As many jobs wait as this or more: no further ones arrive.
    most_jobs: usize,
}

impl Uplink {
    fn new(policy: PolicyKind, megabits: u64, seed: u64) -> Uplink {
        let rate = BitRate::new(megabits * 1_000_000).expect("not zero");
        let pacer = Arc::new(Pacer::new(rate));
        Uplink {
            gate: Gate::new(GateConfig::new(policy), pacer.clone()),
            pacer,
            numbers: Numbers(seed),
            now: Time::from_nanos(1),
            flows: Vec::new(),
            opened_at: HashMap::new(),
            jobs: Vec::new(),
            places: HashMap::new(),
            unreported: Vec::new(),
            most_jobs: 10,
        }
    }

    fn play(&mut self, digest: &mut Digest) {
        for step in 0..STEPS {
            if step % 1000 == 0 {
                self.most_jobs = self.numbers.one_of(&[1, 5, 40, 300]);
            }
            self.step(digest);
            let counts = [self.gate.jobs(), self.gate.virtual_jobs(), self.gate.leases()];
            digest.note(&counts.map(|count| count as u64));
            digest.note(&[self.gate.leased_bytes(), self.pacer.charged()]);
            for settled in self.gate.fairness_records() {
                let won = (settled.won * 1e9).round() as i64;
                digest.note(&[settled.size, won as u64, u64::from(settled.client_was_slow)]);
            }
        }
    }

    fn step(&mut self, digest: &mut Digest) {
        self.report();
        match self.numbers.below(100) {
            0..30 => self.arrive(),
            30..75 => self.send(digest),
            75..80 => self.change_readiness(),
            80..84 => self.change_path(),
            84..89 => self.lose(digest),
            89..92 => self.pass_on_what_no_job_asked_for(),
            92..94 => {
                if let Some(job) = self.recent_job() {
                    self.gate.probe(job);
                }
            }
            94..99 => self.now += Duration::from_micros(self.numbers.heavy_tailed(16)),
            _ => self.now += Duration::from_millis(self.numbers.heavy_tailed(13)),
        }
    }

    fn arrive(&mut self) {
        if self.gate.jobs() >= self.most_jobs {
            return;
        }
        let kept = self.numbers.some_of(&self.flows).filter(|_| self.flows.len() > 400);
        let reused = if self.numbers.once_in(3) { self.numbers.some_of(&self.flows) } else { None };
        let flow = kept.or(reused).unwrap_or_else(|| self.open());
        let size = Some(self.numbers.heavy_tailed(20)).filter(|_| !self.numbers.once_in(20));
        let range_of = self.numbers.once_in(8).then(|| ObjectId(self.numbers.below(3)));
        let tag = self.opened_at[&flow];
        if let Some(job) = self.gate.arrive(self.now, JobSpec { flow, tag, size, range_of }) {
            self.places.insert(job, self.jobs.len() as u64);
            self.jobs.push(job);
        }
    }

    fn open(&mut self) -> FlowId {
        let mss = self.numbers.one_of(&[536, 1428, 1448, 1448, 1448, 65_483]);
        let overhead = self.numbers.one_of(&[WireOverhead::ETHERNET, WireOverhead::PPPOE]);
        let spec = FlowSpec {
            client: ClientId(self.numbers.heavy_tailed(9).into()),
            packets: Packets { mss, overhead },
            path: self.any_path(),
        };
        let flow = self.gate.open(spec);
        self.opened_at.insert(flow, self.jobs.len() as u64);
        self.flows.push(flow);
        flow
    }

    fn any_path(&mut self) -> Path {
        if self.numbers.once_in(2) {
            return Path::default();
        }
        let round_trip = Duration::from_millis(self.numbers.heavy_tailed(8));
        let window = 1448 * self.numbers.heavy_tailed(7);
        Path { round_trip, window, window_credit: window }
    }

    /// Asks for what comes next until there is nothing to send or the turn is over.
    fn send(&mut self, digest: &mut Digest) {
        for _ in 0..self.numbers.heavy_tailed(4) {
            if !self.numbers.once_in(10) {
                self.gate.tick(self.now);
            }
            match self.gate.next(self.now) {
                Next::Grant(grant) => {
                    let job = self.places[&grant.job];
                    digest.note(&[0, job, grant.tag, grant.bytes, u64::from(grant.more)]);
                    self.use_grant(grant);
                }
                Next::Wait(at) => {
                    digest.note(&[1, at.as_nanos()]);
                    self.wait_until(at);
                }
                Next::Receipt(at) => {
                    digest.note(&[2, at.as_nanos()]);
                    self.wait_until(at);
                }
                Next::Idle => return digest.note(&[3]),
            }
        }
    }

    fn wait_until(&mut self, at: Time) {
        self.now = self.now.max(at);
        if self.numbers.once_in(4) {
            // Woken late.
            let late = Duration::from_micros(self.numbers.heavy_tailed(11));
            self.now += late;
            self.pacer.woken_late_by(late);
        }
        self.report();
    }

    /// Most receipts come at once and whole; some sockets take less, some receipts come late or never.
    fn use_grant(&mut self, grant: Grant) {
        match self.numbers.below(20) {
            0 => {
                let taken = self.numbers.below(grant.bytes + 1);
                self.gate.used(self.now, &grant, taken);
                self.gate.flow_blocked(self.now, grant.flow);
            }
            1..4 => {
                let span = Duration::from_micros(self.numbers.heavy_tailed(10));
                self.unreported.push((self.now + span, grant));
            }
            4 => self.unreported.push((self.now + LEASE * 2, grant)),
            5 if self.numbers.once_in(4) => {}
            _ => self.gate.used(self.now, &grant, grant.bytes),
        }
    }

    /// Reports what was sent and is due to be reported.
    fn report(&mut self) {
        let now = self.now;
        let due: Vec<Grant> =
            self.unreported.extract_if(.., |(at, _)| *at <= now).map(|(_, grant)| grant).collect();
        for grant in due {
            let taken = if self.numbers.once_in(5) { grant.bytes / 2 } else { grant.bytes };
            self.gate.used(now, &grant, taken);
        }
    }

    fn change_readiness(&mut self) {
        let Some(flow) = self.numbers.some_of(&self.flows) else { return };
        if self.numbers.once_in(3) {
            self.gate.flow_blocked(self.now, flow);
        } else {
            self.gate.flow_ready(self.now, flow);
        }
    }

    fn change_path(&mut self) {
        let path = self.any_path();
        if let Some(flow) = self.numbers.some_of(&self.flows) {
            self.gate.path_changed(flow, path);
        }
    }

    /// A client leaves, or a response ends before its length was known to the gate.
    fn lose(&mut self, digest: &mut Digest) {
        let job = self.recent_job();
        match (self.numbers.below(3), job) {
            (0, Some(job)) => self.gate.abandoned(self.now, job),
            (1, Some(job)) => self.gate.finished(self.now, job),
            _ if !self.flows.is_empty() => {
                let place = self.numbers.below(self.flows.len() as u64) as usize;
                let closed = self.gate.close(self.now, self.flows.swap_remove(place));
                digest.note(&[4, closed as u64]);
            }
            _ => {}
        }
    }

    /// Handshakes and retransmissions, and small responses that never meet the gate.
    fn pass_on_what_no_job_asked_for(&mut self) {
        if self.numbers.once_in(2) {
            self.gate.charge(self.now, self.numbers.heavy_tailed(12));
        } else {
            self.pacer.take(self.now, self.numbers.heavy_tailed(11));
        }
    }

    /// One of the last jobs, which may have gone.
    fn recent_job(&mut self) -> Option<JobId> {
        let from = self.jobs.len().saturating_sub(self.most_jobs + 5);
        self.numbers.some_of(&self.jobs[from..])
    }
}
