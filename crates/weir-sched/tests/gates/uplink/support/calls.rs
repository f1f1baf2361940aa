//! Calls of the gate by hand, for tests of what it does step by step.

use std::time::Duration;

use weir_sched::{
    ClientId, FlowId, FlowSpec, Gate, Grant, JobId, JobSpec, Next, Packets, Path, Time,
};

use super::NO_HEADERS;

pub fn open(gate: &mut Gate, client: u128) -> FlowId {
    gate.open(FlowSpec {
        client: ClientId(client),
        packets: Packets { mss: 1000, overhead: NO_HEADERS },
        path: Path::default(),
    })
}

pub fn arrive(gate: &mut Gate, now: Time, flow: FlowId, size: u64) -> JobId {
    gate.arrive(now, JobSpec { flow, tag: 0, size: Some(size), range_of: None })
        .expect("the flow is open")
}

/// The next grant, however long the link is busy.
pub fn grant(gate: &mut Gate, now: &mut Time) -> Option<Grant> {
    loop {
        gate.tick(*now);
        match gate.next(*now) {
            Next::Grant(grant) => return Some(grant),
            Next::Wait(at) | Next::Receipt(at) => *now = at.max(*now + Duration::from_nanos(1)),
            Next::Idle => return None,
        }
    }
}

/// Sends everything that can be sent; returns the jobs in order of completion.
pub fn drain(gate: &mut Gate, now: &mut Time) -> Vec<JobId> {
    let mut done = Vec::new();
    while let Some(grant) = grant(gate, now) {
        let before = gate.jobs();
        gate.used(*now, &grant, grant.bytes);
        if gate.jobs() < before {
            done.push(grant.job);
        }
    }
    done
}
