//! What one decision costs: pick, grant, receipt, with many jobs waiting.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use weir_sched::{
    BitRate, ClientId, FlowId, FlowSpec, Gate, GateConfig, JobSpec, Next, Pacer, Packets, Path,
    PolicyKind, Time, WireOverhead,
};

fn main() {
    divan::main();
}

/// A gate in lasting overload: heavy-tailed jobs, one more arriving whenever one finishes, each on a
/// connection of its own.
struct Overloaded {
    gate: Gate,
    now: Time,
    seed: u64,
    /// Connections that take no data for now, in the order in which they will again.
    blocked: VecDeque<FlowId>,
    most_blocked: usize,
}

impl Overloaded {
    /// With `jobs` jobs, up to `most_blocked` of them to clients who take no data for now.
    fn new(policy: PolicyKind, jobs: usize, most_blocked: usize) -> Overloaded {
        let rate = BitRate::new(10_000_000_000).unwrap_or_else(|| unreachable!("not zero"));
        let config = GateConfig { grant: Duration::from_nanos(1200), ..GateConfig::new(policy) };
        let gate = Gate::new(config, Arc::new(Pacer::new(rate)));
        let (now, blocked) = (Time::from_nanos(1), VecDeque::new());
        let mut full = Overloaded { gate, now, seed: 1, blocked, most_blocked };
        while full.gate.jobs() < jobs {
            full.arrive();
            full.decide();
        }
        full
    }

    fn arrive(&mut self) {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let unit = ((self.seed >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
        let size = (1500.0 * unit.powf(-1.0 / 1.2)).min(2e6) as u64;
        let client = ClientId(self.seed.into());
        let flow = self.gate.open(FlowSpec {
            client,
            packets: Packets { mss: 1448, overhead: WireOverhead::ETHERNET },
            path: Path::default(),
        });
        self.gate.arrive(self.now, JobSpec { flow, tag: 0, size: Some(size), range_of: None });
    }

    /// One grant and its receipt; an arrival keeps the number of waiting jobs.
    fn decide(&mut self) {
        loop {
            self.gate.tick(self.now);
            match self.gate.next(self.now) {
                Next::Grant(grant) => {
                    let jobs = self.gate.jobs();
                    self.gate.used(self.now, &grant, grant.bytes);
                    if self.gate.jobs() < jobs {
                        self.gate.close(self.now, grant.flow);
                        return;
                    }
                    return self.block(grant.flow);
                }
                Next::Wait(at) | Next::Receipt(at) => self.now = at,
                Next::Idle => return,
            }
        }
    }

    /// Who was served takes no more for now, if some are to be blocked; who was blocked first takes
    /// data again.
    fn block(&mut self, served: FlowId) {
        if self.most_blocked == 0 {
            return;
        }
        self.gate.flow_blocked(self.now, served);
        self.blocked.push_back(served);
        if self.blocked.len() > self.most_blocked
            && let Some(flow) = self.blocked.pop_front()
        {
            self.gate.flow_ready(self.now, flow);
        }
    }
}

fn decide<const JOBS: usize>(bencher: Bencher, policy: PolicyKind, most_blocked: usize) {
    let mut gate = Overloaded::new(policy, JOBS, most_blocked);
    bencher.bench_local(|| {
        gate.decide();
        if gate.gate.jobs() < JOBS {
            gate.arrive();
        }
    });
}

#[divan::bench(args = PolicyKind::ALL, consts = [100, 10_000], sample_size = 2000)]
fn decision<const JOBS: usize>(bencher: Bencher, policy: PolicyKind) {
    decide::<JOBS>(bencher, policy, 0);
}

/// Each connection that is served is blocked until a tenth of the jobs' number of others have been.
#[divan::bench(args = PolicyKind::ALL, consts = [100, 10_000], sample_size = 2000)]
fn decision_some_blocked<const JOBS: usize>(bencher: Bencher, policy: PolicyKind) {
    decide::<JOBS>(bencher, policy, JOBS / 10);
}
