//! What a departure costs among many waiting calls, and a decision.

use std::time::Duration;

use divan::Bencher;
use weir_sched::{BackendConfig, BackendGate, BackendOrder, Call, CallNext, CallSpec, Time};

fn main() {
    divan::main();
}

/// A gate whose slots are all taken, with calls that wait and a known patience.
fn crowded(waiting: u64, order: BackendOrder) -> (BackendGate, Vec<Call>, Time) {
    let max_queue = usize::MAX;
    let mut gate = BackendGate::new(BackendConfig { order, max_queue, ..BackendConfig::default() });
    let mut now = Time::ZERO;
    let arrive = |gate: &mut BackendGate, now: Time, tag: u64| {
        gate.arrive(now, CallSpec { tag, client: tag, kind: 1 + tag % 36, ..CallSpec::default() })
    };
    let leavers: Vec<Call> = (0..100).map(|tag| arrive(&mut gate, now, tag)).collect();
    now += Duration::from_secs(5);
    for call in leavers {
        gate.abandoned(now, call);
    }
    let calls = (0..waiting).map(|tag| arrive(&mut gate, now, tag)).collect();
    while matches!(gate.next(now), CallNext::Start { .. }) {}
    (gate, calls, now + Duration::from_secs(3))
}

#[divan::bench(args = [10_000, 1_000_000], sample_count = 200)]
fn departure(bencher: Bencher, waiting: u64) {
    let (mut gate, calls, now) = crowded(waiting, BackendOrder::Adaptive);
    let mut at = 0;
    bencher.bench_local(|| {
        // From all over the queue; the prime keeps the order far from that of arrival.
        at = (at + 7_919) % calls.len();
        let left = gate.abandoned(now, calls[at]);
        gate.arrive(now, CallSpec { client: at as u64, ..CallSpec::default() });
        left
    });
}

#[divan::bench(args = BackendOrder::ALL)]
fn start_and_answer_among_10_000(bencher: Bencher, order: BackendOrder) {
    let (mut gate, _, now) = crowded(10_000, order);
    let mut under_way = Vec::new();
    let mut tag = 1_000_000;
    bencher.bench_local(|| {
        tag += 1;
        gate.arrive(now, CallSpec { tag, client: tag, kind: 1 + tag % 36, ..CallSpec::default() });
        while let CallNext::Start { call, .. } = gate.next(now) {
            under_way.push(call);
        }
        if let Some(call) = under_way.pop() {
            gate.answered(now, call);
            gate.ended(now, call);
        }
    });
}
