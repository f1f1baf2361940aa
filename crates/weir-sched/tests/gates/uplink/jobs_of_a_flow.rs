//! Several responses of one connection: grants name theirs, they are sent in order, and what blocks
//! one of them or the whole connection ends where it should.

use std::time::Duration;

use super::support::Link;
use super::support::calls::{arrive, drain, grant, open};
use proptest::prelude::*;
use weir_sched::{
    FairnessRecord, FlowId, Gate, JobId, JobSpec, LEASE, Next, PolicyKind, Time, policy,
};

/// A gate with one connection that has two responses, of 3,000 and 2,000 bytes.
fn gate_with_two_jobs(policy: PolicyKind) -> (Gate, FlowId, [JobId; 2]) {
    let mut gate = Link::exact(policy).gate();
    let flow = open(&mut gate, 1);
    let jobs = [3_000, 2_000].map(|size| arrive(&mut gate, Time::ZERO, flow, size));
    (gate, flow, jobs)
}

#[test]
fn a_job_without_its_content_holds_up_the_later_ones_of_its_flow_and_nobody_else() {
    for &policy in PolicyKind::ALL {
        let (mut gate, _, [first, second]) = gate_with_two_jobs(policy);
        let mut now = Time::ZERO;
        let another = open(&mut gate, 2);
        let longer = arrive(&mut gate, now, another, 30_000);
        gate.job_blocked(now, first);
        assert_eq!(drain(&mut gate, &mut now), [longer], "{policy}");
        gate.job_ready(now, first);
        assert_eq!(drain(&mut gate, &mut now), [first, second], "{policy}");
    }
}

#[test]
fn a_blocked_job_that_ends_leaves_its_flow_ready() {
    for &policy in PolicyKind::ALL {
        let (mut gate, _, [first, second]) = gate_with_two_jobs(policy);
        let mut now = Time::ZERO;
        gate.job_blocked(now, first);
        gate.abandoned(now, first);
        assert_eq!(drain(&mut gate, &mut now), [second], "{policy}");
    }
}

#[test]
fn a_blocked_flow_stays_blocked_when_its_first_job_ends() {
    for &policy in PolicyKind::ALL {
        let (mut gate, flow, [first, second]) = gate_with_two_jobs(policy);
        let mut now = Time::ZERO;
        gate.flow_blocked(now, flow);
        gate.abandoned(now, first);
        assert_eq!(drain(&mut gate, &mut now), [], "{policy}");
        gate.flow_ready(now, flow);
        assert_eq!(drain(&mut gate, &mut now), [second], "{policy}");
    }
}

#[test]
fn a_job_that_lost_its_content_before_its_turn_waits_for_it_then() {
    for &policy in PolicyKind::ALL {
        let (mut gate, _, [first, second]) = gate_with_two_jobs(policy);
        let mut now = Time::ZERO;
        gate.job_blocked(now, second);
        assert_eq!(drain(&mut gate, &mut now), [first], "{policy}");
        gate.job_ready(now, second);
        assert_eq!(drain(&mut gate, &mut now), [second], "{policy}");
    }
}

#[test]
fn a_job_is_sent_when_neither_it_nor_its_flow_is_blocked() {
    for flow_first in [false, true] {
        let (mut gate, flow, [first, second]) = gate_with_two_jobs(policy::PROTECTIVE);
        let mut now = Time::ZERO;
        gate.flow_blocked(now, flow);
        gate.job_blocked(now, first);
        if flow_first {
            gate.flow_ready(now, flow);
            assert_eq!(drain(&mut gate, &mut now), []);
            gate.job_ready(now, first);
        } else {
            gate.job_ready(now, first);
            assert_eq!(drain(&mut gate, &mut now), []);
            gate.flow_ready(now, flow);
        }
        assert_eq!(drain(&mut gate, &mut now), [first, second]);
    }
}

/// A response as the model knows it.
#[derive(Debug)]
struct Known {
    id: JobId,
    flow: usize,
    ready: bool,
    left: u64,
}

#[derive(Clone, Debug)]
enum Step {
    Arrive {
        flow: usize,
        size: u64,
    },
    FlowReady(usize, bool),
    JobReady(usize, bool),
    Gone(usize),
    /// A grant, of which so many quarters are used.
    Grant(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (flow, job) = (0usize..3, 0usize..40);
    prop::collection::vec(
        prop_oneof![
            2 => (flow.clone(), 1u64..5_000).prop_map(|(flow, size)| Step::Arrive { flow, size }),
            1 => (flow, any::<bool>()).prop_map(|(flow, ready)| Step::FlowReady(flow, ready)),
            2 => (job.clone(), any::<bool>()).prop_map(|(job, ready)| Step::JobReady(job, ready)),
            1 => job.prop_map(Step::Gone),
            6 => (0u64..=4).prop_map(Step::Grant),
        ],
        1..200,
    )
}

/// Blocks or unblocks a job (`true`: ready) at the gate.
fn set_job(gate: &mut Gate, now: Time, job: JobId, ready: bool) {
    if ready { gate.job_ready(now, job) } else { gate.job_blocked(now, job) }
}

/// Blocks or unblocks a flow (`true`: ready) at the gate.
fn set_flow(gate: &mut Gate, now: Time, flow: FlowId, ready: bool) {
    if ready { gate.flow_ready(now, flow) } else { gate.flow_blocked(now, flow) }
}

/// The place of the response that the flow may send, if it may.
fn sendable(jobs: &[Known], flow: usize, flow_ready: bool) -> Option<usize> {
    let first = jobs.iter().position(|job| job.flow == flow && job.left > 0)?;
    (flow_ready && jobs[first].ready).then_some(first)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Each grant carries the tag of a job that is the first of its flow, with its content there and
    /// its socket ready; and as long as there is such a job, there are grants.
    #[test]
    fn a_grant_names_the_first_job_of_a_flow_that_can_take_it(
        steps in steps(),
        policy in prop::sample::select(PolicyKind::ALL.to_vec()),
    ) {
        let mut gate = Link::exact(policy).gate();
        let mut now = Time::ZERO;
        let flows: [FlowId; 3] = std::array::from_fn(|client| open(&mut gate, client as u128 / 2));
        let mut ready = [true; 3];
        let mut jobs: Vec<Known> = Vec::new();
        for step in steps {
            match step {
                Step::Arrive { flow, size } => {
                    let tag = jobs.len() as u64;
                    let spec = JobSpec { flow: flows[flow], tag, size: Some(size), range_of: None };
                    let id = gate.arrive(now, spec).unwrap();
                    jobs.push(Known { id, flow, ready: true, left: size });
                }
                Step::FlowReady(flow, is_ready) => {
                    ready[flow] = is_ready;
                    set_flow(&mut gate, now, flows[flow], is_ready);
                }
                Step::JobReady(job, is_ready) => if let Some(job) = jobs.get_mut(job) {
                    job.ready = is_ready;
                    set_job(&mut gate, now, job.id, is_ready);
                },
                Step::Gone(job) => if let Some(job) = jobs.get_mut(job) {
                    job.left = 0;
                    gate.abandoned(now, job.id);
                },
                Step::Grant(quarters) => {
                    let can_send = |flow: usize| sendable(&jobs, flow, ready[flow]);
                    let Some(grant) = grant(&mut gate, &mut now) else {
                        prop_assert!((0..3).all(|flow| can_send(flow).is_none()));
                        continue;
                    };
                    let named = grant.tag as usize;
                    prop_assert_eq!(jobs[named].id, grant.job);
                    prop_assert_eq!(flows[jobs[named].flow], grant.flow);
                    prop_assert_eq!(can_send(jobs[named].flow), Some(named));
                    let used = grant.bytes * quarters / 4;
                    gate.used(now, &grant, used);
                    jobs[named].left -= used;
                }
            }
            prop_assert_eq!(gate.jobs(), jobs.iter().filter(|job| job.left > 0).count());
        }
        flows.iter().for_each(|flow| gate.flow_ready(now, *flow));
        jobs.iter().for_each(|job| gate.job_ready(now, job.id));
        drain(&mut gate, &mut now);
        prop_assert_eq!(gate.jobs(), 0);
    }

    /// For the other clients, and for fair sharing, a response that waits for its content is like one
    /// whose client takes no data.
    #[test]
    fn a_blocked_job_counts_as_a_blocked_flow(
        sizes in prop::collection::vec(1u64..60_000, 2..8),
        steps in prop::collection::vec((0usize..8, any::<bool>(), 0u64..6), 1..150),
        policy in prop::sample::select(PolicyKind::ALL.to_vec()),
    ) {
        let played = |by_job: bool, both: bool| {
            let mut gate = Link::exact(policy).gate();
            let mut now = Time::ZERO;
            let jobs: Vec<(FlowId, JobId)> = sizes.iter().enumerate().map(|(client, &size)| {
                let flow = open(&mut gate, client as u128);
                (flow, arrive(&mut gate, now, flow, size))
            }).collect();
            let mut granted = Vec::new();
            for &(which, ready, millis) in &steps {
                let (flow, job) = jobs[which % jobs.len()];
                let mut set = |by_job: bool, ready: bool| {
                    if by_job {
                        set_job(&mut gate, now, job, ready);
                    } else {
                        set_flow(&mut gate, now, flow, ready);
                    }
                };
                set(by_job, ready);
                // The other bit changes nothing while one says blocked.
                if both && !ready {
                    set(!by_job, false);
                    set(!by_job, true);
                }
                gate.tick(now);
                if let Next::Grant(grant) = gate.next(now) {
                    granted.push((now, grant.job, grant.bytes));
                    gate.used(now, &grant, grant.bytes);
                }
                now += Duration::from_millis(millis);
            }
            for (flow, job) in jobs {
                gate.flow_ready(now, flow);
                gate.job_ready(now, job);
            }
            let finished = drain(&mut gate, &mut now);
            gate.tick(now + LEASE + Duration::from_secs(1000));
            let records: Vec<FairnessRecord> = gate.fairness_records().collect();
            (granted, finished, records)
        };
        let by_flow = played(false, false);
        for (by_job, both) in [(true, false), (true, true), (false, true)] {
            prop_assert_eq!(&played(by_job, both), &by_flow, "by job {}, both {}", by_job, both);
        }
    }
}
